"""Supervised learning: the policy learns the moves of recorded games, and a value head, if any, their results.

    loss = policy + value_weight * value, both cross-entropies in nats

Illegal moves are masked, as in play, so the network learns which legal move is played, unless `masked` is off.  Source:
Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search", Methods (policy network).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from learner.algorithms.algorithm import Objective
from learner.algorithms.config import SupervisedConfig
from learner.batches import TrainingBatch, masked, training_batch
from learner.replay.columns import SampleColumns
from learner.replay.samples import Samples
from reversi.games.rules import Game
from reversi.games.symmetry import SYMMETRIES
from reversi.model.network import Outputs


class Supervised(Objective):
    """The objective: the move played, each sample under a random one of the 8 symmetries unless `symmetric` is off."""

    def __init__(self, game: Game, config: SupervisedConfig) -> None:
        self._game, self._config = game, config

    def batch(self, samples: SampleColumns, rng: np.random.Generator, pinned: bool) -> TrainingBatch:
        """Return the batch, each sample under a random symmetry or as it was played; see `Objective`."""
        assert isinstance(samples, Samples)
        symmetry = rng.integers(0, SYMMETRIES if self._config.symmetric else 1, len(samples))
        return training_batch(self._game, samples, symmetry, pinned=pinned)

    def losses(self, outputs: Outputs | Tensor, batch: TrainingBatch) -> Tensor:
        """Return f32[4] in the order of `SupervisedLosses`; positions without a policy target train the value only."""
        logits = move_logits(outputs, batch)
        learned = logits if self._config.masked else policy_of(outputs).float()
        weight = batch.policy_weight / batch.policy_weight.sum().clamp(min=1)
        policy = -((batch.policy * functional.log_softmax(learned, 1)).sum(1) * weight).sum()
        value = torch.zeros_like(policy)
        if isinstance(outputs, Outputs):
            value = -(batch.wdl * functional.log_softmax(outputs.wdl.float(), 1)).sum(1).mean()
        accuracy = ((ranks(logits, batch) == 0) * weight).sum()
        return torch.stack((policy + self._config.value_weight * value, policy, value, accuracy))


def move_logits(outputs: Outputs | Tensor, batch: TrainingBatch) -> Tensor:
    """Return the policy logits f32[B, A] of a dual or a policy network, those of illegal actions at `ILLEGAL`."""
    return masked(policy_of(outputs), batch.legal)


def policy_of(outputs: Outputs | Tensor) -> Tensor:
    """Return the policy logits [B, A] of a dual or a policy network, in its precision."""
    return outputs.policy if isinstance(outputs, Outputs) else outputs


def ranks(logits: Tensor, batch: TrainingBatch) -> Tensor:
    """Return i64[B], how many actions have a larger logit than the move played."""
    played = logits.gather(1, batch.policy.argmax(1, keepdim=True))
    return (logits > played).sum(1)
