"""`Lines`: the lines of an input, read by a thread, so that a program that thinks can see what has come meanwhile."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

LONGEST_LINE = 1 << 16
"""Characters that are kept of a line; the rest of it is dropped."""

MOST_WAITING = 1000
"""Lines that may wait; then reading waits, too."""


class Lines:
    """What `read` returns, cut into lines; `read()` blocks until there are bytes and returns b"" at the end."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        """Begin to read.  The thread is a daemon: it may be blocked in `read` when the program ends."""
        self._read = read
        self._waiting: deque[str] = deque()
        self._ended = self._closed = False
        self._changed = threading.Condition()
        threading.Thread(target=self._pump, name="input", daemon=True).start()

    def next(self) -> str | None:
        """Wait for a line and return it without its end; None once there are no more."""
        with self._changed:
            while not self._waiting and not self._ended:
                self._changed.wait()
            self._changed.notify_all()
            return self._waiting.popleft() if self._waiting else None

    def holds(self, wanted: Callable[[str], bool]) -> bool:
        """Return whether a line that fulfils `wanted` waits, at once."""
        if not self._waiting:  # the common case costs no lock: a search asks after every batch
            return False
        with self._changed:
            return any(wanted(line) for line in self._waiting)

    def close(self) -> None:
        """Want no more: what waits is dropped, and reading ends with the read that is under way."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def _pump(self) -> None:
        begun = b""
        try:
            while not self._closed and (data := self._read()):
                *whole, begun = (begun + data).split(b"\n")
                begun = begun[:LONGEST_LINE]
                for line in whole:
                    self._put(line)
        except OSError:  # a terminal that is gone: the input has ended
            return
        finally:
            if begun:
                self._put(begun)
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _put(self, line: bytes) -> None:
        text = line[:LONGEST_LINE].decode(errors="replace").removesuffix("\r")
        with self._changed:
            while len(self._waiting) >= MOST_WAITING and not self._closed:
                self._changed.wait()
            if not self._closed:
                self._waiting.append(text)
                self._changed.notify_all()
