"""Samples: a position with its targets, one row per trained ply, and how records become them.

All fields are from the view of the side to move: 102 bytes on 8x8.  alphazero and supervised learn from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learner.replay.columns import PerAction, PerSample, SampleColumns, SampleKind
from reversi.games.rules import game_named, play
from reversi.kernels.kernel import kernel
from reversi.record import OPENING, SEARCHED, Records, sign_of


@dataclass(frozen=True, kw_only=True)
class Samples(SampleColumns):
    """B positions with their targets; `own` is the side to move in each."""

    policy: PerAction[np.uint8]  # visits, the largest 255; all 0 without a policy target
    policy_weight: PerSample[np.uint8]  # 1 if there is a policy target (SEARCHED), else 0
    value: PerSample[np.float16]  # root value, mover's view
    result: PerSample[np.int8]  # 1, 0 or -1: of perfect play from the first solved ply on, else of the game
    margin: PerSample[np.int8]  # discs at the end, own minus opponent's
    final_own: PerSample[np.uint64]  # discs at the end
    final_opp: PerSample[np.uint64]

    @property
    def value_bits(self) -> NDArray[np.uint16]:
        """The bits of `value`."""
        return self.value.view(np.uint16)


def samples_of(records: Records) -> Samples:
    """Return a sample for every ply of `records` that is not OPENING, in order; `records` must have passed `check`."""
    samples = Samples.empty(int((records.ply_kind != OPENING).sum()), records.policy.shape[1])
    unroll(game_named(records.game).id, records.arrays(), samples.arrays())
    return samples


POSITIONS = SampleKind("positions", Samples, samples_of)
"""The kind of samples that alphazero and supervised learn from."""


@kernel
def unroll(game_id: int, records: Records, out: Samples) -> None:
    """Play every game through and write a row for each ply that is not OPENING.

    records  every game checked, as plies are played without a check
    out      written, as many rows as there are such plies, from the mover's view: result, margin and final board change
             sides at every ply, passes included

    Cost: one flip and A bytes per ply.
    """
    plies, actions, policy, out_policy = records.plies, records.actions, records.policy, out.policy
    value_bits, ply_kind, exact_from = records.value_bits, records.ply_kind, records.exact_from
    p = 0
    row = 0
    for g in range(plies.shape[0]):
        own, opp = records.start_own[g], records.start_opp[g]
        final_mover, final_other, margin_mover = records.final_own[g], records.final_opp[g], records.margin[g]
        result = int(margin_mover > 0) - int(margin_mover < 0)
        if exact_from[g] < plies[g]:
            result = sign_of(value_bits[p + exact_from[g]]) * (1 - 2 * (exact_from[g] % 2))
        for ply in range(plies[g]):
            if ply > exact_from[g]:
                result = sign_of(value_bits[p])
            if ply_kind[p] != OPENING:
                out.own[row], out.opp[row] = own, opp
                for a in range(policy.shape[1]):
                    out_policy[row, a] = policy[p, a]
                out.policy_weight[row] = ply_kind[p] == SEARCHED
                out.value_bits[row] = value_bits[p]
                out.result[row] = result
                out.margin[row] = margin_mover
                out.final_own[row], out.final_opp[row] = final_mover, final_other
                row += 1
            own, opp = play(game_id, own, opp, actions[p])
            final_mover, final_other = final_other, final_mover
            result, margin_mover = -result, -margin_mover
            p += 1
