"""The variant of a solve, one integer: a Reversi board, and who gets the squares left empty at the end."""

from __future__ import annotations

import numpy as np

from reversi.games.rules import GAMES, REVERSI8, Game
from reversi.kernels.kernel import bare_kernel

BOARDS = [game for game in GAMES.values() if game.id <= REVERSI8]
"""The games that have a solver, by their ids."""


def _corners(game: Game) -> int:
    last = game.size - 1
    return sum(1 << (8 * row + col) for row in (0, last) for col in (0, last))


_BOARD = np.array([game.board_mask for game in BOARDS], np.uint64)  # [games]
_CORNERS = np.array([_corners(game) for game in BOARDS], np.uint64)  # [games]


@bare_kernel
def variant_of(game_id: int, winner_takes_empties: bool) -> int:
    """Return one integer for a Reversi board and its scoring: squares left empty go to nobody or to the winner.

    The best move can depend on the scoring, so every kernel that may end a game needs it.
    """
    return int(np.int64(2 * game_id + int(winner_takes_empties)))


@bare_kernel
def game_of(variant: int) -> int:
    """Return the id of the board."""
    return int(np.int64(variant >> 1))


@bare_kernel
def empty_squares(variant: int, own: np.uint64, opp: np.uint64) -> np.uint64:
    """Return the board's empty squares."""
    return ~(own | opp) & np.uint64(_BOARD[game_of(variant)])


@bare_kernel
def corners_of(variant: int) -> np.uint64:
    """Return the board's corners."""
    return np.uint64(_CORNERS[game_of(variant)])
