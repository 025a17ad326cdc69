"""The output of a run while it trains: a live table in a terminal, a line every 30 s elsewhere, and its metrics."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from learner.tracking.metrics import Tracker, flatten
from scripts.processes import resident_mb

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from actors.worker import ActorReport
    from evaluator.gate_report import GateReport
    from learner.algorithms.reports import ValidationReport
    from learner.learner import LearnerReport
    from learner.replay.transport import ReplayReport
    from scripts.health import HealthReport, MemoryReport

log = logging.getLogger(__name__)

LINE_EVERY_S = 30.0
"""Seconds between two lines if standard output is not a terminal; the first comes after `FIRST_LINE_S`."""

FIRST_LINE_S = 10.0
TABLE_EVERY_S = 0.5
METRICS_EVERY_S = 5.0

SILENT_S = 10.0
"""Seconds without an answer after which the dashboard shows a role as silent."""

RESULTS_EVERY = 100
"""Smallest number of games against a side that does not learn in a row of results."""


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The whole run, written to the metrics every few seconds."""

    elapsed_s: float
    """Seconds of training, earlier sittings included."""
    sitting_s: float
    """Seconds of training since the run was last started or resumed."""
    games: int
    """Games finished since the run began, lessons (`actors.lessons`) included."""
    positions: int
    """Positions that a move is learned from, searched or of lessons, since the run began."""
    simulations: int
    """Simulations since the run began."""
    positions_per_s: float
    """Positions that a move is learned from, per second, since the last row."""
    simulations_per_s: float
    """Simulations per second, since the last row."""
    asked_per_simulation: float
    """Positions evaluated by the network per simulation, since the last row; cache and rules answer the others."""
    cache_hit_share: float
    """Share of the positions looked up in the actors' caches that were found there, since the last row."""
    actor_waiting_share: float
    """Share of the actors' time spent waiting for room in the replay, since the last row."""
    actor_idle_share: float
    """Share of the actors' time between two rounds, since the last row: under Ray, overhead of Ray and the driver."""
    resident_mb: float
    """Resident memory of the whole run, all processes, in MB (shared pages counted once per process)."""
    restarts: int
    """Restarts of roles that died."""


@dataclass(frozen=True, kw_only=True)
class PlayReport:
    """Results of the side that learns against one that does not, since the last such row: a hundred games or more."""

    games: int
    """Games against a side that does not learn since the run began, including this row's."""
    wins: int
    """Games of this row won by the side that learns."""
    draws: int
    """Games of this row drawn."""
    losses: int
    """Games of this row lost by the side that learns."""


@dataclass
class _Counters:
    """Sums since the run began; differences of two of them give rates."""

    at_s: float = 0.0
    games: int = 0
    positions: int = 0
    simulations: int = 0
    asked: int = 0
    looked_up: int = 0
    found: int = 0
    playing_s: float = 0.0
    waiting_s: float = 0.0
    between_s: float = 0.0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    steps: int = 0
    samples: int = 0
    restarts: int = 0


