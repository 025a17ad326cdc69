"""The metrics of a run, read back from its folder: some of all rows, or the newest values."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from reversi.errors import RunError

MOST = 1e300
"""Metrics of this size and what is no finite number are no metrics."""

TAIL_BYTES = 1 << 18
"""Bytes read from the end of `metrics.jsonl` for the newest values: some hundred rows, of all kinds."""

Row = dict[str, float]
"""Metrics by name, of one moment."""


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
        row = json.loads(line)
        if isinstance(row, dict):
            return {name: value for name, value in row.items() if _is_number(value)}
    return {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < MOST
