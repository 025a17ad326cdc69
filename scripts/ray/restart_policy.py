"""When a role that died is started again, and when the run gives up.

Times are monotonic seconds of the driver's machine, so setting its clock back changes nothing.
"""

from __future__ import annotations

WITHIN_S = 3600.0
"""Seconds after which a death no longer counts."""

CALM_S = 10.0
"""A role that lived this long is restarted at once; after a shorter life there is a pause first."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""The pause before a restart in seconds: it doubles with every short life in a row, up to the second number."""


class RestartPolicy:
    """Decides, for one role, whether and when to restart it after a death."""

    def __init__(self, most: int) -> None:
        """`most` deaths within an hour lead to a restart; one more ends the run."""
        self._most = most
        self._deaths: list[float] = []
        self._cut_offs: list[float] = []
        self._short_lives = 0
        self._started = -CALM_S

    def started(self, now: float) -> None:
        """Note that the role was started, or has answered for the first time: its life is counted from here."""
        self._started = now

    def died(self, now: float) -> float | None:
        """Note a death; return the seconds to wait before the restart, or None if this death was one too many."""
        self._deaths = [*(death for death in self._deaths if now - death < WITHIN_S), now]
        if len(self._deaths) > self._most:
            return None
        self._short_lives = self._short_lives + 1 if now - self._started < CALM_S else 0
        if not self._short_lives:
            return 0.0
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (self._short_lives - 1))

    def cut_off(self, now: float) -> float:
        """Note that the role could not reach a server that it needs; return the seconds to wait before the restart.

        These restarts are not limited.  The pause doubles with every one within an hour.
        """
        self._cut_offs = [*(each for each in self._cut_offs if now - each < WITHIN_S), now]
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(len(self._cut_offs) - 1, 10))

    @property
    def deaths(self) -> int:
        """Deaths within the hour before the last one, itself included."""
        return len(self._deaths)
