"""Samples: a position with its targets, one row per trained ply, and how records become them.

All fields are from the view of the side to move: 102 bytes on 8x8.  alphazero and supervised learn from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from learner.replay.columns import SampleColumns, SampleKind
from reversi.games.bitboard import Masks
from reversi.games.rules import game_named, play
from reversi.kernels.kernel import kernel
from reversi.record import OPENING, SEARCHED, RecordColumns, Records, sign_of


class SampleArrays(NamedTuple):
    """The columns of `Samples` for kernels, float16 as bits."""

    own: Masks  # uint64[B]
    opp: Masks  # uint64[B]
    policy: NDArray[np.uint8]  # [B, A]
    policy_weight: NDArray[np.uint8]  # [B]
    value_bits: NDArray[np.uint16]  # [B]
    result: NDArray[np.int8]  # [B]
    margin: NDArray[np.int8]  # [B]
    final_own: Masks  # uint64[B]
    final_opp: Masks  # uint64[B]


@dataclass(frozen=True, kw_only=True)
class Samples(SampleColumns):
    """B positions with their targets; `own` is the side to move in each."""

    COLUMNS: ClassVar[dict[str, type[np.generic]]] = {
        "own": np.uint64,
        "opp": np.uint64,
        "policy": np.uint8,
        "policy_weight": np.uint8,
        "value": np.float16,
        "result": np.int8,
        "margin": np.int8,
        "final_own": np.uint64,
        "final_opp": np.uint64,
    }
    PER_ACTION: ClassVar[tuple[str, ...]] = ("policy",)

    policy: NDArray[np.uint8]  # [B, A] visits, the largest 255; all 0 without a policy target
    policy_weight: NDArray[np.uint8]  # [B] 1 if there is a policy target (SEARCHED), else 0
    value: NDArray[np.float16]  # [B] root value, mover's view
    result: NDArray[np.int8]  # [B] 1, 0 or -1: of perfect play from the first solved ply on, else of the game
    margin: NDArray[np.int8]  # [B] discs at the end, own minus opponent's
    final_own: Masks  # uint64[B] discs at the end
    final_opp: Masks  # uint64[B]

    def arrays(self) -> SampleArrays:
        """Return the columns for kernels, which share the memory of these."""
        return SampleArrays(
            own=self.own,
            opp=self.opp,
            policy=self.policy,
            policy_weight=self.policy_weight,
            value_bits=self.value.view(np.uint16),
            result=self.result,
            margin=self.margin,
            final_own=self.final_own,
            final_opp=self.final_opp,
        )


def samples_of(records: Records) -> Samples:
    """Return a sample for every ply of `records` that is not OPENING, in order; `records` must have passed `check`."""
    samples = Samples.empty(int((records.ply_kind != OPENING).sum()), records.policy.shape[1])
    unroll(game_named(records.game).id, records.columns(), samples.arrays())
    return samples


POSITIONS = SampleKind("positions", Samples, samples_of)
"""The kind of samples that alphazero and supervised learn from."""


@kernel
def unroll(game_id: int, records: RecordColumns, out: SampleArrays) -> None:
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
