"""The row of the page of a run: what it costs a run to be watched."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from reversi.capacity import cores
from scripts.bench.measure import Row, row
from scripts.bench.setup import Settings

if TYPE_CHECKING:
    from scripts.run.tracking.jsonl import JsonlTracker

MOMENTS = 720
"""Rows of each report: an hour's."""

MATCHES = 60
"""Rows of the gate: an hour's of the default job, and more."""

MOMENT_S = 5.0
"""Seconds between two moments."""

ASK_S = 3.0
"""Seconds after which a page asks again; that of `static/page.js`."""


def bench_watch(settings: Settings) -> Iterator[Row]:
    """Answers to a browser that watches a run of an hour: metrics read on, charts made, compressed."""
    from scripts.config.compose import compose, to_yaml
    from scripts.run.tracking.jsonl import JsonlTracker
    from scripts.run.watch.games import files_of
    from scripts.run.watch.server import as_text
    from scripts.run.watch.view import RunView

    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.yaml").write_text(to_yaml(compose([f"game=reversi{settings.size}"])), encoding="utf-8")
        tracker = JsonlTracker(folder / "metrics.jsonl")
        for moment in range(MOMENTS):
            _write_moment(tracker, moment, gate=moment % (MOMENTS // MATCHES) == 0)
        view = RunView(folder)
        view.poll()
        shares = []
        for moment in range(MOMENTS, MOMENTS + settings.repeats):
            _write_moment(tracker, moment, gate=False)
            start_s = time.process_time()
            for answer in (view.poll(), {"files": files_of(folder)}):
                zlib.compress(as_text(answer).encode())
            shares.append(100 * (time.process_time() - start_s) / ASK_S / cores())
        tracker.close()
    note = f"of {cores()} cores, one page on a run of an hour, asking every {ASK_S:g} s"
    yield row("watch_percent", shares, "%", note)


def _write_moment(tracker: JsonlTracker, moment: int, *, gate: bool) -> None:
    """Write the rows of a moment, with or without a match of the gate's; all their numbers grow."""
    from learner.algorithms.reports import AlphaZeroLosses
    from learner.replay.transport import ReplayReport
    from scripts.run.reports import HealthReport, MemoryReport, RunReport, SelfPlayReport

    reports: dict[str, Any] = {
        "run": RunReport,
        "selfplay": SelfPlayReport,
        "learner/losses": AlphaZeroLosses,
        "replay": ReplayReport,
        "health/learner": HealthReport,
        "health/actors": HealthReport,
        "health/memory": MemoryReport,
    }
    at_s = MOMENT_S * moment
    for prefix, report in reports.items():
        names = (field.name for field in fields(report))
        tracker.write(moment, at_s, {f"{prefix}/{name}": at_s + index for index, name in enumerate(names)})
    if gate:
        verdict = ["candidate_version", "champion_version", "opponent_version", "wins", "draws", "losses"]
        verdict += ["elo", "elo_low", "elo_high", "champion_elo", "truth/positions", "truth/outcome_kept"]
        tracker.write(moment, at_s, {f"gate/{name}": at_s + index for index, name in enumerate(verdict)})
