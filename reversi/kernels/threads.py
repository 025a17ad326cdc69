"""Kernels on several threads: a range of rows is cut into parts, which the threads take one after the other; and a call
that ends a running kernel in time.

Kernels release the GIL, so plain threads are enough; numba's parallel loops would set the thread counts of the whole
process, torch's included, and compile every kernel a second time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import numpy as np

PARTS = 4
"""Parts per thread: if other work on its core slows a thread down, the other threads take more parts."""


class Threads:
    """A thread pool for work on rows; with one thread the caller does all work."""

    def __init__(self, threads: int, begin: Callable[[], None] | None = None) -> None:
        """`threads` includes the calling thread; every other thread calls `begin` before its first work."""
        assert threads >= 1, f"expected at least one thread, got {threads}"
        self.count = threads
        self._pool = ThreadPoolExecutor(threads - 1, "rows", begin) if threads > 1 else None

    def each(self, work: Callable[[int, int], None], rows: int) -> None:
        """Call `work(start, stop)` on all parts of `rows`, each thread taking the next free part, and wait for all."""
        if self._pool is None or rows <= 1:
            work(0, rows)
            return
        parts, turns = min(rows, PARTS * self.count), count()
        bounds = np.linspace(0, rows, parts + 1).astype(int).tolist()

        def take() -> None:
            while (part := next(turns)) < parts:
                work(bounds[part], bounds[part + 1])

        others = [self._pool.submit(take) for _ in range(min(self.count, parts) - 1)]
        take()
        for other in others:
            if not other.cancel():  # a task that has not started would find no part left
                other.result()


@contextmanager
def called_after(seconds: float | None, call: Callable[[], None]) -> Iterator[None]:
    """Call `call` from another thread once the time is up, None for never; kernels release the GIL, so it runs at once.

    It does not run after the block.
    """
    if seconds is None:
        yield
        return
    timer = threading.Timer(max(seconds, 0.0), call)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a timer about to call must not stop what comes next
