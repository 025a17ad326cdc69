"""The AlphaZero loss: policy against visits, value against the result, and two auxiliary heads.

    loss = policy + value_weight * value + margin_weight * margin + owner_weight * owner

policy and value are cross-entropies in nats or squared errors, margin and owner mean squared errors.  Silver et al.
2018 (Science 362), equation 1, with a win-draw-loss value as in Leela Chess Zero; margin and owner as in KataGo (arXiv
1902.10565, section 3).  The L2 term is the optimiser's weight decay (`learner.weight_decay`).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from learner.algorithms.algorithm import Objective
from learner.algorithms.config import AlphaZeroConfig
from learner.batches import TrainingBatch, masked, training_batch
from learner.replay.columns import SampleColumns
from learner.replay.samples import Samples
from reversi.games.rules import Game
from reversi.games.symmetry import SYMMETRIES
from reversi.model.network import Outputs


class AlphaZero(Objective):
    """The objective: search policy and game result, each sample under a random one of the 8 symmetries."""

    def __init__(self, game: Game, config: AlphaZeroConfig) -> None:
        self._game, self._config = game, config

    def batch(self, samples: SampleColumns, rng: np.random.Generator, pinned: bool) -> TrainingBatch:
        """Return the batch, each sample under a random symmetry; see `Objective`."""
        assert isinstance(samples, Samples)
        symmetry = rng.integers(0, SYMMETRIES, len(samples))
        return training_batch(self._game, samples, symmetry, self._config.value_mix, pinned=pinned)

    def losses(self, outputs: Outputs, batch: TrainingBatch) -> Tensor:
        """Return f32[5] in the order of `AlphaZeroLosses`; the first is minimised."""
        config, weight = self._config, batch.policy_weight
        policy = (_policy_losses(outputs, batch, config) * weight).sum() / weight.sum().clamp(min=1)
        value = _value_loss(outputs.wdl.float(), batch.wdl, config)
        margin = functional.mse_loss(outputs.margin.float(), batch.margin)
        owner = functional.mse_loss(outputs.owner.float(), batch.owner)
        total = policy + config.value_weight * value + config.margin_weight * margin + config.owner_weight * owner
        return torch.stack((total, policy, value, margin, owner))


def _policy_losses(outputs: Outputs, batch: TrainingBatch, config: AlphaZeroConfig) -> Tensor:
    """Return the policy loss of every position, f32[B]."""
    logits = masked(outputs.policy, batch.legal)
    target = batch.policy if config.policy_temperature == 1 else tempered(batch.policy, config.policy_temperature)
    if config.policy_loss == "squared":
        return (logits.softmax(1) - target).square().sum(1)
    return -(target * functional.log_softmax(logits, 1)).sum(1)


def _value_loss(logits: Tensor, wdl: Tensor, config: AlphaZeroConfig) -> Tensor:
    if config.value_loss == "squared":
        probabilities = logits.softmax(1)
        return functional.mse_loss(probabilities[:, 0] - probabilities[:, 2], wdl[:, 0] - wdl[:, 2])
    return -(wdl * functional.log_softmax(logits, 1)).sum(1).mean()


def tempered(shares: Tensor, temperature: float) -> Tensor:
    """Return `shares` f32[B, A] to the power of 1 / temperature, each row summing to 1 again; rows of 0 stay 0."""
    largest = shares.amax(1, keepdim=True).clamp(min=torch.finfo(shares.dtype).tiny)
    powers = (shares / largest).pow(1 / temperature)  # relative to the largest, beside which an underflow is negligible
    return powers / powers.sum(1, keepdim=True).clamp(min=1)
