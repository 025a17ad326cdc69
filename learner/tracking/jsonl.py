"""`metrics.jsonl`: one JSON object per row, appended, so that a resumed run goes on in the same file."""

from __future__ import annotations

import json
from pathlib import Path


class JsonlTracker:
    """Appends every row at once; a row cut by a crash is left alone, the next one starts a new line."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        cut = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        self._file = path.open("a", encoding="utf-8")
        if cut:
            self._file.write("\n")

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Append one row; numbers that are not finite become null."""
        finite = {name: value if abs(value) < float("inf") else None for name, value in metrics.items()}
        self._file.write(json.dumps({"step": step, "elapsed_s": round(elapsed_s, 3), **finite}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
