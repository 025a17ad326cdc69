"""The widths of selective cut-offs, estimated from the tables themselves.

Multi-ProbCut: where a shallow search says that a value lies beyond the window by more than such searches usually err,
the deep search is not made (Buro, "Experiments with Multi-ProbCut and a new high-quality evaluation function for
Othello", 1997).  How much they err depends on the phase, on both depths and on the quality of the tables: a few
positions of every phase are searched to every depth, and the differences are counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.alphabeta.search import (
    COUNTS,
    CUT_DEPTH,
    INFINITE,
    OLDEST,
    SOLVED_EMPTIES,
    Context,
    leaf_value,
    search,
    shallow_depth,
)
from reversi.alphabeta.table import make_value_table
from reversi.games.bitboard import ONE, ZERO, lowest_square, popcount
from reversi.games.rng import random_square, random_uniform, stream
from reversi.games.rules import Game, action_of_square, legal_moves, play
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.kernels.stack_array import Int64Pointer, pointer_to
from reversi.patterns.tables import START_DISCS, PatternTables
from reversi.solver.last import GENERATION, LIMIT

CONFIDENCE = 1.1
"""Widths in standard deviations of the difference between a deep and a shallow search.  At 0.03 s a move it scores 54 %
against 1.5 (120 games), 53 % against 0.8 and 66 % against a search without cut-offs (200 games each)."""

NORMAL = 1.25
"""Standard deviation of a normal distribution by its mean absolute deviation, which a single position sways less."""

POSITIONS = 24
"""Positions of every phase."""

DEEPEST = 6
"""Largest depth that is measured.  Larger ones count as this one: their shallow searches are deeper, and so nearer to
the truth, but as many plies away or more."""

RANDOM_PLIES, RANDOM_SHARE = 10, 0.2
"""The positions are of games that begin with so many random moves, and later have this share of them; the others are
the best by the values after them."""

NO_WIDTHS = np.zeros((0, 0), np.int32)
"""Makes a search without selective cut-offs."""


def widths_of(game: Game, tables: PatternTables) -> NDArray[np.int32]:
    """Return int32[phases, D]: how far beyond the window a shallow value must be for a cut-off, in 1/64 disc.

    Deterministic; takes a third of a second on 8x8.
    """
    phases = len(tables.bias)
    errors = np.zeros((phases, DEEPEST + 1))
    for phase in range(phases):
        discs = START_DISCS + tables.phase_discs * phase + tables.phase_discs // 2
        if game.squares - discs >= SOLVED_EMPTIES + DEEPEST:
            values = _values(game, tables, discs)
            for depth in range(CUT_DEPTH, DEEPEST + 1):
                errors[phase, depth] = NORMAL * np.abs(values[:, depth] - values[:, shallow_depth(depth)]).mean()
    measured = errors[:, CUT_DEPTH].nonzero()[0]
    if not len(measured):
        return NO_WIDTHS
    errors = errors[np.clip(np.arange(phases), measured[0], measured[-1])]
    by_depth = errors[measured].mean(axis=0) / errors[measured][:, CUT_DEPTH:].mean()
    by_phase = np.convolve(np.pad(errors[:, CUT_DEPTH:].mean(axis=1), 1, mode="edge"), (0.25, 0.5, 0.25), mode="valid")
    return np.asarray(np.rint(CONFIDENCE * by_phase[:, None] * by_depth), np.int32)


def _values(game: Game, tables: PatternTables, discs: int) -> NDArray[np.int64]:
    """Return int64[POSITIONS, DEEPEST + 1]: the values of positions with so many discs at every depth."""
    counts = np.zeros(COUNTS, np.int64)
    counts[LIMIT] = 1 << 62
    context = Context(tables, NO_WIDTHS, make_value_table(16), counts)
    values = np.zeros((POSITIONS, DEEPEST + 1), np.int64)
    fill_values(context, game.id, np.uint64(game.start_own), np.uint64(game.start_opp), discs, values)
    return values


@kernel
def fill_values(
    context: Context, game_id: int, own: np.uint64, opp: np.uint64, discs: int, values: NDArray[np.int64]
) -> None:
    """Write the values at depths 0, 1, ... of positions with so many discs, of games from (own, opp)."""
    game, filled = 0, 0
    lowest, highest = int(np.int64(-INFINITE)), int(np.int64(INFINITE))  # no literals: see solver/last.py
    while filled < values.shape[0]:
        reached, at_own, at_opp = _position(context, game_id, own, opp, discs, stream(np.uint64(discs), game))
        game += 1
        if reached:
            context.counts[GENERATION] += 1
            context.counts[OLDEST] = context.counts[GENERATION]
            for depth in range(values.shape[1]):
                values[filled, depth] = search(context, game_id, at_own, at_opp, depth, lowest, highest)
            filled += 1


@bare_kernel
def _position(
    context: Context, game_id: int, own: np.uint64, opp: np.uint64, discs: int, draws: np.uint64
) -> tuple[bool, np.uint64, np.uint64]:
    """Return whether the game that the stream `draws` chooses has a position with so many discs and a move there, and
    that position."""
    counts, plies = pointer_to(context.counts), 0
    while True:
        legal = legal_moves(game_id, own, opp)
        if legal == ZERO:
            own, opp = opp, own
            legal = legal_moves(game_id, own, opp)
        if legal == ZERO or popcount(own | opp) >= discs:
            return legal != ZERO and popcount(own | opp) == discs, own, opp
        square = random_square(legal, draws, 2 * plies)
        if plies >= RANDOM_PLIES and random_uniform(draws, 2 * plies + 1) >= RANDOM_SHARE:
            square = _best_after(context, game_id, own, opp, legal, counts)
        own, opp = play(game_id, own, opp, action_of_square(game_id, square))
        plies += 1


@bare_kernel
def _best_after(
    context: Context, game_id: int, own: np.uint64, opp: np.uint64, legal: np.uint64, counts: Int64Pointer
) -> int:
    """Return the legal square with the best value after the move."""
    best, best_square = -INFINITE, -1
    lowest, highest = int(np.int64(-INFINITE)), int(np.int64(INFINITE))
    while legal != ZERO:
        square = lowest_square(legal)
        legal &= legal - ONE
        next_own, next_opp = play(game_id, own, opp, action_of_square(game_id, square))
        value = -leaf_value(context.tables, game_id, next_own, next_opp, lowest, highest, counts)
        if value > best:
            best, best_square = value, square
    return best_square
