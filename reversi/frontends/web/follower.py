"""`Follower`: looks for a newer selection again and again, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Protocol

from reversi.frontends.web.selection import Selection

END_S = 1.0
"""Longest time that the end of the thread is waited for, in seconds; it may wait for a registry."""


class Source(Protocol):
    """Where newer selections come from."""

    wait_s: float
    """Time until the next `newer`, in seconds."""

    def newer(self) -> Selection | None:
        """Return the selection that is to replace the current one, None as long as there is none; must not raise."""


class Follower:
    """Calls `take`, in its thread, with every newer selection of a source."""

    def __init__(self, source: Source, take: Callable[[Selection], object]) -> None:
        self._source, self._take = source, take
        self._ended = Event()
        self._thread = Thread(target=self._follow, name="follower", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; `take` is not called any more."""
        self._ended.set()
        self._thread.join(END_S)

    def _follow(self) -> None:
        while not self._ended.wait(self._source.wait_s):
            selection = self._source.newer()
            if selection is not None and not self._ended.is_set():
                self._take(selection)
