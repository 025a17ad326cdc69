"""Alpha-beta to a fixed depth with a plain, hand-made evaluation: a player of fixed strength.

Negamax with alpha-beta; moves are ordered by the number of replies they leave (fastest first), corners before all
others.  The depth counts discs placed; passes are free.  A finished game scores its exact margin, which outweighs every
evaluation, so a search as deep as the number of empty squares plays perfectly.
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
    pass_of,
    play,
)
from reversi.kernel import bare_kernel, inlined_kernel, kernel
from reversi.search.chance import random_index, scramble
from reversi.search.parallel import Threads

MAX_DEPTH = 60
"""Every empty square of the largest board."""

DISC = 10_000
"""Weight of one disc in a finished game; above every evaluation."""

MOBILITY, CORNER, DIAGONAL, DISCS = 8, 60, -24, 1
"""Weights of a legal move, a corner, a square diagonally next to an empty corner, and a disc."""

_INFINITE = 65 * DISC

_SQUARE = 127
"""Mask of the square in an entry of a move list."""

_LONGEST = 2 * MAX_DEPTH + 2
"""Maximum plies of a line: there is a move between any two passes."""

_SORTED_DEPTH = 2
"""Minimum depth at which moves are ordered; below it, ordering costs more than it saves."""


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


class AlphaBetaResult(NamedTuple):
    """The results of B searches."""

    action: NDArray[np.int32]  # [B]  a best action
    score: NDArray[np.int32]  # [B]  its score for the side to move: `DISC` times the margin if the line reached the end


class SearchStack(NamedTuple):
    """The explicit stack of the search: the nodes from the root to the current one.

    (A recursive kernel crashes when numba 0.68 loads it from its disk cache.)
    """

    own: Masks  # uint64[plies]  discs of the side to move
    opp: Masks  # uint64[plies]
    depth: NDArray[np.int64]  # [plies]  moves left to look ahead
    alpha: NDArray[np.int64]  # [plies]  the window at the node
    beta: NDArray[np.int64]  # [plies]
    best: NDArray[np.int64]  # [plies]  the highest score so far
    choices: NDArray[np.int64]  # [plies]  number of moves, 0 where the score is known
    tried: NDArray[np.int64]  # [plies]  number of moves already searched
    moves: NDArray[np.int64]  # [plies, 64]  as `order_moves` writes them


def alphabeta(game: Game, own: Masks, opp: Masks, depth: int, seed: int, threads: Threads) -> AlphaBetaResult:
    """Search B unfinished positions `depth` moves deep (from 1 to MAX_DEPTH).

    own, opp  uint64[B]

    Ties are broken at random by the seed and the position alone, so neither the batch nor the threads matter.
    """
    found = AlphaBetaResult(*np.zeros((2, len(own)), np.int32))

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        rows = AlphaBetaResult(found.action[part], found.score[part])
        choose_actions(game.id, own[part], opp[part], depth, np.uint64(seed), rows)

    threads.each(work, len(own))
    return found


@inlined_kernel
def make_stack() -> SearchStack:
    """Allocate a stack for the deepest search."""
    masks, numbers = np.empty((2, _LONGEST), np.uint64), np.empty((6, _LONGEST), np.int64)
    moves = np.empty((_LONGEST, 64), np.int64)
    return SearchStack(
        masks[0], masks[1], numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], moves
    )


@kernel
def choose_actions(game_id: int, own: Masks, opp: Masks, depth: int, seed: np.uint64, found: AlphaBetaResult) -> None:
    """Search B unfinished positions one after another and write their best actions and scores to `found`."""
    stack, moves = make_stack(), np.empty((1, 64), np.int64)
    for b in range(own.shape[0]):
        legal = legal_moves(game_id, own[b], opp[b])
        if legal == ZERO:
            found.action[b] = pass_of(game_id)
            found.score[b] = -best_score(game_id, opp[b], own[b], depth, -_INFINITE, _INFINITE, stack)
            continue
        chance = scramble(scramble(seed ^ own[b]) ^ opp[b])
        best, equals = -_INFINITE, 0
        for index in range(order_moves(game_id, own[b], opp[b], legal, moves, 0)):
            action = action_of_square(game_id, moves[0, index] & _SQUARE)
            after_own, after_opp = play(game_id, own[b], opp[b], action)
            # The window starts one below the best score, so that equal moves are told apart from worse ones.
            score = -best_score(game_id, after_own, after_opp, depth - 1, -_INFINITE, 1 - best, stack)
            if score > best:
                best, equals = score, 1
                found.action[b] = action
            elif score == best:
                equals += 1
                if random_index(chance, index, equals) == 0:
                    found.action[b] = action
        found.score[b] = best


@bare_kernel
def best_score(
    game_id: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int, stack: SearchStack
) -> int:
    """Return the score for the side to move; outside of alpha and beta it is a bound (fail-soft).

    stack  scratch
    """
    at = 0
    open_node(game_id, own, opp, depth, alpha, beta, stack, at)
    while True:
        if stack.tried[at] < stack.choices[at] and stack.best[at] < stack.beta[at]:
            square = stack.moves[at, stack.tried[at]] & _SQUARE
            stack.tried[at] += 1
            after_own, after_opp = play(game_id, stack.own[at], stack.opp[at], action_of_square(game_id, square))
            left = stack.depth[at] if square == 64 else stack.depth[at] - 1
            low, high = -stack.beta[at], -max(stack.alpha[at], stack.best[at])
            at += 1
            open_node(game_id, after_own, after_opp, left, low, high, stack, at)
        elif at == 0:
            return int(stack.best[0])
        else:
            at -= 1
            stack.best[at] = max(stack.best[at], -stack.best[at + 1])


@bare_kernel
def open_node(
    game_id: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int, stack: SearchStack, at: int
) -> None:
    """Write a node to row `at` of the stack: its moves, or its score if it is a leaf."""
    stack.own[at], stack.opp[at], stack.depth[at], stack.alpha[at], stack.beta[at] = own, opp, depth, alpha, beta
    stack.best[at], stack.choices[at], stack.tried[at] = -_INFINITE, 0, 0
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        margin = outcome(game_id, own, opp)
        if margin != UNFINISHED:
            stack.best[at] = DISC * margin
        else:
            stack.moves[at, 0], stack.choices[at] = 64, 1
    elif depth == 0:
        stack.best[at] = evaluation(game_id, own, opp, legal)
    elif depth < _SORTED_DEPTH:
        while legal != ZERO:
            stack.moves[at, stack.choices[at]] = lowest_square(legal)
            stack.choices[at] += 1
            legal &= legal - ONE
    else:
        stack.choices[at] = order_moves(game_id, own, opp, legal, stack.moves, at)


@bare_kernel
def order_moves(
    game_id: int, own: np.uint64, opp: np.uint64, legal: np.uint64, out: NDArray[np.int64], row: int
) -> int:
    """Write the moves of the mask `legal` to `out[row]`, the most promising first; return their number.

    out  int64[rows, 64]

    The low seven bits of an entry are the square (64 is a pass).  The bits above are the sort key: the number of
    replies, or 0 for a corner.
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
    """Return the evaluation of an unfinished position for the side to move, whose legal squares are `legal`."""
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
