"""Deep Q-learning: the target of an action's value is its reward plus the value of the position it leads to.

    target = reward + factor * max over the legal actions of Q'(next position)

Q' is the target network, a copy of the network made every `target_every_steps`.  Rewards, factors and next positions
are those of `learner/replay/transitions.py`: n steps ahead, the other side's value v counted as -v or 1 - v, unless
`opponent_turns` says otherwise; with `share` two agents learn from every transition, each with its reward.  Source:
Mnih et al. 2015, "Human-level control through deep reinforcement learning", Nature 518, algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from learner.algorithms.algorithm import Objective
from learner.algorithms.config import DqnConfig
from learner.batches import Batch, masked
from learner.replay.columns import SampleColumns
from learner.replay.transitions import Transitions
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import Game, legal_actions_mask
from reversi.games.symmetry import SYMMETRIES, action_table, transform_mask
from reversi.kernels.kernel import kernel
from reversi.model.config import StackConfig
from reversi.model.network import build_network
from reversi.model.stack_network import StackNetwork, has_even_discs
from reversi.model.weights import Weights


@dataclass(frozen=True, kw_only=True)
class TransitionBatch(Batch):
    """Decisions and the positions they led to; `planes` are those of the positions decided in."""

    action: Tensor  # i64[B]
    reward: Tensor  # f32[B]
    factor: Tensor  # f32[B] multiplies the next position's value; 0 where the game ended first
    next_planes: Tensor  # f32[B, C, N, N]
    next_legal: Tensor  # u8[B, A] 1 at every legal action of the next position


class Dqn(Objective):
    """The objective: action values towards those of the target network."""

    def __init__(self, game: Game, config: DqnConfig, network: StackConfig, device: torch.device) -> None:
        self._game, self._config = game, config
        self._shares = config.opponent_turns == "share"
        self._target = build_network(network, game.size).to(device).requires_grad_(False).eval()
        # only for convolutions: a dense network would have to learn each symmetry separately
        self._symmetries = SYMMETRIES if network.filters and config.symmetric else 1

    def batch(self, samples: SampleColumns, rng: np.random.Generator, pinned: bool) -> TransitionBatch:
        """Return the batch, under random symmetries if it is to be; see `Objective`."""
        assert isinstance(samples, Transitions)
        return transition_batch(self._game, samples, rng.integers(0, self._symmetries, len(samples)), pinned=pinned)

    def outputs(self, network: nn.Module, planes: Tensor) -> Tensor:
        """Return f32[B, A], the values of the side to move, or f32[B, 2, A], those of both agents if both learn."""
        assert isinstance(network, StackNetwork)
        values: Tensor = network.of_agents(planes) if self._shares else network(planes)
        return values

    def losses(self, outputs: Tensor, batch: TransitionBatch) -> Tensor:
        """Return f32[4] in the order of `DqnLosses`."""
        shape = (len(batch), *[1] * (outputs.ndim - 1))  # one agent's values or two's
        action = batch.action.view(shape).expand(*outputs.shape[:-1], 1)
        values = outputs.float().gather(-1, action).squeeze(-1)
        with torch.no_grad():
            targets = self._rewards(batch) + batch.factor.view(shape[:-1]) * self._best(batch, shape)
        loss = functional.mse_loss if self._config.loss == "squared" else functional.smooth_l1_loss
        error = (values.detach() - targets).abs().mean()
        return torch.stack((loss(values, targets), values.mean(), targets.mean(), error))

    def _best(self, batch: TransitionBatch, shape: tuple[int, ...]) -> Tensor:
        """Return f32[B] or f32[B, 2], the largest target value of a legal action; any number without a next position.

        shape  (B, 1) or (B, 1, 1), as many dimensions as the values have
        """
        legal = batch.next_legal.view(*shape[:-1], -1)
        if batch.factor.device.type != "cpu":
            return masked(self.outputs(self._target, batch.next_planes), legal).amax(-1)
        rows = batch.factor.nonzero().squeeze(1)  # a count that a GPU would have to be waited for
        best = masked(self.outputs(self._target, batch.next_planes[rows]), legal[rows]).amax(-1)
        return best.new_zeros(shape[0], *best.shape[1:]).index_copy_(0, rows, best)

    def _rewards(self, batch: TransitionBatch) -> Tensor:
        """Return f32[B], or f32[B, 2] of both agents."""
        if not self._shares:
            return batch.reward
        first = torch.where(has_even_discs(batch.planes), batch.reward, -batch.reward)
        both = torch.stack((first, -first), 1)
        return both.clamp(min=0) if self._config.reward == "win" else both

    def before_step(self, step: int, network: nn.Module) -> None:
        """Copy the network to the target network every `target_every_steps`, beginning before the first step."""
        if step % self._config.target_every_steps == 0:
            self._target.load_state_dict(network.state_dict())

    def played(self, weights: Weights) -> Weights:
        """Return weights whose action values are in [-1, 1]: a winning probability p becomes 2 p - 1."""
        return weights if self._config.reward == "result" else _outputs_scaled(weights, 2, -1)

    def trained(self, weights: Weights) -> Weights:
        """Return weights whose action values are winning probabilities, if those are what is learned."""
        return weights if self._config.reward == "result" else _outputs_scaled(weights, 0.5, 0.5)

    def arrays(self) -> dict[str, Tensor]:
        """Return the target network's tensors."""
        return dict(self._target.state_dict())

    def restore(self, arrays: dict[str, Tensor]) -> None:
        """Restore the target network."""
        self._target.load_state_dict(arrays)


