"""The live dashboard of a run: its cells, as a table in a terminal or as a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scripts.run.reports import Counters, HealthReport, MemoryReport

if TYPE_CHECKING:
    from rich.table import Table

    from evaluator.gate_report import GateReport
    from learner.learner import LearnerReport
    from learner.replay.transport import ReplayReport

UNRESPONSIVE_S = 10.0
"""Seconds without an answer after which the dashboard shows a role as unresponsive."""


@dataclass
class Newest:
    """The newest report of every part of a run."""

    learner: LearnerReport | None = None
    replay: ReplayReport | None = None
    gate: GateReport | None = None
    health: dict[str, HealthReport] = field(default_factory=dict)
    memory: MemoryReport | None = None


def cells_of(
    now: Counters, then: Counters, newest: Newest, length_s: float | None, all_games: int | None
) -> dict[str, str]:
    """Return the cells of the dashboard, name to text; rates and results are since `then`.

    The run ends after `length_s` seconds or `all_games` games; None is no such limit.
    """
    new = now.since(then)
    cells = {
        "games": f"{now.games:,}" if all_games is None else f"{now.games:,} of {all_games:,}",
        "positions/s": f"{new.positions / new.at_s:,.0f}",
        "simulations/s": f"{new.simulations / new.at_s:,.0f}",
        "samples/s": f"{new.samples / new.at_s:,.0f}",
    }
    if newest.learner is not None and newest.learner.losses is not None:
        cells["losses"] = newest.learner.losses.summary
        if newest.learner.validation is not None:
            cells["validation"] = newest.learner.validation.summary
        cells["model"] = f"version {newest.learner.version}"
    if newest.replay is not None:
        cells["replay"] = _replay_text(newest.replay)
    if games := new.wins + new.draws + new.losses:
        cells["results"] = f"won {new.wins / games:.1%}, drawn {new.draws / games:.1%}, lost {new.losses / games:.1%}"
    if newest.gate is not None:
        if newest.gate.promotions:
            cells["champion"] = _champion_text(newest.gate)
        cells["gate"] = newest.gate.summary
    if newest.health:
        cells["actors"] = _actors_text(newest.health["actors"])
        cells["health"] = _health_text(newest.health)
    if length_s is not None:
        left = max(0.0, length_s - now.at_s)
        cells["time left"] = f"{int(left) // 60}:{int(left) % 60:02d}" if left else "last gate match"
    return cells


def as_line(at_s: float, cells: dict[str, str]) -> str:
    """Return the dashboard as one line, `at_s` seconds into the training."""
    return f"{at_s:5.0f} s | " + " | ".join(f"{name} {text}" for name, text in cells.items())


def as_table(cells: dict[str, str], share: float | None = None) -> Table:
    """Return the dashboard as a table of two columns, with a bar for the share of the run that is done."""
    from rich.table import Table

    table = Table(show_header=False, title="reversi train", title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in cells.items():
        table.add_row(name, text)
    if share is not None:
        from rich.progress_bar import ProgressBar

        table.add_row("progress", ProgressBar(total=1.0, completed=share, width=40))
    return table


def _champion_text(report: GateReport) -> str:
    """Return the champion's Elo above the first model and, of the newest candidate, the results kept."""
    text = f"version {report.champion_version}, Elo {report.champion_elo:+.0f} above the first model"
    if report.truth is None:
        return text
    return f"{text}; version {report.candidate_version} keeps {report.truth.outcome_kept:.1%} of solved results"


def _replay_text(report: ReplayReport) -> str:
    rejected = f", {report.rejected_games} games rejected" if report.rejected_games else ""
    waits = "" if report.server_writes else ", waits for room on Redis' disk"
    return f"{report.positions:,} positions, window {report.window_positions:,}{rejected}{waits}"


def _actors_text(report: HealthReport) -> str:
    missing = report.wanted - report.alive
    return f"{report.alive} of {report.wanted}" if missing > 0 else str(report.alive)


def _health_text(reports: dict[str, HealthReport]) -> str:
    """Return the roles that are down, unresponsive or were started again; "all up" if none is."""
    notes = []
    for role, report in reports.items():
        troubles = [] if report.alive else ["down"]
        troubles += [f"unresponsive for {report.pending_s:.0f} s"] if report.pending_s >= UNRESPONSIVE_S else []
        troubles += [f"{report.restarts} restarts"] if report.restarts else []
        notes += [f"{role} {', '.join(troubles)}"] if troubles else []
    return "; ".join(notes) or "all up"
