"""The value of a position by tables: its expected margin, and the utility and policy that follow from it.

A margin is in 1/64 disc for the side to move, a sum of integers, so that it does not depend on the order of the
instances, and the eight images of a position have the same one.  Win, draw and loss follow from it by an ordered logit
(McCullagh 1980, "Regression models for ordinal data"): the final margin is distributed logistically around the expected
one, and a margin of less than a disc is a draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks, lowest_square
from reversi.games.rules import UNFINISHED, action_of_square, legal_moves, outcome, pass_of, play, squares_of
from reversi.kernels.exponential import exponential
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.patterns.index import raw_indices, stack_indices
from reversi.patterns.tables import DISC, PatternTables, phase_of

_DRAW = np.float32(1)
"""Half the width, in discs, of the margins that count as a draw."""


@bare_kernel
def margin_of(tables: PatternTables, own: np.uint64, opp: np.uint64) -> int:
    """Return the expected margin for the side to move, in 1/64 disc, of a position in which it can move.

    Cost: 59 ns with the 54 instances of the default patterns of 8x8, one core of an EPYC.
    """
    phase = phase_of(tables.phase_discs, tables.bias.shape[0], own, opp)
    indices = stack_indices()
    total = np.int32(tables.bias[phase])
    for i in range(raw_indices(tables.lookup, own, opp, indices)):
        total += tables.tables[phase, indices[i]]
    return int(total)


@bare_kernel
def value_of(tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the expected margin for the side to move, in 1/64 disc: exact if the game is over, and minus that of the
    other side where the side to move must pass."""
    if legal_moves(game_id, own, opp) != ZERO:
        return margin_of(tables, own, opp)
    margin = outcome(game_id, own, opp)
    return DISC * margin if margin != UNFINISHED else -margin_of(tables, opp, own)


@bare_kernel
def utility_of(
    tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64, margin: int, margin_weight: np.float32
) -> np.float32:
    """Return the utility, in [-1, 1], of an unfinished position whose expected margin is `margin` (1/64 disc).

    P(win) - P(loss), mixed with the margin as a share of the board by `margin_weight`; see `search.exact.utility`.
    """
    discs = np.float32(margin) / np.float32(DISC)
    won = expected_result(discs, tables.width[phase_of(tables.phase_discs, tables.bias.shape[0], own, opp)])
    share = min(max(discs / np.float32(squares_of(game_id)), np.float32(-1)), np.float32(1))
    return np.float32(won + margin_weight * (share - won))


@bare_kernel
def expected_result(discs: np.float32, width: np.float32) -> np.float32:
    """Return P(win) - P(loss) of an expected margin in discs: logistic((m - 1) / w) - logistic((-m - 1) / w)."""
    return np.float32(_logistic((discs - _DRAW) / width) - _logistic((-discs - _DRAW) / width))


@bare_kernel
def _logistic(x: np.float32) -> np.float32:
    """Return 1 / (1 + e**-x)."""
    power = exponential(-abs(x))
    return np.float32((np.float32(1) if x >= 0 else power) / (np.float32(1) + power))


@bare_kernel
def judge_moves(
    tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64, logits: NDArray[np.float32]
) -> int:
    """Return the expected margin, in 1/64 disc, of an unfinished position by the best of its moves, and write the
    policy's logits: the margin after each move, for the mover, in units of the phase's temperature.

    logits  float32[A]  written at the legal actions only
    """
    phase = phase_of(tables.phase_discs, tables.bias.shape[0], own, opp)
    scale = np.float32(1) / (np.float32(DISC) * tables.temperature[phase])
    moves = legal_moves(game_id, own, opp)
    if moves == ZERO:
        logits[pass_of(game_id)] = 0
        return -value_of(tables, game_id, opp, own)
    best = -(1 << 30)
    while moves != ZERO:
        action = action_of_square(game_id, lowest_square(moves))
        moves &= moves - ONE
        after_own, after_opp = play(game_id, own, opp, action)
        margin = -value_of(tables, game_id, after_own, after_opp)
        logits[action] = np.float32(margin) * scale
        best = max(best, margin)
    return best


@bare_kernel
def margin_of_logit(tables: PatternTables, own: np.uint64, opp: np.uint64, logit: np.float32) -> int:
    """Return the margin, in 1/64 disc, after a move whose logit is that of `judge_moves`."""
    phase = phase_of(tables.phase_discs, tables.bias.shape[0], own, opp)
    return int(np.rint(logit * np.float32(DISC) * tables.temperature[phase]))


@kernel
def margins_of(tables: PatternTables, own: Masks, opp: Masks, out: NDArray[np.int64]) -> None:
    """Fill `out[b]` with `margin_of` of each of B positions."""
    for b in range(own.shape[0]):
        out[b] = margin_of(tables, own[b], opp[b])


@kernel
def judge_positions(
    tables: PatternTables,
    game_id: int,
    own: Masks,
    opp: Masks,
    logits: NDArray[np.float32],
    outlook: NDArray[np.float32],
) -> None:
    """Write the policy's logits, P(win) - P(loss) and the expected margin as a share of the board of B unfinished
    positions.

    own, opp  uint64[B]
    logits    float32[B or more, A]  written; illegal actions get 0
    outlook   float32[B or more, 2]  written
    """
    for b in range(own.shape[0]):
        logits[b] = 0
        margin = judge_moves(tables, game_id, own[b], opp[b], logits[b])
        outlook[b, 0] = utility_of(tables, game_id, own[b], opp[b], margin, np.float32(0))
        outlook[b, 1] = utility_of(tables, game_id, own[b], opp[b], margin, np.float32(1))
