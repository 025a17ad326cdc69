"""Samples: a position with its targets, one row per trained ply, and how records become them.

All fields are from the view of the side to move: 102 bytes on 8x8.  alphazero and supervised learn from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from learner.replay.rows import Rows
from reversi.games.bitboard import Masks
from reversi.games.rules import game_named, play
from reversi.kernel import kernel
from reversi.record import OPENING, SEARCHED, Records, sign_of

COLUMNS: dict[str, type[np.generic]] = {
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
"""Every column's type; `policy` has A entries a row, the others one."""


@dataclass(frozen=True, kw_only=True)
class Samples(Rows):
    """B positions with their targets; `own` is the side to move in each."""

    COLUMNS: ClassVar[dict[str, type[np.generic]]] = COLUMNS
    PER_ACTION: ClassVar[tuple[str, ...]] = ("policy",)

    policy: NDArray[np.uint8]  # [B, A] visits, the largest 255; all 0 without a policy target
    policy_weight: NDArray[np.uint8]  # [B] 1 if there is a policy target (SEARCHED), else 0
    value: NDArray[np.float16]  # [B] root value, mover's view
    result: NDArray[np.int8]  # [B] 1, 0 or -1: of perfect play from the first solved ply on, else of the game
    margin: NDArray[np.int8]  # [B] discs at the end, own minus opponent's
    final_own: Masks  # uint64[B] discs at the end
    final_opp: Masks  # uint64[B]


def samples_of(records: Records) -> Samples:
    """Return a sample for every ply of `records` that is not OPENING, in order; `records` must have passed `check`."""
    samples = Samples.empty(int((records.ply_kind != OPENING).sum()), records.policy.shape[1])
    unroll(
        game_named(records.game).id,
        records.start_own,
        records.start_opp,
        records.plies,
        records.actions,
        records.policy,
        records.value.view(np.uint16),
        records.ply_kind,
        records.margin,
        records.final_own,
        records.final_opp,
        records.exact_from,
        samples.own,
        samples.opp,
        samples.policy,
        samples.policy_weight,
        samples.value.view(np.uint16),
        samples.result,
        samples.margin,
        samples.final_own,
        samples.final_opp,
    )
    return samples


@kernel
def unroll(
    game_id: int,
    start_own: Masks,
    start_opp: Masks,
    plies: NDArray[np.int32],
    actions: NDArray[np.uint8],
    policy: NDArray[np.uint8],
    value_bits: NDArray[np.uint16],
    ply_kind: NDArray[np.uint8],
    margin: NDArray[np.int8],
    final_own: Masks,
    final_opp: Masks,
    exact_from: NDArray[np.int32],
    out_own: Masks,
    out_opp: Masks,
    out_policy: NDArray[np.uint8],
    out_policy_weight: NDArray[np.uint8],
    out_value_bits: NDArray[np.uint16],
    out_result: NDArray[np.int8],
    out_margin: NDArray[np.int8],
    out_final_own: Masks,
    out_final_opp: Masks,
) -> None:
    """Play every game through and write a row for each ply that is not OPENING.

    inputs   columns of `Records`, float16 as bits, every game checked: plies are played unseen
    out_...  columns of `Samples`, as many rows as there are such plies; written from the mover's view, so result,
             margin and final board change sides at every ply, a pass included

    Cost: one flip and A bytes per ply.
    """
    p = 0
    row = 0
    for g in range(plies.shape[0]):
        own, opp = start_own[g], start_opp[g]
        final_mover, final_other, margin_mover = final_own[g], final_opp[g], margin[g]
        result = int(margin_mover > 0) - int(margin_mover < 0)
        if exact_from[g] < plies[g]:
            result = sign_of(value_bits[p + exact_from[g]]) * (1 - 2 * (exact_from[g] % 2))
        for ply in range(plies[g]):
            if ply > exact_from[g]:
                result = sign_of(value_bits[p])
            if ply_kind[p] != OPENING:
                out_own[row], out_opp[row] = own, opp
                for a in range(policy.shape[1]):
                    out_policy[row, a] = policy[p, a]
                out_policy_weight[row] = ply_kind[p] == SEARCHED
                out_value_bits[row] = value_bits[p]
                out_result[row] = result
                out_margin[row] = margin_mover
                out_final_own[row], out_final_opp[row] = final_mover, final_other
                row += 1
            own, opp = play(game_id, own, opp, actions[p])
            final_mover, final_other = final_other, final_mover
            result, margin_mover = -result, -margin_mover
            p += 1
