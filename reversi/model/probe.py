"""The faster of two ways to compute a network on this CPU: measured, since CPU flags do not tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from reversi.model.backend import Backend

PROBE_POSITIONS = 16
"""Batch size of the comparison: with AMX, bf16 is already 4-7 times as fast as float32 there, as at 256."""
PROBE_S = 0.03
"""Time for each way after its first call; including compilation, a choice takes 0.15 s once per process."""

Way = TypeVar("Way", bound=str)

_chosen: dict[object, Any] = {}
"""The faster way by `key`."""


def faster(key: object, make: Callable[[Way, int], Backend], *, usual: Way, other: Way, gain: float) -> Way:
    """Return `other` if its backend is more than `gain` times as fast as that of `usual`, else `usual`.

    key   identifies the choice, which is measured once per process
    make  returns the backend of a way, for a number of positions

    A `gain` far from the real ratio makes the choice, and with it every rounding, the same in every process.
    """
    if key not in _chosen:
        usual_s, other_s = (_run_s(make(way, PROBE_POSITIONS)) for way in (usual, other))
        _chosen[key] = other if usual_s > gain * other_s else usual
    way: Way = _chosen[key]
    return way


def _run_s(backend: Backend) -> float:
    """Return the seconds of the fastest run of a full batch, after a warm-up run."""
    own, opp = np.full(backend.batch, 1, np.uint64), np.full(backend.batch, 2, np.uint64)
    backend.run(own, opp)
    fastest, end_s = float("inf"), time.perf_counter() + PROBE_S
    while True:
        start_s = time.perf_counter()
        backend.run(own, opp)
        now_s = time.perf_counter()
        fastest = min(fastest, now_s - start_s)
        if now_s > end_s:
            return fastest
