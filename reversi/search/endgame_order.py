"""In what order the exact solver tries moves while many squares are empty.

There a good first move saves more than it costs to look for it: each move is judged by a shallow search with a plain
evaluation (mobility, corners, squares beside the other side's discs), deeper the more squares are empty.
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, flips, lowest_square, popcount, reachable
from reversi.kernel import bare_kernel, kernel
from reversi.search.endgame_last import (
    add_key,
    corners_of,
    empty_squares,
    final_score,
    odd_quadrants,
    weighted_moves,
)
from reversi.search.stack import Numbers

JUDGED_FROM = 12
"""Empty squares from which moves are judged by `_judge`; with fewer, by the answers they leave."""

SQUARES_PER_PLY = 2
"""Empty squares more for each ply that moves are judged deeper."""

DEEPEST = 5
"""Plies that moves are judged at most: no limit is looked at meanwhile."""

MOBILITY, FRONTIER, CORNER = 16, 2, 50
"""Worth of a move, of an empty square beside an opposing disc, and of a corner."""

ODD = 4
"""Worth of playing in a quadrant with an odd number of empty squares."""

DISC = 10_000
"""Worth of a disc of a finished game: one of them outweighs any evaluation."""

FIRST = 1 << 20
"""Above every judgement."""


@bare_kernel
def order_moves(
    variant: int, own: np.uint64, opp: np.uint64, empty: np.uint64, legal: np.uint64, hint: int, keys: Numbers
) -> int:
    """Write the legal moves to `keys`, the most promising first; return how many there are.

    hint  a square that is put first, or -1
    keys  written: the square stands in the low six bits
    """
    corners, odd, squares = corners_of(variant), odd_quadrants(variant, empty), popcount(empty)
    depth = min((squares - JUDGED_FROM) // SQUARES_PER_PLY, DEEPEST)
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
            key = -MOBILITY * weighted_moves(reachable(next_own, next_opp) & rest, corners)
            key += (CORNER // 2) * popcount(disc & corners) - popcount(_beside(next_opp) & rest)
        else:
            key = -_judge(variant, next_own, next_opp, depth, int(np.int64(-FIRST)), int(np.int64(FIRST)))
        if disc & odd:
            key += ODD
        add_key(keys, count, key * 64 + square)
        count += 1
        legal ^= disc
    return count


@kernel
def _judge(variant: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int) -> int:
    """Return what a position looks like `depth` plies ahead, for the side to move: alpha-beta, fail-soft."""
    empty = empty_squares(variant, own, opp)
    if depth <= 0:
        return _evaluate(variant, own, opp, empty)
    legal = reachable(own, opp) & empty
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return DISC * final_score(variant, own, opp)
        return -_judge(variant, opp, own, depth, -beta, -alpha)
    best = -FIRST
    while legal != ZERO:
        square = lowest_square(legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        best = max(best, -_judge(variant, opp ^ turned, own | turned | disc, depth - 1, -beta, -alpha))
        if best >= beta:
            return best
        alpha = max(alpha, best)
        legal ^= disc
    return best


@bare_kernel
def _evaluate(variant: int, own: np.uint64, opp: np.uint64, empty: np.uint64) -> int:
    """Return a guess of who is ahead, positive for the side to move."""
    corners = corners_of(variant)
    moves = weighted_moves(reachable(own, opp) & empty, corners) - weighted_moves(reachable(opp, own) & empty, corners)
    frontier = popcount(_beside(opp) & empty) - popcount(_beside(own) & empty)
    return MOBILITY * moves + FRONTIER * frontier + CORNER * (popcount(own & corners) - popcount(opp & corners))


@bare_kernel
def _beside(discs: np.uint64) -> np.uint64:
    """Return the squares next to `discs`, and `discs`; empty columns keep small boards from wrapping."""
    right = (discs & np.uint64(0x7F7F7F7F7F7F7F7F)) << ONE
    left = (discs & np.uint64(0xFEFEFEFEFEFEFEFE)) >> ONE
    row = discs | right | left
    return row | (row << np.uint64(8)) | (row >> np.uint64(8))
