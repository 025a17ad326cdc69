"""Training batches: samples, each under one symmetry, as the input and target tensors of a loss, made by one kernel."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from learner.replay.samples import Samples
from reversi.games.bitboard import ONE
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import Game, legal_actions_mask
from reversi.games.symmetry import action_table, transform_mask
from reversi.kernels.kernel import kernel

ILLEGAL = -1e4
"""Logit or value of illegal actions: their probability and gradient are exactly 0."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """B positions as network input; an algorithm's batch adds its targets."""

    planes: Tensor  # f32[B, C, N, N]
    arrived: torch.cuda.Event | None = None
    """Event that marks the end of a copy to a GPU; None if there is no copy to wait for."""

    def __len__(self) -> int:
        """Positions."""
        return len(self.planes)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}

    def to(self, device: torch.device) -> Self:
        """Return the batch on `device`; copies from pinned memory are asynchronous."""
        moved: dict[str, Any] = {name: each.to(device, non_blocking=True) for name, each in self.tensors().items()}
        return replace(self, **moved)


@dataclass(frozen=True, kw_only=True)
class TrainingBatch(Batch):
    """Positions and their targets, all from the view of the side to move."""

    policy: Tensor  # f32[B, A] shares of the visits; all 0 without a policy target
    policy_weight: Tensor  # f32[B] 1 if there is a policy target, else 0
    wdl: Tensor  # f32[B, 3] win, draw, loss; sums to 1
    margin: Tensor  # f32[B] discs at the end, own minus opponent's, over N * N: -1 to 1
    owner: Tensor  # f32[B, N, N] at the end: +1 own disc, -1 opponent's, 0 empty
    legal: Tensor  # u8[B, A] 1 at every legal action


def masked(logits: Tensor, legal: Tensor) -> Tensor:
    """Return `logits` [..., A] as float32, with `ILLEGAL` where `legal` u8, of a shape that fits, is 0."""
    return logits.float().masked_fill(legal == 0, ILLEGAL)


class BatchArrays(NamedTuple):
    """The arrays of a `TrainingBatch` that `fill_batch` writes."""

    planes: NDArray[np.float32]  # [B, C, N, N]
    policy: NDArray[np.float32]  # [B, A]
    wdl: NDArray[np.float32]  # [B, 3]
    owner: NDArray[np.float32]  # [B, N, N]
    legal: NDArray[np.uint8]  # [B, A]


def training_batch(
    game: Game, samples: Samples, symmetry: NDArray[np.integer[Any]], value_mix: float = 0.0, *, pinned: bool = False
) -> TrainingBatch:
    """Return `samples[b]` under `symmetry[b]` (0-7) as a batch in new memory, pinned for a GPU if `pinned`.

    `value_mix` is the share of the root value in the target of the value head, 0 (AlphaZero: the result alone) to 1.
    The root value v counts as the win and loss probabilities (1 + v) / 2 and (1 - v) / 2, and only where there is a
    policy target.
    """
    samples = samples.writable()
    count, size, actions = len(samples), game.size, game.actions
    empty = partial(torch.empty, count, pin_memory=pinned)
    batch = TrainingBatch(
        planes=empty(PLANES, size, size),
        policy=empty(actions),
        policy_weight=empty(),
        wdl=empty(3),
        margin=empty(),
        owner=empty(size, size),
        legal=empty(actions, dtype=torch.uint8),
    )
    weight, margin = batch.policy_weight.numpy(), batch.margin.numpy()
    weight[:] = samples.policy_weight
    np.divide(samples.margin, np.float32(game.squares), out=margin, casting="unsafe")
    out = BatchArrays(
        batch.planes.numpy(), batch.policy.numpy(), batch.wdl.numpy(), batch.owner.numpy(), batch.legal.numpy()
    )
    value, share = samples.value.astype(np.float32), weight * np.float32(value_mix)
    fill_batch(game.id, action_table(game), symmetry.astype(np.int64), samples.arrays(), value, share, out)
    return batch


@kernel
def fill_batch(
    game_id: int,
    table: NDArray[np.int32],
    symmetry: NDArray[np.int64],
    samples: Samples,
    value: NDArray[np.float32],
    value_share: NDArray[np.float32],
    out: BatchArrays,
) -> None:
    """Fill the arrays of a `TrainingBatch`.

    table        int32[8, A]  where each action goes under each symmetry
    symmetry     int64[B]     0-7
    samples      a `policy` row of 0 gives a row of 0
    value        float32[B]   root value
    value_share  float32[B]   share of the root value in `wdl`, 0-1
    out          written: see `TrainingBatch`

    Planes and legal actions are computed from the transformed masks by the same kernels as in play.
    Cost: four mask transforms, four move generations and about 6 A stores per sample.
    """
    visits, result, policy, wdl, owner = samples.policy, samples.result, out.policy, out.wdl, out.owner
    count, size, actions = visits.shape[0], owner.shape[1], visits.shape[1]
    turned_own, turned_opp = np.empty(count, np.uint64), np.empty(count, np.uint64)
    for b in range(count):
        turned_own[b] = transform_mask(game_id, samples.own[b], symmetry[b])
        turned_opp[b] = transform_mask(game_id, samples.opp[b], symmetry[b])
    write_planes(game_id, turned_own, turned_opp, out.planes)
    legal_actions_mask(game_id, turned_own, turned_opp, out.legal)
    for b in range(count):
        total = 0
        for a in range(actions):
            total += visits[b, a]
        scale = np.float32(1.0) / np.float32(max(total, 1))
        for a in range(actions):
            policy[b, table[symmetry[b], a]] = visits[b, a] * scale
        mine = transform_mask(game_id, samples.final_own[b], symmetry[b])
        theirs = transform_mask(game_id, samples.final_opp[b], symmetry[b])
        for row in range(size):
            for col in range(size):
                bit = np.uint64(8 * row + col)
                owner[b, row, col] = np.float32((mine >> bit) & ONE) - np.float32((theirs >> bit) & ONE)
        share = value_share[b]
        wdl[b, 0] = share * (1 + value[b]) / 2 + (1 - share) * (result[b] > 0)
        wdl[b, 1] = (1 - share) * (result[b] == 0)
        wdl[b, 2] = share * (1 - value[b]) / 2 + (1 - share) * (result[b] < 0)
