"""The last empty squares of a game of Reversi, solved without a table; the exact solver spends most of its time here.

Every search here is a negamax with alpha-beta, fail-soft: its result is exact if it lies between `alpha` and `beta`, an
upper bound of the score at or below `alpha`, a lower bound at or above `beta`.  A score is own - opp at the end.

Squares in quadrants with an odd number of empty squares come first: the side that plays there can also play there last
("parity").  Above `FEW` empty squares the move that leaves the fewest replies comes first ("fastest first"), and a
window above the bound that the opponent's stable discs imply is not searched ("stability cut-off").  Stable discs are
counted only for a window above the number of empty squares: below it they seldom suffice.

Do not call a recursive kernel with literal numbers (`int(np.int64(-1))` is not a literal), and do not let two kernels
call each other: numba would compile a copy specialised on the literals, and that copy calls the general one by a name
that is missing when the code is loaded from the disk cache.
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, flips, lowest_square, popcount, reachable
from reversi.games.rules import Game
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.kernels.stack_array import Int64Pointer, stack_array
from reversi.solver.stable import stable_bound
from reversi.solver.variant import BOARDS, corners_of, empty_squares, game_of

NODE_COUNT, LIMIT, STOP, GENERATION, EVALUATION_COUNT = range(5)
"""Indices of `counts`: positions searched (each reached by a move or a pass), the number to stop at, the stop flag (0:
go on), the generation of the table, and the positions that the move ordering has evaluated.  The search without a table
uses the first alone."""

BELOW_EVERY_SCORE = -128

FEW = 5
"""Up to this many empty squares parity alone orders the moves: counting replies costs more than it saves there."""


def _quadrant(game: Game, square: int) -> int:
    """Return the board quadrant that contains `square`, as a mask; 0 for a square off the board."""
    half = game.size // 2
    row, col = (half if number >= half else 0 for number in divmod(square, 8))
    corner = sum(((1 << half) - 1) << (8 * r) for r in range(half))
    return corner << (8 * row + col) if game.board_mask >> square & 1 else 0


_QUADRANT = np.array([[_quadrant(game, square) for square in range(64)] for game in BOARDS], np.uint64)  # [games, 64]


@bare_kernel
def odd_quadrants(variant: int, empty: np.uint64) -> np.uint64:
    """Return the quadrants that contain an odd number of the squares `empty`, as one mask."""
    odd = ZERO
    while empty != ZERO:
        odd ^= _QUADRANT[game_of(variant), lowest_square(empty)]
        empty &= empty - ONE
    return odd


@bare_kernel
def final_score(variant: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the score of a finished game."""
    score = popcount(own) - popcount(opp)
    if variant & 1 and score != 0:
        empty = popcount(empty_squares(variant, own, opp))
        score += empty if score > 0 else -empty
    return score


@bare_kernel
def weighted_moves(moves: np.uint64, corners: np.uint64) -> int:
    """Return the number of moves; a corner counts twice."""
    return popcount(moves) + popcount(moves & corners)


@bare_kernel
def add_key(keys: Int64Pointer, count: int, key: int) -> None:
    """Insert `key` into the first `count` keys, which are sorted in descending order."""
    i = count
    while i > 0 and keys[i - 1] < key:
        keys[i] = keys[i - 1]
        i -= 1
    keys[i] = key


@kernel
def by_fastest_first(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    empty: np.uint64,
    odd: np.uint64,
    alpha: int,
    beta: int,
    counts: Int64Pointer,
) -> int:
    """Return the score of a position with any number of empty squares, trying moves fastest first.

    empty   its empty squares
    odd     the quadrants with an odd number of them
    counts  adds to [NODE_COUNT]
    """
    legal = reachable(own, opp) & empty
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return final_score(variant, own, opp)
        counts[NODE_COUNT] += 1
        return -by_fastest_first(variant, opp, own, empty, odd, -beta, -alpha, counts)
    if alpha >= popcount(empty):
        most = stable_bound(variant, opp, empty)
        if most <= alpha:
            return most
    keys = stack_array()
    count = _order(own, opp, empty, legal, odd, corners_of(variant), keys)
    few = popcount(empty) <= FEW + 1
    best = BELOW_EVERY_SCORE
    for i in range(count):
        square = keys[i] & 63
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | disc
        rest, next_odd = empty ^ disc, odd ^ _QUADRANT[game_of(variant), square]
        counts[NODE_COUNT] += 1
        if few:
            score = -by_parity(variant, next_own, next_opp, rest, next_odd, -beta, -alpha, counts)
        else:
            score = -by_fastest_first(variant, next_own, next_opp, rest, next_odd, -beta, -alpha, counts)
        if score > best:
            best = score
            if best >= beta:
                return best
            alpha = max(alpha, best)
    return best


