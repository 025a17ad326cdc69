"""The memory of a run over time, part by part, out of its metrics: which numbers, since when, how much may grow.

A series begins anew where its process does: at every restart of its role, and of all where the run was resumed.  The
ring of the replay and the stream on the Redis server fill up as games come, to a bound that the configuration sets;
what that explains is `filling_mb_per_h` and is no leak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scripts.trend import slope_of

Row = dict[str, Any]

ROLES = ("learner", "gate", "replay", "weights")

FILLING_BYTES = 128
"""Most that a position takes in the ring (101 bytes on 8x8) or on the Redis server (73)."""


@dataclass
class Series:
    """Memory of one part since it was started last."""

    part: str
    """`learner`, `actors` (one of them, in the mean), `driver`, `object store`, `redis`, `whole run`, ..."""
    times_s: list[float] = field(default_factory=list)
    """Seconds of training, as the metrics have them."""
    mb: list[float] = field(default_factory=list)
    filling_mb_per_h: float = 0.0
    """Growth that the filling of the replay explains, at most."""


def series_of(rows: Iterable[Row]) -> list[Series]:
    """Return every series that the metrics of a run have, the whole run first."""
    rows = list(rows)
    lives = list(_sittings(rows))
    rows = lives[-1] if lives else []
    found = [_read("whole run", rows, lambda row: row.get("run/resident_mb"))]
    found += [_role(role, rows) for role in ROLES]
    found += [
        _role("actors", rows),
        _read("driver", rows, lambda row: row.get("health/memory/driver_mb")),
        _read("object store", rows, lambda row: row.get("health/memory/object_store_mb")),
        _read("redis", rows, lambda row: row.get("replay/server_mb")),
    ]
    held = _read("", rows, lambda row: row.get("replay/positions"))
    filling = slope_of(held.times_s, held.mb)
    mb_per_h = max(0.0, filling.high if filling else 0.0) * FILLING_BYTES * 3600 / (1 << 20)
    over_redis = any(each.part == "redis" and each.mb for each in found)
    filled = {"replay": 1, "redis": 1, "whole run": 2 if over_redis else 1}
    for each in found:
        each.filling_mb_per_h = mb_per_h * filled.get(each.part, 0)
    return [each for each in found if each.mb]


def _sittings(rows: list[Row]) -> Iterator[list[Row]]:
    """Cut the rows where the run was resumed: fewer seconds of the sitting, or of all training, than the row before."""
    begin, last_s, last_sitting_s = 0, 0.0, 0.0
    for index, row in enumerate(rows):
        sitting_s = row.get("run/sitting_s", last_sitting_s)
        if row["elapsed_s"] < last_s or sitting_s < last_sitting_s:
            yield rows[begin:index]
            begin = index
        last_s, last_sitting_s = row["elapsed_s"], sitting_s
    yield rows[begin:]


def _role(role: str, rows: list[Row]) -> Series:
    """Return the memory of a process of a role; of actors, which come and go, the mean."""
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
        if (found := value(row)) is not None:
            series.times_s.append(row["elapsed_s"])
            series.mb.append(found)
    return series
