"""`InputLines`: the lines of an input, read by a thread, so that a running search can see what has arrived."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

LONGEST_LINE = 1 << 16
"""Characters kept of a line; the rest is dropped."""

MOST_WAITING = 1000
"""Largest number of waiting lines; reading pauses while it is reached."""


class InputLines:
    """The lines of the bytes that `read` returns; `read()` blocks until there are bytes and returns b"" at the end."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        """Start reading, in a daemon thread, since it may be blocked in `read` when the program ends."""
        self.reads = 0
        """Number of reads so far."""
        self._read = read
        self._waiting: deque[tuple[int, str]] = deque()  # each with the number of its read, from 1
        self._ended = self._closed = False
        self._changed = threading.Condition()
        threading.Thread(target=self._pump, name="input", daemon=True).start()

    def next(self) -> str | None:
        """Wait for a line and return it without its end; None once there are no more."""
        return next(iter(self.arrived(1)), None)

    def arrived(self, most: int) -> list[str]:
        """Wait for a line and return it with those that have arrived too, at most `most`; [] once there are no more."""
        with self._changed:
            while not self._waiting and not self._ended:
                self._changed.wait()
            self._changed.notify_all()
            return [self._waiting.popleft()[1] for _ in range(min(most, len(self._waiting)))]

    def holds(self, wanted: Callable[[str], bool], after: int = 0) -> bool:
        """Return, without blocking, whether a waiting line read `after` so many reads satisfies `wanted`."""
        if not self._waiting:  # no lock in the common case: a search calls this after every batch
            return False
        with self._changed:
            return any(number > after and wanted(line) for number, line in self._waiting)

    def ready(self) -> bool:
        """Return whether `next` would not block: a line is waiting, or there are no more."""
        return bool(self._waiting) or self._ended

    def wait(self) -> None:
        """Block until `ready`."""
        with self._changed:
            self._changed.wait_for(self.ready)

    def close(self) -> None:
        """Drop the waiting lines and stop reading once the current read returns."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def _pump(self) -> None:
        begun = b""
        try:
            while not self._closed and (data := self._read()):
                self.reads += 1  # before its lines can be seen
                *whole, begun = (begun + data).split(b"\n")
                begun = begun[:LONGEST_LINE]
                for line in whole:
                    self._put(line)
        except OSError:  # the terminal is gone: the input has ended
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
                self._waiting.append((self.reads, text))
                self._changed.notify_all()