def _outputs_scaled(weights: Weights, scale: float, shift: float) -> Weights:
    """Return weights whose action values are `scale` times those of `weights`, plus `shift`."""
    arrays = dict(weights.arrays)
    for name, array in weights.arrays.items():
        if name.endswith("output.weight"):
            arrays[name] = np.float32(scale) * array
        elif name.endswith("output.bias"):
            arrays[name] = np.float32(scale) * array + np.float32(shift)
    return replace(weights, arrays=arrays)


class TransitionBatchArrays(NamedTuple):
    """The arrays of a `TransitionBatch` that `fill_transitions` writes."""

    planes: NDArray[np.float32]  # [B, C, N, N]
    action: NDArray[np.int64]  # [B]
    next_planes: NDArray[np.float32]  # [B, C, N, N]
    next_legal: NDArray[np.uint8]  # [B, A]


def transition_batch(
    game: Game, transitions: Transitions, symmetry: NDArray[np.integer[Any]], *, pinned: bool = False
) -> TransitionBatch:
    """Return `transitions[b]` under `symmetry[b]` (0-7) as a batch in new memory, pinned for a GPU if `pinned`."""
    transitions = transitions.writable()
    count, size = len(transitions), game.size
    empty = partial(torch.empty, count, pin_memory=pinned)
    batch = TransitionBatch(
        planes=empty(PLANES, size, size),
        action=empty(dtype=torch.int64),
        reward=empty(),
        factor=empty(),
        next_planes=empty(PLANES, size, size),
        next_legal=empty(game.actions, dtype=torch.uint8),
    )
    batch.reward.numpy()[:] = transitions.reward
    batch.factor.numpy()[:] = transitions.factor
    out = TransitionBatchArrays(
        batch.planes.numpy(), batch.action.numpy(), batch.next_planes.numpy(), batch.next_legal.numpy()
    )
    fill_transitions(game.id, action_table(game), symmetry.astype(np.int64), transitions.arrays(), out)
    return batch


@kernel
def fill_transitions(
    game_id: int,
    table: NDArray[np.int32],
    symmetry: NDArray[np.int64],
    transitions: Transitions,
    out: TransitionBatchArrays,
) -> None:
    """Fill the arrays of a `TransitionBatch`.

    table     int32[8, A]  where each action goes under each symmetry
    symmetry  int64[B]     0-7, the same for a position and the next one
    out       written: see `TransitionBatch`

    Cost: four mask transforms and up to four move generations per transition.
    """
    count = symmetry.shape[0]
    masks = np.empty((4, count), np.uint64)
    for b in range(count):
        masks[0, b] = transform_mask(game_id, transitions.own[b], symmetry[b])
        masks[1, b] = transform_mask(game_id, transitions.opp[b], symmetry[b])
        masks[2, b] = transform_mask(game_id, transitions.next_own[b], symmetry[b])
        masks[3, b] = transform_mask(game_id, transitions.next_opp[b], symmetry[b])
        out.action[b] = table[symmetry[b], transitions.action[b]]
    write_planes(game_id, masks[0], masks[1], out.planes)
    write_planes(game_id, masks[2], masks[3], out.next_planes)
    legal_actions_mask(game_id, masks[2], masks[3], out.next_legal)
