"""The exact solver on several threads, each with a table of its own: no answer depends on what the others know."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from reversi.search.endgame_search import COUNTS, LIMIT
from reversi.search.endgame_table import Table, make_table
from reversi.search.parallel import Threads

Work = Callable[[int, int, Table, NDArray[np.int64]], None]
"""What is done with a range of rows, a table and the counts that `search` wants."""


class SolverThreads:
    """Threads with a table each; kernels that solve rows run on them."""

    def __init__(self, threads: Threads, bits: int, limit: int) -> None:
        """`limit` stands in the counts' LIMIT; a table has 2**bits slots."""
        self._threads = threads
        self._idle: SimpleQueue[tuple[Table, NDArray[np.int64]]] = SimpleQueue()
        for _ in range(threads.count):
            counts = np.zeros(COUNTS, np.int64)
            counts[LIMIT] = limit
            self._idle.put((make_table(bits), counts))

    def each(self, work: Work, rows: int) -> None:
        """Call `work(start, stop, table, counts)` on all parts of `rows` and wait for all."""

        def part(start: int, stop: int) -> None:
            table, counts = self._idle.get()
            try:
                work(start, stop, table, counts)
            finally:
                self._idle.put((table, counts))

        self._threads.each(part, rows)
