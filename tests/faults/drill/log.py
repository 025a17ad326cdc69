"""Reads a run's log while it is written, across its rotations."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from pathlib import Path

WORKS_AGAIN = re.compile(r": (\S+) works again$")
"""Message of `scripts/ray/supervisor.py` about a role that was restarted (`supervisor.RECOVERED`)."""


class LogFollower:
    """All lines of a log so far, each read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode, self._offset = 0, 0
        self._rest = b""
        self.lines: list[str] = []
        """The first 300 characters of each line: a traceback of Ray has kilobytes."""
        self.returns: Counter[str] = Counter()
        """Number of returns of each role."""

    def read(self) -> None:
        """Read the new lines."""
        try:
            inode = self._path.stat().st_ino
        except FileNotFoundError:
            return  # not yet written, or just rotated
        if self._inode not in (0, inode):
            with contextlib.suppress(FileNotFoundError):  # it may have been rotated twice
                self._take(self._path.with_name(f"{self._path.name}.1"))  # the lines before the rotation
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
            if match := WORKS_AGAIN.search(text):
                self.returns[match[1]] += 1
