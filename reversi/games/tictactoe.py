"""Tic-tac-toe: the three scalar functions that define a game for the search.

The 3x3 board is the top-left part of the 8x8 layout, as for small Reversi boards.  There is no pass.
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO
from reversi.kernels.kernel import kernel

BOARD = np.uint64(0x070707)
_LEFT_COLUMN = np.uint64(0x010101)
_TOP_ROW = np.uint64(0x07)
_DIAGONAL = np.uint64(0x040201)
_ANTIDIAGONAL = np.uint64(0x010204)


@kernel
def has_line(discs: np.uint64) -> bool:
    """Return whether `discs` contains three in a row."""
    rows = discs & (discs >> ONE) & (discs >> np.uint64(2)) & _LEFT_COLUMN
    columns = discs & (discs >> np.uint64(8)) & (discs >> np.uint64(16)) & _TOP_ROW
    diagonals = (discs & _DIAGONAL) == _DIAGONAL or (discs & _ANTIDIAGONAL) == _ANTIDIAGONAL
    return bool((rows | columns) != ZERO or diagonals)


@kernel
def legal_moves(own: np.uint64, opp: np.uint64) -> np.uint64:
    """Return the empty squares; 0 if a side has three in a row or the board is full."""
    if has_line(opp) or has_line(own):
        return ZERO
    return BOARD & ~(own | opp)


@kernel
def outcome(own: np.uint64, opp: np.uint64, unfinished: int) -> int:
    """Return -1 if the other side has three in a row, +1 if the side to move has, 0 for a draw, else `unfinished`."""
    result = int(has_line(own)) - int(has_line(opp))
    return result if result != 0 or legal_moves(own, opp) == ZERO else unfinished
