"""How deaths of a role are answered: when it starts again, when the run gives up, what is known of its health.

Times are monotonic seconds of the driver's machine: a clock that is set back changes nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass

WITHIN_S = 3600.0
"""Deaths older than this are forgiven."""

CALM_S = 10.0
"""A role that lived so long is started again at once; one that died sooner after its start has to pause."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""The pause before a new start doubles with every short life in a row."""


class Lives:
    """The lives of one role."""

    def __init__(self, most: int) -> None:
        """`most` deaths within an hour are answered by a new start."""
        self._most = most
        self._deaths: list[float] = []
        self._short_lives = 0
        self._born = -CALM_S

    def born(self, now: float) -> None:
        """Hear that the role was started, or first answered: from here on it lives."""
        self._born = now

    def died(self, now: float) -> float | None:
        """Hear of a death; return the seconds to wait before the next start, or None if this was one too many."""
        self._deaths = [*(death for death in self._deaths if now - death < WITHIN_S), now]
        if len(self._deaths) > self._most:
            return None
        self._short_lives = self._short_lives + 1 if now - self._born < CALM_S else 0
        if not self._short_lives:
            return 0.0
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (self._short_lives - 1))

    @property
    def deaths(self) -> int:
        """Deaths within the hour before the last one, itself included."""
        return len(self._deaths)


@dataclass(frozen=True, kw_only=True)
class HealthReport:
    """One role, or all actors together, as the driver sees it."""

    alive: int
    """Processes that have answered since their start and have not died."""
    wanted: int
    """Processes that there shall be; of actors as many as were asked for.  Those that are not alive start, wait for a
    node with room or have died."""
    restarts: int
    """Deaths since the driver started that were answered by a new start."""
    silent_s: float
    """Seconds that the answer asked for has been under way; of several processes the longest, 0 if none is."""
    rss_mb: float
    """Resident memory in MB, as last told (every ten seconds); of several processes the sum."""


@dataclass(frozen=True, kw_only=True)
class MemoryReport:
    """What a run under Ray holds besides its roles."""

    driver_mb: float
    """Resident memory of the driver's process in MB, every ten seconds."""
    object_store_mb: float
    """Used of Ray's object stores in MB, those of all nodes together."""
