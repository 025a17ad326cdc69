"""Ctrl-C and SIGTERM: the first asks the run to stop and save, the second ends it now."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any

from scripts.processes import kill_children

EXIT_INTERRUPTED = 130

SAVED = "stopped and saved"
NOTHING_KEPT = "stopped before training began; nothing is kept"
"""What a run that was stopped says at its end, and `reversi stop` finds in a job's output."""


class Interrupt:
    """While entered, `requested` becomes true at the first signal; a second one ends the process at once."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            os.write(sys.stderr.fileno(), b"\nstopped now; what came after the last checkpoint is lost\n")
            kill_children(os.getpid())
            os._exit(EXIT_INTERRUPTED)
        self.requested = True
        os.write(sys.stderr.fileno(), b"\nstopping: saving the run (again to stop now)\n")
