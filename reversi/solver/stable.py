"""Stable discs, which no later move can flip: they bound the score of a position without a search.

A move flips discs only along a line that still has an empty square, and only a run of discs between two of the other
side.  So a disc is stable if each of its four lines is full, or has the border or a stable disc of its own side next to
it.  The rule misses some stable discs, for example on edges without a corner, so the result is a lower bound.
Source: Rosenbloom, "A World-Championship-Level Othello Program", Artificial Intelligence 19 (1982), on internal
stability.
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, popcount
from reversi.games.rules import Game
from reversi.kernels.kernel import bare_kernel
from reversi.solver.variant import BOARDS, game_of


def _ends(game: Game, row_step: int, col_step: int) -> int:
    """Return the end squares of the lines in one direction: those with the border on at least one side."""
    last = game.size - 1
    rows, cols = (0, last) if row_step else (), (0, last) if col_step else ()
    return sum(1 << s for s in range(64) if game.board_mask >> s & 1 and (s // 8 in rows or s % 8 in cols))


_ROW_ENDS = np.array([_ends(game, 0, 1) for game in BOARDS], np.uint64)  # [games]
_COLUMN_ENDS = np.array([_ends(game, 1, 0) for game in BOARDS], np.uint64)  # [games]
_DIAGONAL_ENDS = np.array([_ends(game, 1, 1) for game in BOARDS], np.uint64)  # [games]
_SQUARES = np.array([game.squares for game in BOARDS], np.int64)  # [games]


@bare_kernel
def stable_discs(variant: int, own: np.uint64, empty: np.uint64) -> np.uint64:
    """Return discs among `own` that are stable by the module's rule.

    empty  the board's empty squares
    Cost: 70 mask operations, and 20 for each further pass, which extends the stable discs by one ring.
    """
    game = game_of(variant)
    row = ~_rows_of(empty) | _ROW_ENDS[game]
    column = ~_columns_of(empty) | _COLUMN_ENDS[game]
    diagonal = ~_diagonals_of(empty) | _DIAGONAL_ENDS[game]
    antidiagonal = ~_antidiagonals_of(empty) | _DIAGONAL_ENDS[game]
    # A shift may wrap round the board, but only onto a square that ends the line and so is stable along it anyway.
    stable, before = np.uint64(own & row & column & diagonal & antidiagonal), ZERO
    while stable != before:
        before = stable
        stable = (
            own
            & (row | (stable << ONE) | (stable >> ONE))
            & (column | (stable << np.uint64(8)) | (stable >> np.uint64(8)))
            & (diagonal | (stable << np.uint64(9)) | (stable >> np.uint64(9)))
            & (antidiagonal | (stable << np.uint64(7)) | (stable >> np.uint64(7)))
        )
    return stable


@bare_kernel
def stable_bound(variant: int, opp: np.uint64, empty: np.uint64) -> int:
    """Return an upper bound of the score of the side to move: it can take all squares but the stable discs of `opp`.

    The bound holds for both scorings, since it already counts every empty square for the side to move.
    """
    return int(_SQUARES[game_of(variant)]) - 2 * popcount(stable_discs(variant, opp, empty))


@bare_kernel
def _rows_of(mask: np.uint64) -> np.uint64:
    """Return all squares of the rows that contain a square of `mask`."""
    mask |= (mask >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    mask |= (mask >> np.uint64(2)) & np.uint64(0x3F3F3F3F3F3F3F3F)
    mask |= (mask >> ONE) & np.uint64(0x7F7F7F7F7F7F7F7F)
    return (mask & np.uint64(0x0101010101010101)) * np.uint64(0xFF)


@bare_kernel
def _columns_of(mask: np.uint64) -> np.uint64:
    """Return all squares of the columns that contain a square of `mask`."""
    mask |= (mask >> np.uint64(32)) | (mask << np.uint64(32))
    mask |= (mask >> np.uint64(16)) | (mask << np.uint64(16))
    return mask | (mask >> np.uint64(8)) | (mask << np.uint64(8))


@bare_kernel
def _diagonals_of(mask: np.uint64) -> np.uint64:
    """Return all squares of the diagonals (a1-h8 and its parallels) that contain a square of `mask`."""
    down = mask | ((mask << np.uint64(9)) & np.uint64(0xFEFEFEFEFEFEFEFE))
    down |= (down << np.uint64(18)) & np.uint64(0xFCFCFCFCFCFCFCFC)
    down |= (down << np.uint64(36)) & np.uint64(0xF0F0F0F0F0F0F0F0)
    up = mask | ((mask >> np.uint64(9)) & np.uint64(0x7F7F7F7F7F7F7F7F))
    up |= (up >> np.uint64(18)) & np.uint64(0x3F3F3F3F3F3F3F3F)
    return down | up | ((up >> np.uint64(36)) & np.uint64(0x0F0F0F0F0F0F0F0F))


@bare_kernel
def _antidiagonals_of(mask: np.uint64) -> np.uint64:
    """Return all squares of the antidiagonals (h1-a8 and its parallels) that contain a square of `mask`."""
    down = mask | ((mask << np.uint64(7)) & np.uint64(0x7F7F7F7F7F7F7F7F))
    down |= (down << np.uint64(14)) & np.uint64(0x3F3F3F3F3F3F3F3F)
    down |= (down << np.uint64(28)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    up = mask | ((mask >> np.uint64(7)) & np.uint64(0xFEFEFEFEFEFEFEFE))
    up |= (up >> np.uint64(14)) & np.uint64(0xFCFCFCFCFCFCFCFC)
    return down | up | ((up >> np.uint64(28)) & np.uint64(0xF0F0F0F0F0F0F0F0))
