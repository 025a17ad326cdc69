"""In what order the exact solver tries moves while many squares are empty.

There a good first move saves more than it costs to look for it: each move is judged by a shallow search with a plain
evaluation (mobility, corners and what they hold, discs beside empty squares), deeper the more squares are empty.
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, flips, lowest_square, popcount, reachable
from reversi.games.rules import GAMES, REVERSI8
from reversi.kernel import bare_kernel, kernel
from reversi.search.endgame_last import (
    STOP,
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
"""Plies that moves are judged at most by that rule: no limit of positions is looked at meanwhile."""

DEEP_FROM, DEEP_TO, DEEPER = 20, 30, 4
"""Empty squares between which each one more adds another ply, and such plies at most: positions so large are few in a
search, and a bad move there costs most.  With still more empty squares there is little to be solved."""

CLOSE = 200
"""Moves that are judged so much worse than the best are only shown to be."""

MOBILITY, CORNER_MOVE, EXPOSED, CORNER, ANCHORED = 16, 86, 12, 70, 70
"""Worth of a move, of a corner among the moves (on top), of an opposing disc beside an empty square, of a corner, and
of a disc beside one's own corner on the edge: near what least squares gave for the scores of 12,555 positions with
12-16 empty squares, in units that make a move 16.  They explain 77 % of the scores' variance."""

ANSWER, CORNER_GAINED, EXPOSED_BY_MOVE, OPEN = 16, 25, 2, 1
"""Worth of an answer less for the other side, of a move to a corner, of a disc less beside an empty square, and of an
empty square less beside a disc, where moves are not judged by `_judge`."""

ODD = 4
"""Worth of playing in a quadrant with an odd number of empty squares."""

DISC = 10_000
"""Worth of a disc of a finished game: one of them outweighs any evaluation."""

FIRST = 1 << 20
"""Above every judgement."""


def _beside_corners(size: int) -> int:
    """Return the squares of the edges that are next to a corner."""
    pairs = ({0, 1}, {0, size - 2}, {size - 1, 1}, {size - 1, size - 2})
    return sum(1 << (8 * row + col) for row in range(size) for col in range(size) if {row, col} in pairs)


_BESIDE_CORNERS = np.array(
    [_beside_corners(game.size) for game in GAMES.values() if game.id <= REVERSI8], np.uint64
)  # [games]


@bare_kernel
def order_moves(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    empty: np.uint64,
    legal: np.uint64,
    hint: int,
    keys: Numbers,
    counts: Numbers,
) -> int:
    """Write the legal moves to `keys`, the most promising first; return how many there are.

    hint    a square that is put first, or -1
    keys    written: the square stands in the low six bits
    counts  [STOP] is looked at; once it is set the order means nothing
    """
    corners, odd, squares = corners_of(variant), odd_quadrants(variant, empty), popcount(empty)
    depth = min((squares - JUDGED_FROM) // SQUARES_PER_PLY, DEEPEST)
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
            key = -_judge(variant, next_own, next_opp, depth, int(np.int64(-FIRST)), -worst, counts)
            worst = max(worst, key - CLOSE)
        if disc & odd:
            key += ODD
        add_key(keys, count, key * 64 + square)
        count += 1
        legal ^= disc
    return count


@kernel
def _judge(variant: int, own: np.uint64, opp: np.uint64, depth: int, alpha: int, beta: int, counts: Numbers) -> int:
    """Return what a position looks like `depth` plies ahead, for the side to move: alpha-beta, fail-soft.

    Corners come first, squares beside them last.  Anything is returned once counts[STOP] is set.
    """
    empty = empty_squares(variant, own, opp)
    if depth <= 0 or counts[STOP] != 0:
        return _evaluate(variant, own, opp, empty)
    legal = reachable(own, opp) & empty
    if legal == ZERO:
        if (reachable(opp, own) & empty) == ZERO:
            return DISC * final_score(variant, own, opp)
        return -_judge(variant, opp, own, depth, -beta, -alpha, counts)
    corners, best = corners_of(variant), -FIRST
    likely = ~_beside(corners)
    while legal != ZERO:
        first = legal & corners
        if first == ZERO:
            first = legal & likely
        square = lowest_square(first if first != ZERO else legal)
        disc = ONE << np.uint64(square)
        turned = flips(own, opp, square)
        best = max(best, -_judge(variant, opp ^ turned, own | turned | disc, depth - 1, -beta, -alpha, counts))
        if best >= beta:
            return best
        alpha = max(alpha, best)
        legal ^= disc
    return best


@bare_kernel
def _evaluate(variant: int, own: np.uint64, opp: np.uint64, empty: np.uint64) -> int:
    """Return a guess of who is ahead, positive for the side to move."""
    corners, shore = corners_of(variant), _beside(empty)
    moves, answers = reachable(own, opp) & empty, reachable(opp, own) & empty
    anchors = _BESIDE_CORNERS[variant >> 1]
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
    """Return the squares next to `discs`, and `discs`; empty columns keep small boards from wrapping."""
    right = (discs & np.uint64(0x7F7F7F7F7F7F7F7F)) << ONE
    left = (discs & np.uint64(0xFEFEFEFEFEFEFEFE)) >> ONE
    row = discs | right | left
    return row | (row << np.uint64(8)) | (row >> np.uint64(8))
