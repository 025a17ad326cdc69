"""The table of a game of at most nine squares: a row for every arrangement of discs, a value for every square.

The row index is in base three: digit i is 0 if square i is empty, 1 for a disc of the side to move, 2 for one of the
other side's.  Columns are actions; the pass has none.  Needs only numpy and numba.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE
from reversi.kernels.kernel import kernel

TABLE_SIZE = 3
"""Squares along one side of the largest board with a table."""

TABLE_SHAPE = (3 ** (TABLE_SIZE * TABLE_SIZE), TABLE_SIZE * TABLE_SIZE)
"""Positions and actions."""


def empty_table() -> NDArray[np.float32]:
    """Return f32[19683, 9] of zeros, the untrained table."""
    return np.zeros(TABLE_SHAPE, np.float32)


@kernel
def table_index(own: np.uint64, opp: np.uint64) -> int:
    """Return the row of a position on a board of 3 by 3, from 0 to 19682."""
    index = 0
    for square in range(TABLE_SIZE * TABLE_SIZE - 1, -1, -1):
        bit = np.uint64(8 * (square // TABLE_SIZE) + square % TABLE_SIZE)
        index = 3 * index + int((own >> bit) & ONE) + 2 * int((opp >> bit) & ONE)
    return index
