"""Reports on the health of a run under Ray: its roles, and the memory that belongs to none of them."""

from __future__ import annotations

from dataclasses import dataclass


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
