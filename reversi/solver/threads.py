"""The exact solver on several threads, each with its own table, so that no result depends on another thread's table."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from reversi.kernels.threads import Threads
from reversi.solver.last import LIMIT
from reversi.solver.search import COUNTS
from reversi.solver.table import Table, make_table

CACHED_TABLE_BITS = 17
"""Size of a thread's table that fits the CPU caches: 3 MB, enough for positions that take thousands of nodes."""

Work = Callable[[int, int, Table, NDArray[np.int64]], None]
"""Solves a range of rows: called with start, stop, a table, and the `counts` that `search` takes."""


class SolverThreads:
    """Threads that solve rows of positions, each with its own table."""

    def __init__(self, threads: Threads, bits: int, limit: int) -> None:
        """A table has 2**bits slots; `limit` is written to LIMIT of the counts."""
        self._threads = threads
        self._idle: SimpleQueue[tuple[Table, NDArray[np.int64]]] = SimpleQueue()
        for _ in range(threads.count):
            counts = np.zeros(COUNTS, np.int64)
            counts[LIMIT] = limit
            self._idle.put((make_table(bits), counts))

    def each(self, work: Work, rows: int) -> None:
        """Call `work(start, stop, table, counts)` on every part of `rows` and wait until all are done."""

        def part(start: int, stop: int) -> None:
            table, counts = self._idle.get()
            try:
                work(start, stop, table, counts)
            finally:
                self._idle.put((table, counts))

        self._threads.each(part, rows)
