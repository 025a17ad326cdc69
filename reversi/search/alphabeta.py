"""Alpha-beta to a fixed depth with a plain evaluation: a player of known, even strength, and nothing learned.

Negamax with alpha-beta, moves ordered by what they leave the other side (fastest first) with corners before all.  The
depth counts discs put down, a pass costs nothing; a finished game is worth its exact margin, above every evaluation, so
a search as deep as there are empty squares plays perfectly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks, lowest_square, popcount
from reversi.games.rules import (
    GAMES,
    TICTACTOE,
    UNFINISHED,
    Game,
    action_of_square,
    legal_moves,
    outcome,
    play,
)
from reversi.kernel import bare_kernel, inlined_kernel, kernel
from reversi.search.chance import random_index, scramble
from reversi.search.parallel import Threads

MAX_DEPTH = 60
"""Every empty square of the largest board."""

DISC = 10_000
"""Worth of one disc of a finished game; every evaluation stays below it."""

MOBILITY, CORNER, DIAGONAL, DISCS = 8, 60, -24, 1
"""Worth of one legal move, a corner, a square diagonally next to an empty corner and a disc on the board."""

_INFINITE = 65 * DISC

_SQUARE = 127
"""The bits of an entry of a list of moves that are its square."""

_LONGEST = 2 * MAX_DEPTH + 2
"""Plies of the longest line: between two passes lies a move."""

_SORTED_DEPTH = 2
"""Depth from which moves are ordered; below it, ordering costs more than it saves."""


def _corner_table() -> tuple[Masks, Masks]:
    """Return uint64[games, 4] twice: each corner, and the square diagonally next to it; tic-tac-toe has none."""
    corner, diagonal = np.zeros((2, len(GAMES), 4), np.uint64)
    for game in GAMES.values():
        last = game.size - 1
        for number, (row, col) in enumerate(((0, 0), (0, last), (last, 0), (last, last))):
            if game.id != TICTACTOE:
                corner[game.id, number] = 1 << (8 * row + col)
                diagonal[game.id, number] = 1 << (8 * abs(row - 1) + abs(col - 1))
    return corner, diagonal


_CORNERS, _DIAGONALS = _corner_table()
_ALL_CORNERS = np.bitwise_or.reduce(_CORNERS, axis=1)  # uint64[games]


class Choices(NamedTuple):
    """What B searches found."""

    action: NDArray[np.int32]  # [B]  a best action
    score: NDArray[np.int32]  # [B]  its score for the side to move: `DISC` times the margin if the end was seen


class Line(NamedTuple):
    """The nodes from the one searched down to where the search is: a stack of its own.

    (A kernel that calls itself crashes when numba 0.68 takes it from its disk cache.)
    """

    own: Masks  # uint64[plies]  discs of the side to move
    opp: Masks  # uint64[plies]
    depth: NDArray[np.int64]  # [plies]  moves left to look ahead
    alpha: NDArray[np.int64]  # [plies]  the window at the node
    beta: NDArray[np.int64]  # [plies]
    best: NDArray[np.int64]  # [plies]  the highest score so far
    choices: NDArray[np.int64]  # [plies]  moves there are, 0 where the score is known
    tried: NDArray[np.int64]  # [plies]  how many of them were
    moves: NDArray[np.int64]  # [plies, 64]  as `order_moves` writes them


def alphabeta(game: Game, own: Masks, opp: Masks, depth: int, seed: int, threads: Threads | None = None) -> Choices:
    """Search B unfinished positions `depth` moves deep (from 1 to MAX_DEPTH).

    own, opp  uint64[B]

    Among equally good actions the seed and the position decide, so neither the batch nor the threads matter.
    """
    found = Choices(*np.zeros((2, len(own)), np.int32))

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        rows = Choices(found.action[part], found.score[part])
        choose_actions(game.id, own[part], opp[part], depth, np.uint64(seed), rows)

    (threads or Threads(1)).each(work, len(own))
    return found


@inlined_kernel
def make_line() -> Line:
    """Return room for the deepest search."""
    masks, numbers = np.empty((2, _LONGEST), np.uint64), np.empty((6, _LONGEST), np.int64)
    moves = np.empty((_LONGEST, 64), np.int64)
    return Line(masks[0], masks[1], numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], moves)


@kernel
def choose_actions(game_id: int, own: Masks, opp: Masks, depth: int, seed: np.uint64, found: Choices) -> None:
    """Search B unfinished positions one after another and write their best actions and scores to `found`."""
    line, moves = make_line(), np.empty((1, 64), np.int64)
    for b in range(own.shape[0]):
        legal = legal_moves(game_id, own[b], opp[b])
        if legal == ZERO:
            found.action[b] = action_of_square(game_id, 64)
            found.score[b] = -best_score(game_id, opp[b], own[b], depth, -_INFINITE, _INFINITE, line)
            continue
        chance = scramble(scramble(seed ^ own[b]) ^ opp[b])
        best, equals = -_INFINITE, 0
        for index in range(order_moves(game_id, own[b], opp[b], legal, moves, 0)):
            action = action_of_square(game_id, moves[0, index] & _SQUARE)
            after_own, after_opp = play(game_id, own[b], opp[b], action)
            # The window begins one below the best, so that equals are told apart from worse ones.
            score = -best_score(game_id, after_own, after_opp, depth - 1, -_INFINITE, 1 - best, line)
            if score > best:
                best, equals = score, 1
                found.action[b] = action
            elif score == best:
                equals += 1
                if random_index(chance, index, equals) == 0:
                    found.action[b] = action
        found.score[b] = best


@bare_kernel
def best_score(game_id: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int, line: Line) -> int:
    """Return the score for the side to move; one outside of alpha and beta is a bound (fail-soft).

    line  scratch
    """
    at = 0
    open_node(game_id, own, opp, depth, alpha, beta, line, at)
    while True:
        if line.tried[at] < line.choices[at] and line.best[at] < line.beta[at]:
            square = line.moves[at, line.tried[at]] & _SQUARE
            line.tried[at] += 1
            after_own, after_opp = play(game_id, line.own[at], line.opp[at], action_of_square(game_id, square))
            left = line.depth[at] if square == 64 else line.depth[at] - 1
            low, high = -line.beta[at], -max(line.alpha[at], line.best[at])
            at += 1
            open_node(game_id, after_own, after_opp, left, low, high, line, at)
        elif at == 0:
            return int(line.best[0])
        else:
            at -= 1
            line.best[at] = max(line.best[at], -line.best[at + 1])


@bare_kernel
def open_node(
    game_id: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int, line: Line, at: int
) -> None:
    """Write the node to row `at` of the line: with its moves, or with its score if it is a leaf."""
    line.own[at], line.opp[at], line.depth[at], line.alpha[at], line.beta[at] = own, opp, depth, alpha, beta
    line.best[at], line.choices[at], line.tried[at] = -_INFINITE, 0, 0
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        margin = outcome(game_id, own, opp)
        if margin != UNFINISHED:
            line.best[at] = DISC * margin
        else:
            line.moves[at, 0], line.choices[at] = 64, 1
    elif depth == 0:
        line.best[at] = evaluation(game_id, own, opp, legal)
    elif depth < _SORTED_DEPTH:
        while legal != ZERO:
            line.moves[at, line.choices[at]] = lowest_square(legal)
            line.choices[at] += 1
            legal &= legal - ONE
    else:
        line.choices[at] = order_moves(game_id, own, opp, legal, line.moves, at)


@bare_kernel
def order_moves(
    game_id: int, own: np.uint64, opp: np.uint64, legal: np.uint64, out: NDArray[np.int64], row: int
) -> int:
    """Write the moves of the mask `legal` to `out[row]`, promising ones first; return how many.

    out  int64[rows, 64]

    The low seven bits of an entry are the square (64 is a pass); those above, by which the entries are sorted, are the
    moves left to the other side, a corner counting as if it left none.
    """
    count = 0
    while legal != ZERO:
        square = lowest_square(legal)
        after_own, after_opp = play(game_id, own, opp, action_of_square(game_id, square))
        replies = popcount(legal_moves(game_id, after_own, after_opp))
        if (_ALL_CORNERS[game_id] >> np.uint64(square)) & ONE:
            replies = 0
        entry = (_SQUARE + 1) * replies + square
        place = count
        while place > 0 and out[row, place - 1] > entry:
            out[row, place] = out[row, place - 1]
            place -= 1
        out[row, place] = entry
        count += 1
        legal &= legal - ONE
    return count


@kernel
def evaluation(game_id: int, own: np.uint64, opp: np.uint64, legal: np.uint64) -> int:
    """Return what an unfinished position seems worth to the side to move, which may play the squares of `legal`."""
    score = MOBILITY * (popcount(legal) - popcount(legal_moves(game_id, opp, own)))
    score += DISCS * (popcount(own) - popcount(opp))
    for number in range(4):
        corner, diagonal = _CORNERS[game_id, number], _DIAGONALS[game_id, number]
        if own & corner:
            score += CORNER
        elif opp & corner:
            score -= CORNER
        elif own & diagonal:
            score += DIAGONAL
        elif opp & diagonal:
            score -= DIAGONAL
    return score
