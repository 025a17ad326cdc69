"""`metrics.jsonl`: one JSON object per row, appended, so that a resumed run continues the same file."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

log = logging.getLogger(__name__)


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
