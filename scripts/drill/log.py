"""A run's log read along while it is written, over the moments at which it is put aside."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from pathlib import Path

WORKS_AGAIN = re.compile(r": (\S+) works again$")
"""What `scripts/supervisor.py` says of a role that is back (`supervisor.BACK`)."""


class LogFollower:
    """Every line of a log so far, each read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode, self._offset = 0, 0
        self._rest = b""
        self.lines: list[str] = []
        """The first 300 characters of each line: a traceback of Ray has kilobytes."""
        self.returns: Counter[str] = Counter()
        """How often each role came back."""

    def read(self) -> None:
        """Take the lines that have come since."""
        try:
            inode = self._path.stat().st_ino
        except FileNotFoundError:
            return  # not yet, or just put aside
        if self._inode not in (0, inode):
            with contextlib.suppress(FileNotFoundError):  # it may have been put aside twice
                self._take(self._path.with_name(f"{self._path.name}.1"))  # what came before it was put aside
            self._offset = 0
        self._inode = inode
        self._take(self._path)

    def _take(self, path: Path) -> None:
        with open(path, "rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(os.linesep.encode())
        for line in lines:
            text = line[:300].decode("utf-8", "replace")
            self.lines.append(text)
            if found := WORKS_AGAIN.search(text):
                self.returns[found[1]] += 1
