"""Which precision a backend is faster with on this CPU: measured, since it depends on the backend and the network."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from reversi.model.backend import Backend, Precision

PROBE_POSITIONS = 16
"""Batch on which precisions are compared: bf16 with AMX is 4-7 times float32 there already, as it is at 256."""
PROBE_S = 0.03
"""Time given to each precision after its first call; with compiling, the choice costs 0.15 s once per process."""

_chosen: dict[object, Precision] = {}


def faster_precision(key: object, make: Callable[[Precision, int], Backend]) -> Precision:
    """Return the precision that `make`'s backend is faster with on this CPU, measured once per process and `key`.

    bf16 must win by a tenth to be taken: it pays only with AMX or AVX512-BF16, and float32 is the more exact.
    """
    if key not in _chosen:
        fast, exact = (_run_s(make(precision, PROBE_POSITIONS)) for precision in ("bf16", "float32"))
        _chosen[key] = "bf16" if fast < 0.9 * exact else "float32"
    return _chosen[key]


def _run_s(backend: Backend) -> float:
    """Return the seconds of the fastest run of a full batch, after one that warms up."""
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
