"""Reversi and tic-tac-toe as a child would check them: a dict of squares, one step at a time.  Slow and obvious."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.rules import TICTACTOE, Game

Square = tuple[int, int]
Board = dict[Square, str]
"""Every square of the board by (row, column): "own", "opp" or "empty"."""

DIRECTIONS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def board_of(game: Game, own: int, opp: int) -> Board:
    board = {}
    for row in range(game.size):
        for col in range(game.size):
            bit = 1 << (8 * row + col)
            board[row, col] = "own" if int(own) & bit else "opp" if int(opp) & bit else "empty"
    return board


def masks_of(board: Board) -> tuple[int, int]:
    own = sum(1 << (8 * row + col) for (row, col), disc in board.items() if disc == "own")
    opp = sum(1 << (8 * row + col) for (row, col), disc in board.items() if disc == "opp")
    return own, opp


def turned(board: Board, square: Square) -> list[Square]:
    """The squares of the other side's discs that turn when the side to move plays on `square`."""
    found = []
    for row_step, col_step in DIRECTIONS:
        line = []
        row, col = square[0] + row_step, square[1] + col_step
        while board.get((row, col)) == "opp":
            line.append((row, col))
            row, col = row + row_step, col + col_step
        if board.get((row, col)) == "own":
            found += line
    return found


def has_three(board: Board, side: str) -> bool:
    lines = [[(i, j) for j in range(3)] for i in range(3)] + [[(j, i) for j in range(3)] for i in range(3)]
    lines += [[(i, i) for i in range(3)], [(i, 2 - i) for i in range(3)]]
    return any(all(board[square] == side for square in line) for line in lines)


def moves(game: Game, board: Board) -> list[Square]:
    empty = [square for square, disc in board.items() if disc == "empty"]
    if game.id == TICTACTOE:
        return [] if has_three(board, "own") or has_three(board, "opp") else empty
    return [square for square in empty if turned(board, square)]


def seen_by_the_other(board: Board) -> Board:
    other = {"own": "opp", "opp": "own", "empty": "empty"}
    return {square: other[disc] for square, disc in board.items()}


def played(game: Game, board: Board, square: Square | None) -> Board:
    """The board after a move (None: a pass), as the next side to move sees it."""
    after = dict(board)
    if square is not None:
        for each in [square] if game.id == TICTACTOE else [square, *turned(board, square)]:
            after[each] = "own"
    return seen_by_the_other(after)


def margin(game: Game, board: Board) -> int | None:
    """The finished game's margin for the side to move; None if it is not over."""
    if game.id == TICTACTOE:
        if has_three(board, "own") or has_three(board, "opp"):
            return int(has_three(board, "own")) - int(has_three(board, "opp"))
        return None if moves(game, board) else 0
    if moves(game, board) or moves(game, seen_by_the_other(board)):
        return None
    discs = list(board.values())
    return discs.count("own") - discs.count("opp")


def scattered(game: Game, count: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """`count` boards of discs thrown at random, from nearly empty to nearly full: far more lines than games reach."""
    rng = np.random.default_rng(seed)
    own, opp = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    for b in range(count):
        kinds = rng.random((game.size, game.size)) < rng.random()
        mine = rng.random((game.size, game.size)) < rng.uniform(0.2, 0.8)
        for row, col in np.argwhere(kinds):
            (own if mine[row, col] else opp)[b] |= np.uint64(1 << int(8 * row + col))
    return own, opp
