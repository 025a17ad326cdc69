"""The driver's time: it passes only while the driver runs, so that its own pauses count against nobody."""

from __future__ import annotations

from typing import Protocol

LONGEST_GAP_S = 2.0
"""The driver looks at its clock every `supervisor.POLL_S`.  If more than this has passed since, the driver was stopped
(SIGSTOP, `docker pause`, a suspended machine) or waited for a disk: it has not read the answers that came meanwhile."""


class Clock(Protocol):
    """What the driver uses of `time`."""

    def monotonic(self) -> float:
        """Return the time in seconds; all times of the driver are of this clock."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


class RunningClock:
    """A clock that leaves out what passes between two looks at it beyond `LONGEST_GAP_S`."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._seen_at, self._left_out_s = clock, clock.monotonic(), 0.0

    def monotonic(self) -> float:
        """Return the seconds without the pauses."""
        now = self._clock.monotonic()
        self._left_out_s += max(0.0, now - self._seen_at - LONGEST_GAP_S)
        self._seen_at = now
        return now - self._left_out_s

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._clock.sleep(seconds)
