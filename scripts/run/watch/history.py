"""`History`: the metrics of a run, read on as its process writes them, and thinned to what a screen can show."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scripts.run.tracking.jsonl import Row, numbers_of

POINTS = 600
"""Moments that are kept at least, of a run that has so many; at twice as many, pairs of them are averaged."""

SAMPLES = 8
"""Moments that an average of many is taken over: of a long file not every row is parsed."""

RECENT_BYTES = 1 << 16
"""Bytes at the end of what is read of which every row is parsed."""

OFTEN = re.compile(rb'.{0,60}?"(run|selfplay|learner|replay|health)/')
"""The beginning of a row that is written every few seconds; one of the run begins such a moment."""

AGAINST = re.compile("strength/(.+)/version$")
"""The metric that says against whom a row's match was."""


class History:
    """What `metrics.jsonl` of a run's folder says so far.

    ticks     the rows of one moment each, merged: the run, self-play, the learner, the replay; averages in a long run
    recent    the newest of them, as they were written
    verdicts  the rows of the gate, one a match
    results   the rows of games against a side that does not learn
    strength  the rows of matches against fixed opponents and older champions, by opponent
    newest    every metric's newest value
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "metrics.jsonl"
        self._clear()

    def _clear(self) -> None:
        self._offset, self._rest = 0, b""
        self.ticks: list[Row] = []
        self.recent: list[Row] = []
        self.verdicts: list[Row] = []
        self.results: list[Row] = []
        self.strength: dict[str, list[Row]] = {}
        self.newest: Row = {}

    def poll(self) -> bool:
        """Read what was written since the last call; return whether there was anything.

        A file that has become shorter is read from its beginning.  The last line waits until it is whole.
        """
        try:
            size = self._path.stat().st_size
            if size < self._offset:
                self._clear()
            if size == self._offset:
                return False
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:  # not there yet, or deleted while it is watched
            return False
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for row in _rows(list(_sampled(lines))):
            self._take(row)
        while len(self.ticks) >= 2 * POINTS:
            self.ticks = _averaged(self.ticks)
        return True

    def _take(self, row: Row) -> None:
        self.newest |= row
        if "gate/wins" in row:
            if row.get("gate/candidate_version", -1) >= 0:  # the first model has no match
                self.verdicts.append(row)
        elif "play/wins" in row:
            self.results.append(row)
        elif opponent := next((found[1] for name in row if (found := AGAINST.match(name))), None):
            self.strength.setdefault(opponent, []).append(row)
        elif self.recent and self.recent[-1]["elapsed_s"] == row["elapsed_s"]:
            self.recent[-1] |= row  # which is also the last of the ticks
        else:
            self.ticks.append(row)
            self.recent = [*self.recent[-POINTS // 10 :], row]


def _sampled(lines: list[bytes]) -> Iterator[bytes]:
    """Yield the lines of verdicts, of results, of the newest moments, and of some `SAMPLES` moments a point; rows about
    roles only of the newest."""
    kinds = [found[1] if (found := OFTEN.match(line)) else b"" for line in lines]
    every = max(1, kinds.count(b"run") // (SAMPLES * POINTS))
    left, moment = sum(map(len, lines)), -1
    for line, kind in zip(lines, kinds, strict=True):
        left -= len(line)
        moment += kind == b"run"
        if left < RECENT_BYTES or not kind or (kind != b"health" and moment % every == 0):
            yield line


def _rows(lines: list[bytes]) -> list[Row]:
    """Return the rows among lines; what is no row, or says no time, is left out."""
    try:
        values = json.loads(b"[" + b",".join(filter(None, lines)) + b"]")
    except (ValueError, RecursionError):  # a line that a crash cut short, or a foreign one
        values = []
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                values.append(json.loads(line))
    return [row for row in map(numbers_of, values) if "elapsed_s" in row]


def _averaged(rows: list[Row]) -> list[Row]:
    """Return half as many rows, each the average of two."""
    halves = []
    for first, second in zip(rows[::2], [*rows[1::2], {}], strict=False):
        both = {name: (first[name] + second[name]) / 2 for name in first.keys() & second.keys()}
        halves.append(first | second | both)
    return halves


def column(rows: list[Row], name: str) -> NDArray[np.float64]:
    """Return a metric of all rows, (rows,) float64; NaN where it is missing."""
    return np.array([row.get(name, np.nan) for row in rows], np.float64)
