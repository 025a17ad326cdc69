"""Reports on the health of a run under Ray: its roles, and the memory that belongs to none of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class HealthReport:
    """One role, or all actors together, as the driver sees it."""

    alive: int
    """Processes that have answered since their start and have not died."""
    wanted: int
    """Processes that should be alive; for actors the target number.  The others are starting, waiting for a node with
    room, or dead."""
    restarts: int
    """Restarts after a death since the driver started."""
    pending_s: float
    """Seconds since the pending request was sent; of several processes the longest, 0 if none is pending."""
    rss_mb: float
    """Resident memory in MB, measured every ten seconds; of several processes the sum."""


@dataclass(frozen=True, kw_only=True)
class MemoryReport:
    """Memory of a run under Ray outside its roles."""

    driver_mb: float
    """Resident memory of the driver's process in MB, measured every ten seconds."""
    object_store_mb: float
    """Used memory of Ray's object stores in MB, over all nodes."""
