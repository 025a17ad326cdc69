"""Move ordering of the exact solver while many squares are empty.

There a good first move saves more time than finding it costs: a shallow search with a plain evaluation (mobility,
corners and the discs they anchor, discs beside empty squares) scores each move, deeper the more squares are empty.
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, flips, lowest_square, popcount, reachable
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.kernels.stack_array import Int64Pointer
from reversi.solver.last import (
    EVALUATION_COUNT,
    LIMIT,
    STOP,
    add_key,
    final_score,
    odd_quadrants,
    weighted_moves,
)
from reversi.solver.variant import BOARDS, corners_of, empty_squares, game_of

SHALLOW_SEARCH_FROM = 12
"""With at least this many empty squares `_shallow_search` scores the moves; with fewer, the replies they leave do."""

SQUARES_PER_PLY = 2
"""Each further SQUARES_PER_PLY empty squares deepen the ordering search by one ply."""

DEEPEST = 5
"""Maximum depth of the ordering search by that rule.

Once the ordering searches of a solve have evaluated as many positions as the node limit allows to search, they only
evaluate the position after each move.  A solve that ends within its limit needs fewer: 0.1 of the positions searched
up to 20 empty squares, 0.4 at 24."""

DEEP_FROM, DEEP_TO, DEEPER = 20, 30, 4
"""From DEEP_FROM to DEEP_TO empty squares each further one adds a ply, at most DEEPER of them: a search meets few such
large positions, and a bad first move costs most there.  Positions with more empty squares are rarely solved at all."""

CLOSE = 200
"""A move this far below the best gets only an upper bound."""

MOBILITY, CORNER_MOVE, EXPOSED, CORNER, ANCHORED = 16, 86, 12, 70, 70
"""Weights of a legal move, a corner among the legal moves (extra), an opposing disc beside an empty square, a corner,
and an edge disc beside a corner of its own colour.  They are close to a least-squares fit of the scores of 12,555
positions with 12-16 empty squares, scaled so that a move is 16, and explain 77 % of the scores' variance."""

ANSWER, CORNER_GAINED, EXPOSED_BY_MOVE, OPEN = 16, 25, 2, 1
"""Weights where `_shallow_search` is not used: one reply fewer for the opponent, a move to a corner, one own disc
fewer beside an empty square, and one empty square fewer beside an own disc."""

ODD = 4
"""Bonus for playing in a quadrant with an odd number of empty squares."""

DISC = 10_000
"""Weight of one disc in a finished game; it outweighs any evaluation."""

FIRST = 1 << 20
"""Above the key of every move."""


def _beside_corners(size: int) -> int:
    """Return the edge squares next to a corner, as a mask."""
    pairs = ({0, 1}, {0, size - 2}, {size - 1, 1}, {size - 1, size - 2})
    return sum(1 << (8 * row + col) for row in range(size) for col in range(size) if {row, col} in pairs)


_BESIDE_CORNERS = np.array([_beside_corners(game.size) for game in BOARDS], np.uint64)  # [games]


@bare_kernel
def order_moves(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    empty: np.uint64,
    legal: np.uint64,
    hint: int,
    keys: Int64Pointer,
    counts: Int64Pointer,
) -> int:
    """Write the legal moves to `keys`, the most promising first; return their number.

    hint    a square to put first, or -1
    keys    written: the low six bits hold the square
    counts  reads [LIMIT] and [STOP], adds to [EVALUATION_COUNT]; once [STOP] is set the order is arbitrary
    """
    corners, odd, squares = corners_of(variant), odd_quadrants(variant, empty), popcount(empty)
    depth = min((squares - SHALLOW_SEARCH_FROM) // SQUARES_PER_PLY, DEEPEST)
    if DEEP_FROM <= squares <= DEEP_TO:
        depth += min(squares - DEEP_FROM + 1, DEEPER)
    worst = -FIRST
    count = 0
    while legal != ZERO:
        square = lowest_square(legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        next_own, next_opp = opp ^ turned, own | turned | disc
        if square == hint:
            key = FIRST
        elif depth < 0:
            rest = empty ^ disc
            key = CORNER_GAINED * popcount(disc & corners)
            key -= ANSWER * weighted_moves(reachable(next_own, next_opp) & rest, corners)
            key -= EXPOSED_BY_MOVE * popcount(_beside(rest) & next_opp) + OPEN * popcount(_beside(next_opp) & rest)
        else:
            key = -_shallow_search(variant, next_own, next_opp, depth, int(np.int64(-FIRST)), -worst, counts)
            worst = max(worst, key - CLOSE)
        if disc & odd:
            key += ODD
        add_key(keys, count, key * 64 + square)
        count += 1
        legal ^= disc
    return count


@kernel
def _shallow_search(
    variant: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int, counts: Int64Pointer
) -> int:
    """Return the evaluation of a position for the side to move, `depth` plies deep: alpha-beta, fail-soft.

    Corners are tried first, squares beside them last.  Adds to counts[EVALUATION_COUNT].  Once counts[STOP] is set the
    result is arbitrary.
    """
    empty = empty_squares(variant, own, opp)
    if depth <= 0 or counts[STOP] != 0 or counts[EVALUATION_COUNT] >= counts[LIMIT]:
        counts[EVALUATION_COUNT] += 1
        return _evaluate(variant, own, opp, empty)
    legal = reachable(own, opp) & empty
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return DISC * final_score(variant, own, opp)
        return -_shallow_search(variant, opp, own, depth, -beta, -alpha, counts)
    corners, best = corners_of(variant), -FIRST
    likely = ~_beside(corners)
    while legal != ZERO:
        first = legal & corners
        if first == ZERO:
            first = legal & likely
        square = lowest_square(first if first != ZERO else legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        best = max(best, -_shallow_search(variant, opp ^ turned, own | turned | disc, depth - 1, -beta, -alpha, counts))
        if best >= beta:
            return best
        alpha = max(alpha, best)
        legal ^= disc
    return best


@bare_kernel
def _evaluate(variant: int, own: np.uint64, opp: np.uint64, empty: np.uint64) -> int:
    """Return the evaluation of a position, positive if the side to move is ahead."""
    corners, shore = corners_of(variant), _beside(empty)
    moves, answers = reachable(own, opp) & empty, reachable(opp, own) & empty
    anchors = _BESIDE_CORNERS[game_of(variant)]
    own_held, opp_held = _beside(own & corners) & own & anchors, _beside(opp & corners) & opp & anchors
    return (
        MOBILITY * (popcount(moves) - popcount(answers))
        + CORNER_MOVE * (popcount(moves & corners) - popcount(answers & corners))
        + EXPOSED * (popcount(shore & opp) - popcount(shore & own))
        + CORNER * (popcount(own & corners) - popcount(opp & corners))
        + ANCHORED * (popcount(own_held) - popcount(opp_held))
    )


@bare_kernel
def _beside(discs: np.uint64) -> np.uint64:
    """Return `discs` and the squares next to them; the unused columns of small boards prevent wrapping."""
    right = (discs & np.uint64(0x7F7F7F7F7F7F7F7F)) << ONE
    left = (discs & np.uint64(0xFEFEFEFEFEFEFEFE)) >> ONE
    row = discs | right | left
    return row | (row << np.uint64(8)) | (row >> np.uint64(8))
