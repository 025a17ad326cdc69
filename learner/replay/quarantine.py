"""The quarantine: refused deliveries are stored unchanged, with the reason in the file's name.

`000003-illegal-move.records` is the delivery, byte for byte; `000003-illegal-move.txt` beside it names the producer and
the errors.  Limits keep a producer of bad records from filling the disk.
"""

from __future__ import annotations

from pathlib import Path

from reversi.files import write_atomic

MAX_FILES = 100
"""Most deliveries kept; later ones are only counted."""

MAX_BYTES = 1 << 30
"""Most bytes kept in total, 1 GiB; a delivery that would exceed them is only counted."""


class Quarantine:
    """A folder of refused deliveries; with `folder` None nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        held = sorted(folder.glob("*.records")) if folder is not None else []
        self._files = len(held)
        self._bytes = sum(path.stat().st_size for path in held)
        self._number = 1 + max((int(path.name[:6]) for path in held if path.name[:6].isdigit()), default=0)

    def keep(self, data: bytes, reason: str, explanation: str) -> bool:
        """Store a delivery; return False if there is no folder, a limit is reached or writing fails.

        A full disk must not stop the run because of records that are not trained on anyway.
        """
        if self._folder is None or self._files >= MAX_FILES or self._bytes + len(data) > MAX_BYTES:
            return False
        name = f"{self._number:06d}-{reason}"
        try:
            write_atomic(self._folder / f"{name}.records", data)
            write_atomic(self._folder / f"{name}.txt", f"{explanation}\n".encode(errors="backslashreplace"))
        except OSError:
            return False
        self._number += 1
        self._files += 1
        self._bytes += len(data)
        return True
