"""The output of a run while it trains: a live table in a terminal, a line every 30 s elsewhere, and its metrics."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import IO, TYPE_CHECKING, Any

from reversi.model.training import Spent
from scripts.run.dashboard import Newest, as_line, as_table, cells_of
from scripts.run.processes import resident_mb
from scripts.run.reports import Counters, HealthReport, MemoryReport
from scripts.run.tracking.metrics import Tracker, flatten

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from actors.worker import ActorReport
    from evaluator.gate_report import GateReport
    from learner.algorithms.reports import FullValidation
    from learner.learner import LearnerReport
    from learner.replay.transport import ReplayReport

log = logging.getLogger(__name__)

LINE_EVERY_S = 30.0
"""Seconds between two lines if standard output is not a terminal; the first comes after `FIRST_LINE_S`."""

FIRST_LINE_S = 10.0
TABLE_EVERY_S = 0.5
METRICS_EVERY_S = 5.0

RESULTS_EVERY = 100
"""Smallest number of games against a side that does not learn in a row of results."""


class Progress:
    """Receives every report; writes the metrics and the dashboard of one session."""

    def __init__(
        self, trackers: list[Tracker], out: IO[str] = sys.stdout, hang_up: Callable[[], None] = lambda: None
    ) -> None:
        """`hang_up` is called once nobody reads `out` any more."""
        self._trackers, self._out, self._hang_up = trackers, out, hang_up
        self._sum = self._first = self._last_row = self._last_line = self._last_results = Counters()
        self._newest = Newest()
        self._began: float | None = None
        self._drawn = self._written = self._printed = time.monotonic()
        self._before_s = 0.0
        self._length_s: float | None = None
        self._all_games: int | None = None
        self._live: Live | None = None
        self._validating = False
        self._lags: list[int] = []

    def open(self, trackers: Iterable[Tracker]) -> None:
        """Write the metrics to these trackers too."""
        self._trackers += trackers

    @property
    def games(self) -> int:
        """Games delivered since the run began, as reported by the actors."""
        return self._sum.games

    @property
    def spent(self) -> Spent:
        """What was spent since the run began, as far as it was reported."""
        return Spent(seconds=round(self._sum.at_s, 1), games=self._sum.games, positions=self._sum.positions)

    def begin(self, before_s: float, length_s: float | None, games: int | None) -> None:
        """Start the clock: earlier sessions trained `before_s` seconds; the run ends after `length_s` or `games`.

        One of the two may be None: no such limit.
        """
        self._before_s, self._length_s, self._all_games = before_s, length_s, games
        self._began = self._drawn = self._written = now = time.monotonic()
        self._printed = now - LINE_EVERY_S + FIRST_LINE_S
        self._sum = self._first = self._last_row = self._last_line = replace(self._sum, at_s=before_s)
        if self._out.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self._table(), console=Console(file=self._out), auto_refresh=False)
            self._live.start()

    def end(self) -> None:
        """Write the last row, if training began, leave the table with the session's rates and close the trackers."""
        if self._began is not None:
            self._write_row()
        if self._live is not None:
            self._last_line = self._first
            self._live.update(self._table(), refresh=True)
            self._live.stop()
            self._live = None
        for tracker in self._trackers:
            tracker.close()

    def actor(self, report: ActorReport) -> None:
        """Count one actor's round."""
        self._sum += report
        if report.version >= 0:
            newest = self._newest.learner.version if self._newest.learner is not None else report.version
            self._lags.append(max(0, newest - report.version))
        results = self._sum.play_report(self._last_results)
        if results.wins + results.draws + results.losses >= RESULTS_EVERY:
            self._write("play", results)
            self._last_results = self._sum

    def learner(self, report: LearnerReport) -> None:
        """Keep the learner's newest losses."""
        steps = max(self._sum.steps, report.step)  # steps repeated after a learner's death count once
        self._sum = replace(self._sum, steps=steps, samples=self._sum.samples + report.samples)
        if report.steps:
            self._newest.learner = report

    def validation(self, last: FullValidation) -> None:
        """Say once that the last validation takes a while, and keep the output up to date meanwhile; write and show its
        results."""
        if last.report is not None:
            self._write("learner/validation", last.report)
            self._say(f"all validation games: {last.report.summary}")
        elif not last.done:
            if not self._validating:
                self._say(f"validating on all {last.all_positions:,} positions of the validation games")
            self._validating = True
            self.tick()

    def taken(self, report: ReplayReport) -> None:
        """Count the games that the replay has taken; after a death it takes some of them again."""
        games = max(self._sum.games, report.games_total)
        self._sum = replace(self._sum, games=games, positions=max(self._sum.positions, report.positions_total))

    def replay(self, report: ReplayReport) -> None:
        """Keep the replay's newest fill."""
        self._newest.replay = report

    def gate(self, report: GateReport) -> None:
        """Write and show a verdict, if there is one; keep the report for the dashboard."""
        self._newest.gate = report
        if report.verdict is not None:
            self._write("gate", report)
            self._say(f"gate: {report.summary}")
        for strength in report.strength:
            self._write(f"strength/{strength.opponent}", strength)
            if strength.fallen:
                log.warning("%s", strength.summary)

    def restarted(self) -> None:
        """Count a restart of a role that died."""
        self._sum = replace(self._sum, restarts=self._sum.restarts + 1)

    def health(self, reports: dict[str, HealthReport]) -> None:
        """Keep the newest health of each role."""
        self._newest.health = reports

    def memory(self, report: MemoryReport) -> None:
        """Keep the newest memory of the driver and the object store."""
        self._newest.memory = report

    def tick(self) -> None:
        """Redraw, print or write what is due; nothing is before training begins."""
        if self._began is None:
            return
        now = time.monotonic()
        self._sum = replace(self._sum, at_s=self._before_s + now - self._began)
        if now - self._written >= METRICS_EVERY_S:
            self._written = now
            self._write_row()
        if self._live is not None and now - self._drawn >= TABLE_EVERY_S:
            self._drawn = now
            self._live.update(self._table(), refresh=True)
        elif self._live is None and now - self._printed >= LINE_EVERY_S:
            self._printed = now
            self._print(as_line(self._sum.at_s, self._cells()))
            self._last_line = self._sum

    def state(self) -> dict[str, Any]:
        """Return the sums for a checkpoint."""
        return asdict(self._sum)

    def restore(self, state: dict[str, Any]) -> None:
        """Continue counting from `state()`."""
        self._sum = self._last_results = Counters(**state)

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
            log.warning("nobody reads the output any more, as after a closed terminal: the run is saved and ends")
            self._hang_up()
        except OSError as error:
            log.warning("a line is lost: %s", error)

    def _write_row(self) -> None:
        session_s = self._sum.at_s - self._before_s
        self._write("run", self._sum.run_report(self._last_row, session_s, resident_mb(os.getpid())))
        if self._sum.sampled > self._last_row.sampled:
            lag = sum(self._lags) / max(1, len(self._lags))
            self._write("selfplay", self._sum.self_play_report(self._last_row, lag))
            self._lags.clear()
        if self._newest.learner is not None:
            self._write("learner", self._newest.learner)
        if self._newest.replay is not None:
            self._write("replay", self._newest.replay)
        for role, report in self._newest.health.items():
            self._write(f"health/{role}", report)
        if self._newest.memory is not None:
            self._write("health/memory", self._newest.memory)
        self._last_row = self._sum

    def _write(self, prefix: str, report: Any) -> None:
        for tracker in self._trackers:
            tracker.write(self._sum.steps, self._sum.at_s, flatten(prefix, report))

    def _cells(self) -> dict[str, str]:
        return cells_of(self._sum, self._last_line, self._newest, self._length_s, self._all_games)

    def _table(self) -> Table:
        length_s = self._length_s
        table = as_table(self._cells(), None if length_s is None else min(1.0, self._sum.at_s / length_s))
        if self._sum.at_s - self._last_line.at_s > METRICS_EVERY_S:
            self._last_line = self._sum
        return table
