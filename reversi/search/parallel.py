"""Kernels on several threads: a range of rows cut into parts, which the threads take one after the other.

Kernels release the GIL, so plain threads are enough; numba's own parallel loops would set the thread counts of the
whole process, torch's included, and want every kernel compiled a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np

PARTS = 4
"""Parts per thread: a thread that is held up, by other work on its core, leaves the rest to the others."""


class Threads:
    """Threads for work on rows; with one thread all work is done by the caller."""

    def __init__(self, threads: int, begin: Callable[[], None] | None = None) -> None:
        """`threads` includes the calling one; every other one calls `begin` before its first work."""
        assert threads >= 1, f"expected at least one thread, got {threads}"
        self.count = threads
        self._pool = ThreadPoolExecutor(threads - 1, "rows", begin) if threads > 1 else None

    def each(self, work: Callable[[int, int], None], rows: int) -> None:
        """Call `work(start, stop)` on all parts of `rows`, each thread taking the next one left, and wait for all."""
        if self._pool is None or rows < self.count:
            work(0, rows)
            return
        parts, turns = min(rows, PARTS * self.count), count()
        bounds = np.linspace(0, rows, parts + 1).astype(int).tolist()

        def take() -> None:
            while (part := next(turns)) < parts:
                work(bounds[part], bounds[part + 1])

        others = [self._pool.submit(take) for _ in range(self.count - 1)]
        take()
        for other in others:
            if not other.cancel():  # one that has not begun has nothing left to do
                other.result()
