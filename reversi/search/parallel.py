"""Kernels on several threads: a range of rows cut into parts, one thread for each.

Kernels release the GIL, so plain threads are enough; numba's own parallel loops would set the thread counts of the
whole process, torch's included, and want every kernel compiled a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np


class Threads:
    """`count` threads for work on rows; with one thread all work is done by the caller."""

    def __init__(self, count: int) -> None:
        """`count` includes the calling thread, which takes the first part of every range."""
        assert count >= 1, f"expected at least one thread, got {count}"
        self.count = count
        self._pool = ThreadPoolExecutor(count - 1, "rows") if count > 1 else None

    def each(self, work: Callable[[int, int], None], rows: int) -> None:
        """Call `work(start, stop)` on equal parts of `rows`, each on a thread of its own, and wait for all of them."""
        if self._pool is None or rows < self.count:
            work(0, rows)
            return
        bounds = np.linspace(0, rows, self.count + 1).astype(int).tolist()
        others = [self._pool.submit(work, bounds[part], bounds[part + 1]) for part in range(1, self.count)]
        work(bounds[0], bounds[1])
        for other in others:
            other.result()