@bare_kernel
def _order(
    own: np.uint64,
    opp: np.uint64,
    empty: np.uint64,
    legal: np.uint64,
    odd: np.uint64,
    corners: np.uint64,
    keys: Int64Pointer,
) -> int:
    """Write the legal moves to `keys`, most promising first, the square in the low six bits; return their number."""
    count = 0
    while legal != ZERO:
        square = lowest_square(legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        answers = reachable(opp ^ turned, own | turned | disc) & (empty ^ disc)
        key = -4 * weighted_moves(answers, corners)
        if disc & odd:
            key += 1
        if disc & corners:
            key += 2
        add_key(keys, count, key * 64 + square)
        count += 1
        legal ^= disc
    return count


@kernel
def by_parity(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    empty: np.uint64,
    odd: np.uint64,
    alpha: int,
    beta: int,
    counts: Int64Pointer,
) -> int:
    """Return the score like `by_fastest_first`, with moves ordered by parity alone."""
    legal = reachable(own, opp) & empty
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return final_score(variant, own, opp)
        counts[NODE_COUNT] += 1
        return -by_parity(variant, opp, own, empty, odd, -beta, -alpha, counts)
    best = BELOW_EVERY_SCORE
    while legal != ZERO:
        first = legal & odd
        square = lowest_square(first if first != ZERO else legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | disc
        rest = empty ^ disc
        counts[NODE_COUNT] += 1
        if popcount(rest) == 2:
            one, other = lowest_square(rest), lowest_square(rest & (rest - ONE))
            score = -last_two(variant, next_own, next_opp, one, other, -beta, -alpha, counts)
        else:
            next_odd = odd ^ _QUADRANT[game_of(variant), square]
            score = -by_parity(variant, next_own, next_opp, rest, next_odd, -beta, -alpha, counts)
        if score > best:
            best = score
            if best >= beta:
                return best
            alpha = max(alpha, best)
        legal ^= disc
    return best


@kernel
def last_two(
    variant: int, own: np.uint64, opp: np.uint64, one: int, other: int, alpha: int, beta: int, counts: Int64Pointer
) -> int:
    """Return the score of a position with the two empty squares `one` and `other`."""
    score = _better_of_two(variant, own, opp, one, other, beta, counts)
    if score != BELOW_EVERY_SCORE:
        return score
    score = _better_of_two(variant, opp, own, one, other, -alpha, counts)
    if score != BELOW_EVERY_SCORE:
        counts[NODE_COUNT] += 1
        return -score
    return final_score(variant, own, opp)


@bare_kernel
def _better_of_two(
    variant: int, own: np.uint64, opp: np.uint64, one: int, other: int, beta: int, counts: Int64Pointer
) -> int:
    """Return the score of the better move, that of `one` if it reaches `beta`, BELOW_EVERY_SCORE if none is legal."""
    best = BELOW_EVERY_SCORE
    turned = flips(own, opp, one)
    if turned != ZERO:
        counts[NODE_COUNT] += 1
        best = -_last_one(variant, opp ^ turned, own | turned | (ONE << np.uint64(one)), other, counts)
        if best >= beta:
            return best
    turned = flips(own, opp, other)
    if turned != ZERO:
        counts[NODE_COUNT] += 1
        best = max(best, -_last_one(variant, opp ^ turned, own | turned | (ONE << np.uint64(other)), one, counts))
    return best


@bare_kernel
def _last_one(variant: int, own: np.uint64, opp: np.uint64, square: int, counts: Int64Pointer) -> int:
    """Return the score of a position with one empty square; the discs flipped are only counted."""
    margin = popcount(own) - popcount(opp)
    turned = flips(own, opp, square)
    if turned != ZERO:
        counts[NODE_COUNT] += 1
        return margin + 2 * popcount(turned) + 1
    turned = flips(opp, own, square)
    if turned != ZERO:
        counts[NODE_COUNT] += 2
        return margin - 2 * popcount(turned) - 1
    return final_score(variant, own, opp)
