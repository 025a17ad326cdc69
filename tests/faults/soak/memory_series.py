"""The memory of each part of a run over time, read from its metrics, and the growth that is expected of it.

A series starts with its process: at every restart of its role, and for all parts where the run was resumed.  The ring
of the replay and the stream on the Redis server fill up with games, to a bound set by the configuration, and the driver
holds a copy of the ring while it writes a checkpoint.  That growth is no leak: once the ring has been full for long
enough such a series is judged from that time on (`full_s`); before, `filling_mb_per_h` is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from scripts.run.tracking.jsonl import Row
from tests.faults.soak.trend import slope_of

ROLES = ("learner", "gate", "replay", "weights")

READ = ("run/resident_mb", "run/session_s", "health/", "replay/server_mb", "replay/fill", "replay/positions")
"""Names, and beginnings of names, of the metrics that `series_of` reads."""

FILLING_BYTES = 128
"""Upper bound of a position's bytes in the ring (102 on 8x8) or on the Redis server (73)."""

FULL = 0.999
"""Share of its capacity at which the ring counts as full."""

FULL_SHARE = 1 / 3
"""The time with a full ring is judged alone once it is at least this share of the whole series."""


@dataclass
class Series:
    """Memory of one part since its last start."""

    part: str
    """`learner`, `actors` (mean of one actor), `driver`, `object store`, `redis`, `whole run`, ..."""
    times_s: list[float] = field(default_factory=list)
    """Seconds of training, from the metrics."""
    mb: list[float] = field(default_factory=list)
    filling_mb_per_h: float = 0.0
    """Largest growth explained by the replay filling up."""
    full_s: float | None = None
    """When the replay's ring became full, if this part grows with it and enough time has passed since."""


def series_of(rows: Iterable[Row]) -> list[Series]:
    """Return every series in the metrics of a run, the whole run first."""
    rows = list(rows)
    lives = list(_sessions(rows))
    rows = lives[-1] if lives else []
    series = [_read("whole run", rows, lambda row: row.get("run/resident_mb"))]
    series += [_role(role, rows) for role in ROLES]
    series += [
        _role("actors", rows),
        _read("driver", rows, lambda row: row.get("health/memory/driver_mb")),
        _read("object store", rows, lambda row: row.get("health/memory/object_store_mb")),
        _read("redis", rows, lambda row: row.get("replay/server_mb")),
    ]
    series = [each for each in series if each.mb]
    _mark_filling(series, rows)
    return series


def _mark_filling(every: list[Series], rows: list[Row]) -> None:
    """For each part that grows with the ring, note when the ring filled, or the growth it explains."""
    parts = {each.part: each for each in every}
    rings = {"replay": 1, "driver": 1, "redis": 1, "whole run": 3 if "redis" in parts else 2}
    full_s = next((row["elapsed_s"] for row in rows if row.get("replay/fill", 0.0) >= FULL), None)
    positions = _read("", rows, lambda row: row.get("replay/positions"))
    slope = slope_of(positions.times_s, positions.mb)
    ring_mb_per_h = max(0.0, slope.high if slope else 0.0) * FILLING_BYTES * 3600 / (1 << 20)
    for part in parts.keys() & rings.keys():
        series = parts[part]
        begin, end = series.times_s[0], series.times_s[-1]
        if full_s is not None and end - full_s >= FULL_SHARE * (end - begin):
            series.full_s = full_s
        else:
            series.filling_mb_per_h = ring_mb_per_h * rings[part]


def _sessions(rows: list[Row]) -> Iterator[list[Row]]:
    """Split the rows where the run was resumed: the seconds of the session, or of all training, decrease there."""
    begin, last_s, last_session_s = 0, 0.0, 0.0
    for index, row in enumerate(rows):
        session_s = row.get("run/session_s", last_session_s)
        if row["elapsed_s"] < last_s or session_s < last_session_s:
            yield rows[begin:index]
            begin = index
        last_s, last_session_s = row["elapsed_s"], session_s
    yield rows[begin:]


def _role(role: str, rows: list[Row]) -> Series:
    """Return the memory of a role's process since its last restart; for actors the mean over those alive."""
    begin, restarts = 0, 0.0
    for index, row in enumerate(rows):
        now = row.get(f"health/{role}/restarts", restarts)
        if now != restarts and role != "actors":
            begin = index + 1  # this row may still tell of the process that is gone
        restarts = now

    def mb(row: Row) -> float | None:
        total, alive = row.get(f"health/{role}/rss_mb"), row.get(f"health/{role}/alive")
        return total / alive if total and alive else None

    return _read(role, rows[begin:], mb)


def _read(part: str, rows: Iterable[Row], value: Callable[[Row], float | None]) -> Series:
    series = Series(part)
    for row in rows:
        if (mb := value(row)) is not None:
            series.times_s.append(row["elapsed_s"])
            series.mb.append(mb)
    return series