class Progress:
    """Receives every report; writes the metrics and the dashboard of one sitting."""

    def __init__(self, trackers: list[Tracker], out: IO[str] = sys.stdout) -> None:
        self._trackers, self._out = trackers, out
        self._sum, self._last_row, self._last_line, self._last_results = (_Counters() for _ in range(4))
        self._learner: LearnerReport | None = None
        self._replay: ReplayReport | None = None
        self._gate: GateReport | None = None
        self._health: dict[str, HealthReport] = {}
        self._memory: MemoryReport | None = None
        self._began = self._drawn = self._written = self._printed = time.monotonic()
        self._before_s = 0.0
        self._length_s: float | None = None
        self._all_games: int | None = None
        self._live: Live | None = None

    @property
    def games(self) -> int:
        """Games delivered since the run began, as reported by the actors."""
        return self._sum.games

    def begin(self, before_s: float, length_s: float | None, games: int | None) -> None:
        """Start the clock: earlier sittings trained `before_s` seconds; the run ends after `length_s` or `games`.

        One of the two may be None: no such limit.
        """
        self._before_s, self._length_s, self._all_games = before_s, length_s, games
        self._began = self._drawn = self._written = time.monotonic()
        self._printed = self._began - LINE_EVERY_S + FIRST_LINE_S
        self._sum.at_s = before_s
        self._last_row, self._last_line = dataclasses.replace(self._sum), dataclasses.replace(self._sum)
        if self._out.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self._table(), console=Console(file=self._out), auto_refresh=False)
            self._live.start()

    def end(self) -> None:
        """Write the last row, leave the table as it is and close the trackers."""
        self._write_row()
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
            self._live.stop()
            self._live = None
        for tracker in self._trackers:
            tracker.close()

    def actor(self, report: ActorReport) -> None:
        """Count one actor's round."""
        self._sum.games += report.games
        self._sum.positions += report.positions
        self._sum.simulations += report.simulations
        self._sum.asked += report.asked
        self._sum.looked_up += report.looked_up
        self._sum.found += report.found
        self._sum.playing_s += report.playing_s
        self._sum.waiting_s += report.waiting_s
        self._sum.between_s += report.between_s
        self._sum.wins += report.wins
        self._sum.draws += report.draws
        self._sum.losses += report.losses
        results = self._results()
        if results.wins + results.draws + results.losses >= RESULTS_EVERY:
            self._write("play", results)
            self._last_results = dataclasses.replace(self._sum)

    def learner(self, report: LearnerReport) -> None:
        """Keep the learner's newest losses."""
        self._sum.steps = max(self._sum.steps, report.step)  # steps repeated after a learner's death count once
        self._sum.samples += report.samples
        if report.steps:
            self._learner = report

    def validated(self, report: ValidationReport) -> None:
        """Write and show the last results on the validation games."""
        self._write("learner/validation", report)
        self._say(f"all games kept aside: {report.summary}")

    def replay(self, report: ReplayReport) -> None:
        """Keep the replay's newest fill."""
        self._replay = report

    def gate(self, report: GateReport) -> None:
        """Write and show a verdict, if there is one; keep the report for the dashboard."""
        self._gate = report
        if report.verdict is not None:
            self._write("gate", report)
            self._say(f"gate: {report.summary}")

    def restarted(self) -> None:
        """Count a restart of a role that died."""
        self._sum.restarts += 1

    def health(self, reports: dict[str, HealthReport]) -> None:
        """Keep the newest health of each role."""
        self._health = reports

    def memory(self, report: MemoryReport) -> None:
        """Keep the newest memory of the driver and the object store."""
        self._memory = report

    def tick(self) -> None:
        """Redraw, print or write what is due."""
        now = time.monotonic()
        self._sum.at_s = self._before_s + now - self._began
        if now - self._written >= METRICS_EVERY_S:
            self._written = now
            self._write_row()
        if self._live is not None and now - self._drawn >= TABLE_EVERY_S:
            self._drawn = now
            self._live.update(self._table(), refresh=True)
        elif self._live is None and now - self._printed >= LINE_EVERY_S:
            self._printed = now
            self._print(self._line())
            self._last_line = dataclasses.replace(self._sum)

    def state(self) -> dict[str, Any]:
        """Return the sums for a checkpoint."""
        return dataclasses.asdict(self._sum)

    def restore(self, state: dict[str, Any]) -> None:
        """Continue counting from `state()`."""
        self._sum = _Counters(**state)
        self._last_results = dataclasses.replace(self._sum)

    def _say(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(text)
        else:
            self._print(text)

    def _print(self, text: str) -> None:
        """Print a line; if the output is a file, a full disk loses lines but does not end the run."""
        try:
            print(text, file=self._out, flush=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            log.warning("a line is lost: %s", error)

    def _write_row(self) -> None:
        self._write("run", self._run_report())
        if self._learner is not None:
            self._write("learner", self._learner)
        if self._replay is not None:
            self._write("replay", self._replay)
        for role, report in self._health.items():
            self._write(f"health/{role}", report)
        if self._memory is not None:
            self._write("health/memory", self._memory)
        self._last_row = dataclasses.replace(self._sum)

    def _write(self, prefix: str, report: Any) -> None:
        for tracker in self._trackers:
            tracker.write(self._sum.steps, self._sum.at_s, flatten(prefix, report))

    def _run_report(self) -> RunReport:
        now, then = self._sum, self._last_row
        seconds = max(now.at_s - then.at_s, 1e-9)
        playing_s, waiting_s = now.playing_s - then.playing_s, now.waiting_s - then.waiting_s
        between_s = now.between_s - then.between_s
        actor_s = playing_s + waiting_s + between_s
        return RunReport(
            elapsed_s=now.at_s,
            sitting_s=now.at_s - self._before_s,
            games=now.games,
            positions=now.positions,
            simulations=now.simulations,
            positions_per_s=(now.positions - then.positions) / seconds,
            simulations_per_s=(now.simulations - then.simulations) / seconds,
            asked_per_simulation=_share(now.asked - then.asked, now.simulations - then.simulations),
            cache_hit_share=_share(now.found - then.found, now.looked_up - then.looked_up),
            actor_waiting_share=_share(waiting_s, actor_s),
            actor_idle_share=_share(between_s, actor_s),
            resident_mb=resident_mb(os.getpid()),
            restarts=now.restarts,
        )

    def _results(self) -> PlayReport:
        now, then = self._sum, self._last_results
        return PlayReport(
            games=now.wins + now.draws + now.losses,
            wins=now.wins - then.wins,
            draws=now.draws - then.draws,
            losses=now.losses - then.losses,
        )

    def _cells(self, then: _Counters) -> dict[str, str]:
        """Return the cells of the dashboard, name to text; rates are since `then`."""
        now = self._sum
        seconds = max(now.at_s - then.at_s, 1e-9)
        cells = {
            "games": f"{now.games:,}" if self._all_games is None else f"{now.games:,} of {self._all_games:,}",
            "positions/s": f"{(now.positions - then.positions) / seconds:,.0f}",
            "simulations/s": f"{(now.simulations - then.simulations) / seconds:,.0f}",
            "samples/s": f"{(now.samples - then.samples) / seconds:,.0f}",
        }
        if self._learner is not None and self._learner.losses is not None:
            cells["losses"] = self._learner.losses.summary
            if self._learner.validation is not None:
                cells["kept aside"] = self._learner.validation.summary
            cells["model"] = f"version {self._learner.version}"
        if self._replay is not None:
            cells["replay"] = _replay_text(self._replay)
        results = self._results_text(then)
        if results:
            cells["results"] = results
        if self._gate is not None:
            cells["gate"] = self._gate.summary
        if self._health:
            cells["actors"] = _actors_text(self._health["actors"])
            cells["health"] = _health_text(self._health)
        if self._length_s is not None:
            left = max(0.0, self._length_s - now.at_s)
            cells["time left"] = f"{int(left) // 60}:{int(left) % 60:02d}" if left else "last gate match"
        return cells

    def _results_text(self, then: _Counters) -> str:
        """Return the results since `then` against a side that does not learn, if there are any."""
        wins, draws, losses = (getattr(self._sum, name) - getattr(then, name) for name in ("wins", "draws", "losses"))
        games = wins + draws + losses
        return f"won {wins / games:.1%}, drawn {draws / games:.1%}, lost {losses / games:.1%}" if games else ""

    def _line(self) -> str:
        return f"{self._sum.at_s:5.0f} s | " + " | ".join(f"{k} {v}" for k, v in self._cells(self._last_line).items())

    def _table(self) -> Table:
        from rich.table import Table

        table = Table(show_header=False, title="reversi train", title_justify="left")
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for name, text in self._cells(self._last_line).items():
            table.add_row(name, text)
        if self._sum.at_s - self._last_line.at_s > METRICS_EVERY_S:
            self._last_line = dataclasses.replace(self._sum)
        return table


def _replay_text(report: ReplayReport) -> str:
    rejected = f", {report.rejected_games} games rejected" if report.rejected_games else ""
    waits = "" if report.server_writes else ", waits for room on Redis' disk"
    return f"{report.positions:,} positions, window {report.window_positions:,}{rejected}{waits}"


def _actors_text(report: HealthReport) -> str:
    missing = report.wanted - report.alive
    return f"{report.alive} of {report.wanted}" if missing > 0 else str(report.alive)


def _health_text(reports: dict[str, HealthReport]) -> str:
    """Return the roles that are down, silent or were started again; "all up" if none is."""
    notes = []
    for role, report in reports.items():
        said = [] if report.alive else ["down"]
        said += [f"silent for {report.silent_s:.0f} s"] if report.silent_s >= SILENT_S else []
        said += [f"{report.restarts} restarts"] if report.restarts else []
        notes += [f"{role} {', '.join(said)}"] if said else []
    return "; ".join(notes) or "all up"


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
