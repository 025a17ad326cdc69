"""The exact solver's search while many squares are empty: negamax with a table, null windows and ordered moves.

Principal variation search: the first move gets the whole window, the others are only shown not to be better, by a
window between two neighbouring scores, and searched again if they are.  A window above all that the other side's stable
discs leave is not searched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks, flips, lowest_square, popcount, reachable
from reversi.games.rules import action_of_square
from reversi.kernel import bare_kernel, kernel
from reversi.search.endgame_last import (
    LIMIT,
    NO_MOVE,
    NODES,
    ROUND,
    STOP,
    empty_squares,
    final_score,
    last_many,
    odd_quadrants,
)
from reversi.search.endgame_order import order_moves
from reversi.search.endgame_stable import stable_bound
from reversi.search.endgame_table import ABSENT, Table, find, keep
from reversi.search.stack import Numbers, numbers_of, stack_numbers

__all__ = ["BEST", "COUNTS", "LIMIT", "NO_SCORE", "ROUND", "STOP", "WORST", "search", "solve_root", "solve_rows"]

COUNTS = ROUND + 1
"""Length of `counts`."""

WORST, BEST = -64, 64
"""Bounds of every score."""

LAST = 8
"""Empty squares up to which a table costs more time than it saves."""

PEEKED_FROM = 12
"""Empty squares from which the positions after all moves are looked up before one is searched ("enhanced
transposition cut-off")."""

SLOTS_FROM = 1
"""Empty squares that have one slot of the table, with twice as many for every further one: an easy position should stay
in the caches."""

NO_SCORE = -128
"""Stands where an action's score would, if the action is illegal or was not solved."""


@kernel
def solve_root(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    alpha: int,
    beta: int,
    every: bool,
    table: Table,
    counts_array: NDArray[np.int64],
    scores: NDArray[np.int8],
) -> int:
    """Score the moves of a position and return the square of the best one, 64 for a pass, -1 for a finished game.

    every         score all moves; otherwise only the best one, which takes a fraction of the time
    counts_array  int64[COUNTS]  LIMIT, STOP and ROUND are read; NODES is raised; STOP is set at the limit
    scores        int8[65]       written by square, the pass last: exact between alpha and beta, else a bound;
                                 NO_SCORE for all others

    Once stopped only the moves scored before have a score, and the one returned is none to rely on.
    """
    counts = numbers_of(counts_array)
    scores[:] = NO_SCORE
    empty = empty_squares(variant, own, opp)
    table = table[: min(table.shape[0], 1 << max(popcount(empty) - SLOTS_FROM, 1))]
    legal = reachable(own, opp) & empty
    counts[NODES] += 1
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return -1
        score = -search(variant, opp, own, -beta, -alpha, table, counts)
        if counts[STOP] == 0:
            scores[64] = score
        return 64
    keys = stack_numbers()
    count = order_moves(variant, own, opp, empty, legal, -1, keys, counts)
    best, best_square, low = NO_MOVE, -1, alpha
    for i in range(count):
        square = keys[i] & 63
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
        counts[NODES] += 1
        better = every or i == 0 or -search(variant, next_own, next_opp, -low - 1, -low, table, counts) > low
        score = -search(variant, next_own, next_opp, -beta, -low, table, counts) if better else NO_MOVE
        if counts[STOP] != 0:
            break
        if every:
            scores[square] = score
        if score > best:
            best, best_square = score, square
            if not every:
                scores[:] = NO_SCORE
                scores[square] = score
                if best >= beta:
                    break
                low = max(low, best)
    return best_square


@kernel
def search(variant: int, own: np.uint64, opp: np.uint64, alpha: int, beta: int, table: Table, counts: Numbers) -> int:
    """Return the score of a position, fail-soft: exact between alpha and beta, else a bound; anything once stopped.

    table, counts  as for `solve_root`
    """
    empty = empty_squares(variant, own, opp)
    if popcount(empty) <= LAST:
        return last_many(variant, own, opp, empty, odd_quadrants(variant, empty), alpha, beta, counts)
    if counts[NODES] >= counts[LIMIT]:
        counts[STOP] = 1
    if counts[STOP] != 0:
        return 0
    legal = reachable(own, opp) & empty
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return final_score(variant, own, opp)
        counts[NODES] += 1
        return -search(variant, opp, own, -beta, -alpha, table, counts)
    if alpha >= popcount(empty):
        most = stable_bound(variant, opp, empty)
        if most <= alpha:
            return most
    number, before = counts[ROUND], counts[NODES]
    lower, upper, hint = WORST, BEST, -1
    known = find(table, number, own, opp)
    if known != ABSENT:
        lower, upper, hint = int(table[known].lower), int(table[known].upper), int(table[known].best)
        if lower >= beta or lower == upper:
            return lower
        if upper <= alpha:
            return upper
        alpha, beta = max(alpha, lower), min(beta, upper)
    if popcount(empty) >= PEEKED_FROM:
        bound = _known_bound(own, opp, legal, beta, table, number)
        if bound >= beta:
            return bound
    keys = stack_numbers()
    count = order_moves(variant, own, opp, empty, legal, hint, keys, counts)
    best, low = NO_MOVE, alpha
    for i in range(count):
        square = keys[i] & 63
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
        counts[NODES] += 1
        if i == 0:
            score = -search(variant, next_own, next_opp, -beta, -low, table, counts)
        else:
            score = -search(variant, next_own, next_opp, -low - 1, -low, table, counts)
            if low < score < beta and counts[STOP] == 0:
                score = -search(variant, next_own, next_opp, -beta, -score, table, counts)
        if counts[STOP] != 0:
            return 0
        if score > best:
            best, hint = score, square
            if best >= beta:
                break
            low = max(low, best)
    if best > alpha:
        lower = best
    if best < beta:
        upper = best
    keep(table, number, own, opp, lower, upper, hint, counts[NODES] - before)
    return best


@bare_kernel
def _known_bound(own: np.uint64, opp: np.uint64, legal: np.uint64, beta: int, table: Table, number: int) -> int:
    """Return a lower bound of the score that reaches `beta` and is known from the table, or NO_MOVE."""
    while legal != ZERO:
        square = lowest_square(legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        known = find(table, number, opp ^ turned, own | turned | disc)
        if known != ABSENT and -int(table[known].upper) >= beta:
            return -int(table[known].upper)
        legal ^= disc
    return NO_MOVE


@kernel
def solve_rows(
    variant: int,
    own: Masks,
    opp: Masks,
    table: Table,
    counts: NDArray[np.int64],
    scores: NDArray[np.int8],
    solved: NDArray[np.bool_],
) -> None:
    """Score every move of B positions.

    own, opp  uint64[B]
    counts    int64[COUNTS]  LIMIT is for each of them; ROUND is raised by B
    scores    int8[B, A]     written: NO_SCORE at illegal actions and throughout positions that hit the limit
    solved    bool[B]        written: whether the limit was enough
    """
    by_square = np.empty(65, np.int8)
    for b in range(own.shape[0]):
        counts[ROUND] += 1
        counts[NODES] = counts[STOP] = 0
        solve_root(variant, own[b], opp[b], int(np.int64(WORST)), int(np.int64(BEST)), True, table, counts, by_square)
        solved[b] = counts[STOP] == 0
        scores[b] = NO_SCORE
        for square in range(65):
            if solved[b] and by_square[square] != NO_SCORE:
                scores[b, action_of_square(variant >> 1, square)] = by_square[square]
