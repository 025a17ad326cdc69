"""`metrics.jsonl`, written and read back: one JSON object per row, appended, so that a resumed run continues it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from reversi.errors import RunError

log = logging.getLogger(__name__)

MOST = 1e300
"""Metrics of this size and what is no finite number are no metrics."""

TAIL_BYTES = 1 << 18
"""Bytes read from the end of `metrics.jsonl` for the newest values: some hundred rows, of all kinds."""

Row = dict[str, float]
"""Metrics by name, of one moment."""


class JsonlTracker:
    """Appends every row immediately; after a row that a crash cut short the next one starts a new line.

    A full disk loses rows but never ends the run.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._cut = _is_cut(path)
        self._file = path.open("ab", buffering=0)  # a buffer would keep bytes that a full disk refused for later rows

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Append one row; numbers that are not finite become null."""
        finite = {name: value if abs(value) < float("inf") else None for name, value in metrics.items()}
        row = json.dumps({"step": step, "elapsed_s": round(elapsed_s, 3), **finite}).encode() + b"\n"
        data = b"\n" + row if self._cut else row
        try:
            self._cut = self._file.write(data) != len(data)
        except OSError as error:
            log.warning("a row of metrics is lost: %s", error)
        else:
            if self._cut:
                log.warning("a row of metrics is cut short: the disk is full")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_cut(path: Path) -> bool:
    """Return whether the file's last line has no end; only its last byte is read."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def rows_of(folder: Path, *prefixes: str) -> list[Row]:
    """Return what the rows of a run say of the metrics whose names begin with one of `prefixes`, and when.

    Rows without such a metric are left out, as are a last line cut by a crash and what is no row.
    """
    path = folder / "metrics.jsonl"
    if not path.is_file():
        raise RunError(f"expected the folder of a run with its metrics, but there is no {path} (tracking=jsonl)")
    rows = []
    with open(path, "rb") as file:
        for line in file:  # the numbers of a day of training are kept, but never all of its text
            row = _row(line)
            wanted = {sys.intern(name): value for name, value in row.items() if name.startswith(prefixes)}
            if wanted and "elapsed_s" in row:
                rows.append({"elapsed_s": row["elapsed_s"], **wanted})
    return rows


def newest_values(folder: Path) -> Row:
    """Return every metric's newest value among the last rows; none if there is no row yet."""
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return {}
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        lines = file.read().split(b"\n")
    values: Row = {}
    for line in lines:  # the first one is cut, the last one may be half written
        values |= _row(line)
    return values


def _row(line: bytes) -> Row:
    """Return the numbers of a line, none if it is no row."""
    with contextlib.suppress(ValueError, RecursionError):
        return numbers_of(json.loads(line))
    return {}


def numbers_of(row: Any) -> Row:
    """Return the numbers of a parsed row; null stands for one that is not finite, and what is no row has none."""
    return {name: value for name, value in row.items() if _is_number(value)} if isinstance(row, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and -MOST < value < MOST
