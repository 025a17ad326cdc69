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
from reversi.games.rng import random_index, scramble
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
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.kernels.stack_array import Int64Pointer, stack_array
from reversi.kernels.threads import Threads
from reversi.solver.last import add_key

DISC = 10_000
"""Weight of one disc in a finished game; above every evaluation."""

MOBILITY, CORNER, DIAGONAL, DISCS = 8, 60, -24, 1
"""Weights of a legal move, a corner, a square diagonally next to an empty corner, and a disc."""

_INFINITE = 65 * DISC

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


def alphabeta(game: Game, own: Masks, opp: Masks, depth: int, *, seed: int, threads: Threads) -> AlphaBetaResult:
    """Search B unfinished positions `depth` moves deep (from 1 to MAX_DEPTH).

    own, opp  uint64[B]

    Ties are broken at random by the seed and the position alone, so neither the batch nor the threads matter.
    """
    results = AlphaBetaResult(*np.zeros((2, len(own)), np.int32))

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        rows = AlphaBetaResult(results.action[part], results.score[part])
        choose_actions(game.id, own[part], opp[part], depth, np.uint64(seed), rows)

    threads.each(work, len(own))
    return results


@kernel
def choose_actions(game_id: int, own: Masks, opp: Masks, depth: int, seed: np.uint64, results: AlphaBetaResult) -> None:
    """Search B unfinished positions one after another and write their best actions and scores to `results`."""
    moves = stack_array()
    lowest, highest = int(np.int64(-_INFINITE)), int(np.int64(_INFINITE))  # no literals: see solver/last.py
    for b in range(own.shape[0]):
        legal = legal_moves(game_id, own[b], opp[b])
        if legal == ZERO:
            results.action[b] = pass_of(game_id)
            results.score[b] = -best_score(game_id, opp[b], own[b], depth, lowest, highest)
            continue
        chance = scramble(scramble(seed ^ own[b]) ^ opp[b])
        best, equals = lowest, 0
        for index in range(order_moves(game_id, own[b], opp[b], legal, moves)):
            action = action_of_entry(game_id, moves[index])
            after_own, after_opp = play(game_id, own[b], opp[b], action)
            # The window starts one below the best score, so that equal moves are told apart from worse ones.
            score = -best_score(game_id, after_own, after_opp, depth - 1, lowest, 1 - best)
            if score > best:
                best, equals = score, 1
                results.action[b] = action
            elif score == best:
                equals += 1
                if random_index(chance, index, equals) == 0:
                    results.action[b] = action
        results.score[b] = best


@kernel
def best_score(game_id: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int) -> int:
    """Return the score for the side to move; outside of alpha and beta it is a bound (fail-soft)."""
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        margin = outcome(game_id, own, opp)
        if margin != UNFINISHED:
            return DISC * margin
        return -best_score(game_id, opp, own, depth, -beta, -alpha)
    if depth == 0:
        return evaluation(game_id, own, opp, legal)
    moves = stack_array()
    count = order_moves(game_id, own, opp, legal, moves) if depth >= _SORTED_DEPTH else list_moves(legal, moves)
    best = -_INFINITE
    for index in range(count):
        action = action_of_entry(game_id, moves[index])
        after_own, after_opp = play(game_id, own, opp, action)
        best = max(best, -best_score(game_id, after_own, after_opp, depth - 1, -beta, -max(alpha, best)))
        if best >= beta:
            break
    return best


@bare_kernel
def list_moves(legal: np.uint64, moves: Int64Pointer) -> int:
    """Write the squares of the mask `legal`, negated, to `moves`, in ascending order; return their number."""
    count = 0
    while legal != ZERO:
        moves[count] = -lowest_square(legal)
        count += 1
        legal &= legal - ONE
    return count


@bare_kernel
def order_moves(game_id: int, own: np.uint64, opp: np.uint64, legal: np.uint64, moves: Int64Pointer) -> int:
    """Write the moves of the mask `legal` to `moves`, the most promising first; return their number.

    An entry is -(64 * replies + square); a corner counts as a move without replies.
    """
    count = 0
    while legal != ZERO:
        square = lowest_square(legal)
        after_own, after_opp = play(game_id, own, opp, action_of_square(game_id, square))
        replies = popcount(legal_moves(game_id, after_own, after_opp))
        if (_ALL_CORNERS[game_id] >> np.uint64(square)) & ONE:
            replies = 0
        add_key(moves, count, -(64 * replies + square))
        count += 1
        legal &= legal - ONE
    return count


@bare_kernel
def action_of_entry(game_id: int, entry: int) -> int:
    """Return the action of an entry of a list of moves."""
    return action_of_square(game_id, -entry & 63)


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
