"""The exact solver's search while many squares are empty: negamax with a table, null windows and ordered moves.

Principal variation search: the first move gets the full window, each other one a null window that shows whether it is
better, and a second search if it is.  A window above the bound that the opponent's stable discs imply is not searched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks, flips, lowest_square, popcount, reachable
from reversi.games.rules import action_of_square, legal_moves, play
from reversi.kernels.kernel import bare_kernel, inlined_kernel, kernel
from reversi.kernels.stack_array import Int64Pointer, pointer_to, stack_array
from reversi.solver.last import (
    BELOW_EVERY_SCORE,
    EVALUATION_COUNT,
    GENERATION,
    LIMIT,
    NODE_COUNT,
    STOP,
    by_fastest_first,
    final_score,
    odd_quadrants,
)
from reversi.solver.order import order_moves
from reversi.solver.stable import stable_bound
from reversi.solver.table import ABSENT, Table, find, store
from reversi.solver.variant import empty_squares, game_of

COUNTS = EVALUATION_COUNT + 1
"""Length of `counts`."""

WORST, BEST = -64, 64
"""The range of every score."""

TABLELESS = 8
"""Up to this many empty squares a table costs more time than it saves."""

ETC_FROM = 12
"""From this many empty squares on, the positions after all moves are looked up before one is searched ("enhanced
transposition cut-off")."""

SLOTS_FROM = 1
"""log2 of the slots used is the number of empty squares minus this, so that an easy position's table fits the CPU
caches."""

NO_SCORE = -128
"""Marks an action that is illegal or was not solved, in place of its score."""


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
    counts_array  int64[COUNTS]  reads LIMIT, STOP and GENERATION; adds to NODE_COUNT and EVALUATION_COUNT;
                  sets STOP at the limit
    scores        int8[65]       written by square, the pass last: exact between alpha and beta, else a bound;
                                 NO_SCORE for all others

    Once stopped, only moves scored before have scores, and the returned square must not be used.
    """
    counts = pointer_to(counts_array)
    scores[:] = NO_SCORE
    empty = empty_squares(variant, own, opp)
    table = table_part(table, popcount(empty))
    legal = reachable(own, opp) & empty
    counts[NODE_COUNT] += 1
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return -1
        score = -search(variant, opp, own, -beta, -alpha, table, counts)
        if counts[STOP] == 0:
            scores[64] = score
        return 64
    keys = stack_array()
    count = order_moves(variant, own, opp, empty, legal, -1, keys, counts)
    best, best_square, low = BELOW_EVERY_SCORE, -1, alpha
    for i in range(count):
        square = keys[i] & 63
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
        counts[NODE_COUNT] += 1
        better = every or i == 0 or -search(variant, next_own, next_opp, -low - 1, -low, table, counts) > low
        score = -search(variant, next_own, next_opp, -beta, -low, table, counts) if better else BELOW_EVERY_SCORE
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


@inlined_kernel
def table_part(table: Table, empties: int) -> Table:
    """Return the part of a table that the solve of a position with so many empty squares uses."""
    return table[: min(table.shape[0], 1 << max(empties - SLOTS_FROM, 1))]


@kernel
def search(
    variant: int, own: np.uint64, opp: np.uint64, alpha: int, beta: int, table: Table, counts: Int64Pointer
) -> int:
    """Return the score of a position, fail-soft: exact between alpha and beta, else a bound; arbitrary once stopped.

    table, counts  as for `solve_root`
    """
    empty = empty_squares(variant, own, opp)
    if popcount(empty) <= TABLELESS:
        return by_fastest_first(variant, own, opp, empty, odd_quadrants(variant, empty), alpha, beta, counts)
    if counts[NODE_COUNT] >= counts[LIMIT]:
        counts[STOP] = 1
    if counts[STOP] != 0:
        return 0
    legal = reachable(own, opp) & empty
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return final_score(variant, own, opp)
        counts[NODE_COUNT] += 1
        return -search(variant, opp, own, -beta, -alpha, table, counts)
    if alpha >= popcount(empty):
        most = stable_bound(variant, opp, empty)
        if most <= alpha:
            return most
    generation, before = counts[GENERATION], counts[NODE_COUNT]
    lower, upper, hint = WORST, BEST, -1
    known = find(table, generation, own, opp)
    if known != ABSENT:
        lower, upper, hint = int(table[known].lower), int(table[known].upper), int(table[known].best)
        if lower >= beta or lower == upper:
            return lower
        if upper <= alpha:
            return upper
        alpha, beta = max(alpha, lower), min(beta, upper)
    if popcount(empty) >= ETC_FROM:
        bound = _known_bound(own, opp, legal, beta, table, generation)
        if bound >= beta:
            return bound
    keys = stack_array()
    count = order_moves(variant, own, opp, empty, legal, hint, keys, counts)
    best, low = BELOW_EVERY_SCORE, alpha
    for i in range(count):
        square = keys[i] & 63
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
        counts[NODE_COUNT] += 1
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
    store(table, generation, own, opp, lower, upper, hint, counts[NODE_COUNT] - before)
    return best


@bare_kernel
def _known_bound(own: np.uint64, opp: np.uint64, legal: np.uint64, beta: int, table: Table, generation: int) -> int:
    """Return a lower bound of the score from the table if it reaches `beta`, else BELOW_EVERY_SCORE."""
    while legal != ZERO:
        square = lowest_square(legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        known = find(table, generation, opp ^ turned, own | turned | disc)
        if known != ABSENT and -int(table[known].upper) >= beta:
            return -int(table[known].upper)
        legal ^= disc
    return BELOW_EVERY_SCORE


@bare_kernel
def moves_reaching(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    least: int,
    known: np.uint64,
    table: Table,
    counts: Int64Pointer,
) -> np.uint64:
    """Return the actions, as bits, after which perfect play ends with a score of `least` or more: a null window each.

    known  actions already known to reach it; they are included without a search

    There must be a legal square.  If `counts[STOP]` is set on return, a limit stopped the search and the result is
    meaningless.
    """
    game_id = game_of(variant)
    legal, reaching = legal_moves(game_id, own, opp), known
    while legal != ZERO and counts[STOP] == 0:
        action = action_of_square(game_id, lowest_square(legal))
        legal &= legal - ONE
        bit = ONE << np.uint64(action)
        most = WORST  # that the other side can still get
        if least > WORST and known & bit == ZERO:
            own_next, opp_next = play(game_id, own, opp, action)
            most = search(variant, own_next, opp_next, int(np.int64(-least)), int(np.int64(1 - least)), table, counts)
        if most <= -least:
            reaching |= bit
    return reaching


@kernel
def solve_rows(
    variant: int,
    own: Masks,
    opp: Masks,
    table: Table,
    counts: NDArray[np.int64],
    scores: NDArray[np.int8],
) -> None:
    """Score every move of B positions.

    own, opp  uint64[B]
    counts    int64[COUNTS]  GENERATION increases by B; if STOP is set on return, a limit was reached, and rows from
                             there on are not written
    scores    int8[B, A]     written: NO_SCORE at illegal actions
    """
    by_square = np.empty(65, np.int8)
    for b in range(own.shape[0]):
        counts[GENERATION] += 1
        counts[NODE_COUNT] = counts[EVALUATION_COUNT] = counts[STOP] = 0
        solve_root(variant, own[b], opp[b], int(np.int64(WORST)), int(np.int64(BEST)), True, table, counts, by_square)
        if counts[STOP] != 0:
            return
        scores[b] = NO_SCORE
        for square in range(65):
            if by_square[square] != NO_SCORE:
                scores[b, action_of_square(game_of(variant), square)] = by_square[square]
