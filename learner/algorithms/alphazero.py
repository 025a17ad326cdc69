"""The AlphaZero loss: policy against visits, value against the result, and two auxiliary heads.

    loss = policy + value_weight * value + margin_weight * margin + owner_weight * owner

policy and value are cross-entropies in nats, margin and owner mean squared errors.  Silver et al. 2018 (Science 362),
equation 1, with a win-draw-loss value as in Leela Chess Zero; margin and owner as in KataGo (arXiv 1902.10565, section
3).  The L2 term is the optimiser's decoupled weight decay.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from learner.algorithms.config import AlphaZeroConfig
from learner.batches import TrainingBatch
from reversi.model.network import Outputs

ILLEGAL = -1e4
"""Logit put in place of an illegal action's: its probability is exactly 0 and its gradient too."""


@dataclass(frozen=True, kw_only=True)
class Losses:
    """The loss and its parts, averaged over a round."""

    total: float
    """What is minimised: the weighted sum."""
    policy: float
    """Cross-entropy of the policy against the visits, in nats."""
    value: float
    """Cross-entropy of win, draw and loss against the result, in nats; log 3 = 1.10 knows nothing."""
    margin: float
    """Mean squared error of the final margin, in shares of the board."""
    owner: float
    """Mean squared error of each square's final owner (+1, 0, -1); 1 knows nothing."""

    @property
    def summary(self) -> str:
        """`policy 1.52  value 0.61  owner 0.40`."""
        return f"policy {self.policy:.3f}  value {self.value:.3f}  owner {self.owner:.3f}"


LOSS_NAMES = ("total", "policy", "value", "margin", "owner")


def losses(outputs: Outputs, batch: TrainingBatch, config: AlphaZeroConfig) -> Tensor:
    """Return the losses as f32[5] in the order of `LOSS_NAMES`; the first is to be minimised."""
    logits = outputs.policy.float().masked_fill(batch.legal == 0, ILLEGAL)
    cross_entropy = -(batch.policy * functional.log_softmax(logits, 1)).sum(1)
    policy = (cross_entropy * batch.policy_weight).sum() / batch.policy_weight.sum().clamp(min=1)
    value = -(batch.wdl * functional.log_softmax(outputs.wdl.float(), 1)).sum(1).mean()
    margin = functional.mse_loss(outputs.margin.float(), batch.margin)
    owner = functional.mse_loss(outputs.owner.float(), batch.owner)
    total = policy + config.value_weight * value + config.margin_weight * margin + config.owner_weight * owner
    return torch.stack((total, policy, value, margin, owner))
