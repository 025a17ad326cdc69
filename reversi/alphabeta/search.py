"""Alpha-beta as kernels: principal variation search with null windows, fail-soft, over the margins of pattern tables.

The depth counts discs placed; passes are free.  So in one search from an empty table a position has one depth, however
it was reached, and the table changes the time of a search and not its value.  A position with few empty squares is
solved exactly at any depth.  A value is in 1/64 disc for the side to move, an exact one 64 times the margin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.alphabeta.table import ValueTable, find_value, store_value
from reversi.games.bitboard import ONE, ZERO, flips, lowest_square, popcount
from reversi.games.rules import UNFINISHED, legal_moves, outcome, squares_of
from reversi.kernels.kernel import bare_kernel, kernel, recursive_kernel
from reversi.kernels.stack_array import Int64Pointer, pointer_to, stack_array
from reversi.patterns.evaluate import margin_of
from reversi.patterns.tables import DISC, PatternTables, phase_of
from reversi.solver.last import (
    EVALUATION_COUNT,
    GENERATION,
    LIMIT,
    NODE_COUNT,
    STOP,
    add_key,
    by_fastest_first,
    odd_quadrants,
    weighted_moves,
)
from reversi.solver.table import ABSENT
from reversi.solver.variant import corners_of, empty_squares, variant_of

OLDEST = EVALUATION_COUNT + 1
"""Index of `counts`: the oldest generation of the table whose values count; the others are those of the solver."""

COUNTS = OLDEST + 1
"""Length of `counts`."""

SOLVED_EMPTIES = 8
"""Positions with at most this many empty squares are solved: in 2 us on average with 8."""

INFINITE = 65 * DISC
"""Above every value."""

TABLE_DEPTH = 2
"""Least depth of the positions that the table holds."""

ETC_DEPTH = 4
"""Least depth at which the positions after all moves are looked up before one is searched ("enhanced transposition
cut-off")."""

REPLY = 32
"""What a reply that a move leaves costs it in the order of the moves, in 1/64 disc."""


JUDGED_DEPTH = 4
"""Least depth at which the order of the moves counts the values after them.  Below it the replies alone do: with values
from 2 on a search has 6 % fewer nodes and takes two thirds longer."""

CUT_DEPTH = 3
"""Least depth of a selective cut-off."""


class Context(NamedTuple):
    """What a search reads and writes besides the position."""

    tables: PatternTables
    widths: NDArray[np.int32]  # [phases, D]  of selective cut-offs (`cuts.py`); D = 0 for a search without them
    table: ValueTable
    counts: NDArray[np.int64]  # [COUNTS]


@kernel
def search_root(
    context: Context,
    game_id: int,
    own: np.uint64,
    opp: np.uint64,
    depth: int,
    every: bool,
    squares: NDArray[np.int64],
    values: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> int:
    """Search the moves of a position `depth` deep and return how many were searched: fewer than all once stopped.

    every    find the value of every move; otherwise only that of the best, and bounds of the others
    squares  int64[M]  the legal squares, the most promising first; the best one found moves to the front
    values   int64[M]  written for the moves searched, in the order of `squares`
    nodes    int64[M]  the same: adds the positions searched after each move
    """
    counts = pointer_to(context.counts)
    lowest = int(np.int64(-INFINITE))  # no literal: see solver/last.py
    best, low = lowest, lowest
    for i in range(len(squares)):
        square, before = squares[i], counts[NODE_COUNT] - nodes[i]
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
        counts[NODE_COUNT] += 1
        better = every or i == 0
        score = lowest
        if not better:
            score = -search(context, game_id, next_own, next_opp, depth - 1, -low - 1, -low)
            better = score > low
        if better and counts[STOP] == 0:
            full = -search(context, game_id, next_own, next_opp, depth - 1, lowest, -low)
            if counts[STOP] == 0:
                score = full
            elif every or i == 0:
                return i
        elif counts[STOP] != 0:
            return i
        j = i
        if score > best:
            best = score
            low = lowest if every else best
            while j > 0:
                squares[j], values[j], nodes[j] = squares[j - 1], values[j - 1], nodes[j - 1]
                j -= 1
        squares[j], values[j], nodes[j] = square, score, counts[NODE_COUNT] - before
    return len(squares)


@recursive_kernel
def search(context: Context, game_id: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int) -> int:
    """Return the value of a position, fail-soft: exact between alpha and beta, else a bound; arbitrary once stopped."""
    counts = pointer_to(context.counts)
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        margin = outcome(game_id, own, opp)
        if margin != UNFINISHED:
            return DISC * margin
        return -search(context, game_id, opp, own, depth, -beta, -alpha)
    empties = squares_of(game_id) - popcount(own | opp)
    if empties <= SOLVED_EMPTIES:
        return _solved(game_id, own, opp, alpha, beta, counts)
    if depth <= 0:
        return _estimated(context.tables, game_id, own, opp)
    if depth == 1:
        return _best_leaf(context, game_id, own, opp, legal, alpha, beta, counts)
    if counts[NODE_COUNT] >= counts[LIMIT]:
        counts[STOP] = 1
    if counts[STOP] != 0:
        return 0
    depth = min(depth, empties - SOLVED_EMPTIES)  # where both reach the end, they are the same
    oldest, lower, upper, hint = counts[OLDEST], -INFINITE, INFINITE, -1
    if depth >= TABLE_DEPTH:
        known = find_value(context.table, oldest, own, opp)
        if known != ABSENT:
            slot = context.table[known]
            hint = int(slot.best)
            if slot.depth >= depth:
                lower, upper = int(slot.lower), int(slot.upper)
                if lower >= beta or lower == upper:
                    return lower
                if upper <= alpha:
                    return upper
                alpha, beta = max(alpha, lower), min(beta, upper)
    if depth >= ETC_DEPTH:
        bound = _known_bound(context, own, opp, legal, depth, beta, oldest)
        if bound >= beta:
            return bound
    if beta - alpha == 1 and depth >= CUT_DEPTH and context.widths.shape[1] > 0:
        width, shallow = _width(context, own, opp, depth), shallow_depth(depth)
        if _estimated(context.tables, game_id, own, opp) >= beta:
            if search(context, game_id, own, opp, shallow, alpha + width, beta + width) >= beta + width:
                return beta
        elif search(context, game_id, own, opp, shallow, alpha - width, beta - width) <= alpha - width:
            return alpha
        if counts[STOP] != 0:
            return 0
    keys = stack_array()
    count = _order(context, game_id, own, opp, legal, hint, depth, keys)
    best, low = -INFINITE, alpha
    for i in range(count):
        square = keys[i] & 63
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
        counts[NODE_COUNT] += 1
        if i == 0:
            score = -search(context, game_id, next_own, next_opp, depth - 1, -beta, -low)
        else:
            score = -search(context, game_id, next_own, next_opp, depth - 1, -low - 1, -low)
            if low < score < beta and counts[STOP] == 0:
                score = -search(context, game_id, next_own, next_opp, depth - 1, -beta, -score)
        if counts[STOP] != 0:
            return 0
        if score > best:
            best, hint = score, square
            if best >= beta:
                break
            low = max(low, best)
    if depth >= TABLE_DEPTH:
        if best > alpha:
            lower = best
        if best < beta:
            upper = best
        store_value(context.table, counts[GENERATION], own, opp, depth, lower, upper, hint)
    return best


@bare_kernel
def shallow_depth(depth: int) -> int:
    """Return the depth of the search that tells whether one of `depth` is worth its time, about half of it and of the
    same parity: values of odd and even depths differ.  The rule is Edax's (Delorme, `search_probcut`)."""
    return 2 * (depth // 4) + (depth & 1)


@bare_kernel
def _width(context: Context, own: np.uint64, opp: np.uint64, depth: int) -> int:
    """Return how far beyond the window a shallow value must be, in 1/64 disc."""
    phases, depths = context.widths.shape
    return int(context.widths[phase_of(context.tables.phase_discs, phases, own, opp), min(depth, depths - 1)])


@bare_kernel
def _best_leaf(
    context: Context,
    game_id: int,
    own: np.uint64,
    opp: np.uint64,
    legal: np.uint64,
    alpha: int,
    beta: int,
    counts: Int64Pointer,
) -> int:
    """Return the value of a position one move deep, whose legal squares are `legal`."""
    best = -INFINITE
    while legal != ZERO:
        square = lowest_square(legal)
        legal &= legal - ONE
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
        counts[NODE_COUNT] += 1
        best = max(best, -leaf_value(context.tables, game_id, next_own, next_opp, -beta, -max(alpha, best), counts))
        if best >= beta:
            break
    return best


@bare_kernel
def leaf_value(
    tables: PatternTables,
    game_id: int,
    own: np.uint64,
    opp: np.uint64,
    alpha: int,
    beta: int,
    counts: Int64Pointer,
) -> int:
    """Return the value of any position without a search of moves."""
    if squares_of(game_id) - popcount(own | opp) <= SOLVED_EMPTIES:
        return _solved(game_id, own, opp, alpha, beta, counts)
    sign = 1
    if legal_moves(game_id, own, opp) == ZERO:
        margin = outcome(game_id, own, opp)
        if margin != UNFINISHED:
            return DISC * margin
        own, opp, sign = opp, own, -1
    return sign * _estimated(tables, game_id, own, opp)


@recursive_kernel
def _estimated(tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the tables' value, within the range of exact ones."""
    most = DISC * squares_of(game_id)
    return min(max(margin_of(tables, own, opp), -most), most)


@bare_kernel
def _solved(game_id: int, own: np.uint64, opp: np.uint64, alpha: int, beta: int, counts: Int64Pointer) -> int:
    """Return the exact value of a position with few empty squares, which may be over or without a move."""
    variant = variant_of(game_id, False)
    empty = empty_squares(variant, own, opp)
    low, high = alpha // DISC, -(-beta // DISC)
    return DISC * by_fastest_first(variant, own, opp, empty, odd_quadrants(variant, empty), low, high, counts)


@bare_kernel
def _known_bound(
    context: Context, own: np.uint64, opp: np.uint64, legal: np.uint64, depth: int, beta: int, oldest: int
) -> int:
    """Return a lower bound of the value from the table if it reaches `beta`, else -INFINITE."""
    while legal != ZERO:
        square = lowest_square(legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        known = find_value(context.table, oldest, opp ^ turned, own | turned | disc)
        if known != ABSENT:
            slot = context.table[known]
            if slot.depth >= depth - 1 and -int(slot.upper) >= beta:
                return -int(slot.upper)
        legal ^= disc
    return -INFINITE


@bare_kernel
def _order(
    context: Context,
    game_id: int,
    own: np.uint64,
    opp: np.uint64,
    legal: np.uint64,
    hint: int,
    depth: int,
    keys: Int64Pointer,
) -> int:
    """Write the legal moves to `keys`, the most promising first, the square in the low six bits; return their number.

    A move is worth less for every reply that it leaves, a corner twice, and from JUDGED_DEPTH on the value of the
    position after it; `hint` comes first.
    """
    corners, count = corners_of(variant_of(game_id, False)), 0
    while legal != ZERO:
        square = lowest_square(legal)
        legal &= legal - ONE
        key = INFINITE * 4
        if square != hint:
            turned = flips(own, opp, square)
            next_own, next_opp = opp ^ turned, own | turned | (ONE << np.uint64(square))
            replies = legal_moves(game_id, next_own, next_opp)
            key = -REPLY * weighted_moves(replies, corners)
            if depth >= JUDGED_DEPTH:
                if replies != ZERO:
                    key -= _estimated(context.tables, game_id, next_own, next_opp)
                else:
                    key += _estimated(context.tables, game_id, next_opp, next_own)
        add_key(keys, count, key * 64 + square)
        count += 1
    return count
