"""Discs that no move can turn any more: they bound the score of a position without a search.

A move turns discs only in a line that still has an empty square, and only a run of discs between two of the other side.
So a disc is stable if each of its four lines is full, or has the border or a stable disc of its own side next to it.
This is a lower bound: some discs are stable for reasons that are not looked at, on edges without a corner for example.
Source of the rule: Rosenbloom, "A World-Championship-Level Othello Program", Artificial Intelligence 19 (1982), on
internal stability.
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, popcount
from reversi.games.rules import GAMES, REVERSI8, Game
from reversi.kernel import bare_kernel

_BOARDS = [game for game in GAMES.values() if game.id <= REVERSI8]


def _ends(game: Game, row_step: int, col_step: int) -> int:
    """Return the squares that end a line in one direction: beyond them is the border, on one side at least."""
    last = game.size - 1
    rows, cols = (0, last) if row_step else (), (0, last) if col_step else ()
    return sum(1 << s for s in range(64) if game.board_mask >> s & 1 and (s // 8 in rows or s % 8 in cols))


_ROW_ENDS = np.array([_ends(game, 0, 1) for game in _BOARDS], np.uint64)  # [games]
_COLUMN_ENDS = np.array([_ends(game, 1, 0) for game in _BOARDS], np.uint64)  # [games]
_DIAGONAL_ENDS = np.array([_ends(game, 1, 1) for game in _BOARDS], np.uint64)  # [games]
_SQUARES = np.array([game.squares for game in _BOARDS], np.int64)  # [games]


@bare_kernel
def stable_discs(variant: int, own: np.uint64, empty: np.uint64) -> np.uint64:
    """Return discs among `own` that keep their colour whatever is played; some that do may be missing.

    empty  the board's empty squares
    Cost: 70 operations on masks, and 20 more for every ring of discs that others hold.
    """
    game = variant >> 1
    row = ~_row_mates(empty) | _ROW_ENDS[game]
    column = ~_column_mates(empty) | _COLUMN_ENDS[game]
    diagonal = ~_diagonal_mates(empty) | _DIAGONAL_ENDS[game]
    antidiagonal = ~_antidiagonal_mates(empty) | _DIAGONAL_ENDS[game]
    # A shift that wraps round a side puts a neighbour beside a square that ends the line, which needs none.
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
    """Return what the side to move can score at most: the stable discs of `opp` stay where they are.

    It holds for both scorings: who owns all other squares gets the empty ones, too.
    """
    return int(_SQUARES[variant >> 1]) - 2 * popcount(stable_discs(variant, opp, empty))


@bare_kernel
def _row_mates(mask: np.uint64) -> np.uint64:
    """Return the squares of all rows that hold one of the squares `mask`."""
    mask |= (mask >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    mask |= (mask >> np.uint64(2)) & np.uint64(0x3F3F3F3F3F3F3F3F)
    mask |= (mask >> ONE) & np.uint64(0x7F7F7F7F7F7F7F7F)
    return (mask & np.uint64(0x0101010101010101)) * np.uint64(0xFF)


@bare_kernel
def _column_mates(mask: np.uint64) -> np.uint64:
    """Return the squares of all columns that hold one of the squares `mask`."""
    mask |= (mask >> np.uint64(32)) | (mask << np.uint64(32))
    mask |= (mask >> np.uint64(16)) | (mask << np.uint64(16))
    return mask | (mask >> np.uint64(8)) | (mask << np.uint64(8))


@bare_kernel
def _diagonal_mates(mask: np.uint64) -> np.uint64:
    """Return the squares of all diagonals, a1 to h8 and its parallels, that hold one of the squares `mask`."""
    down = mask | ((mask << np.uint64(9)) & np.uint64(0xFEFEFEFEFEFEFEFE))
    down |= (down << np.uint64(18)) & np.uint64(0xFCFCFCFCFCFCFCFC)
    down |= (down << np.uint64(36)) & np.uint64(0xF0F0F0F0F0F0F0F0)
    up = mask | ((mask >> np.uint64(9)) & np.uint64(0x7F7F7F7F7F7F7F7F))
    up |= (up >> np.uint64(18)) & np.uint64(0x3F3F3F3F3F3F3F3F)
    return down | up | ((up >> np.uint64(36)) & np.uint64(0x0F0F0F0F0F0F0F0F))


@bare_kernel
def _antidiagonal_mates(mask: np.uint64) -> np.uint64:
    """Return the squares of all diagonals, h1 to a8 and its parallels, that hold one of the squares `mask`."""
    down = mask | ((mask << np.uint64(7)) & np.uint64(0x7F7F7F7F7F7F7F7F))
    down |= (down << np.uint64(14)) & np.uint64(0x3F3F3F3F3F3F3F3F)
    down |= (down << np.uint64(28)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    up = mask | ((mask >> np.uint64(7)) & np.uint64(0xFEFEFEFEFEFEFEFE))
    up |= (up >> np.uint64(14)) & np.uint64(0xFCFCFCFCFCFCFCFC)
    return down | up | ((up >> np.uint64(28)) & np.uint64(0xF0F0F0F0F0F0F0F0))
