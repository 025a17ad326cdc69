"""Ctrl-C, SIGTERM, a terminal that closes, and the signals with which schedulers announce the end of a job's time,
SIGUSR1 and SIGUSR2: the first makes the run save and stop, the second ends it now."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from scripts.run.processes import kill_children

EXIT_INTERRUPTED = 130

TOGETHER_S = 0.5
"""Signals that come within so many seconds are one: `timeout` signals its child and then the child's whole group."""


class Interrupt:
    """While entered, `requested` becomes true at the first signal; a second one ends the process at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.requested = False
        self.on_request: Callable[[], None] = _nothing
        """Called when a stop is requested; `request` and a signal's handler call it."""
        self.on_second_signal: Callable[[], str] = _lost
        """Called before a second signal ends the process; returns what is said then."""
        self._requested_at = 0.0
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # started by nohup: the run outlives its terminal
            self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def request(self) -> None:
        """Request that the run saves and stops, as the first signal does."""
        self.requested = True
        self._requested_at = self._clock()
        self.on_request()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested and self._clock() - self._requested_at < TOGETHER_S:
            return
        if self.requested:
            kill_children(os.getpid())
            _say(f"\n{self.on_second_signal()}\n".encode())
            os._exit(EXIT_INTERRUPTED)
        self.request()
        _say(b"\nstopping: saving the run (again to stop now)\n")


def _nothing() -> None: ...


def _lost() -> str:
    return "stopped at once; what came after the last checkpoint is lost"


def _say(words: bytes) -> None:
    with contextlib.suppress(OSError):  # the terminal may be what has gone
        os.write(sys.stderr.fileno(), words)
