"""What each algorithm reports of its steps: one dataclass of means per algorithm, and what a look at kept games says.

The fields of a class of losses are, in their order, the numbers that its algorithm returns for a step; the first one is
what is minimised.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AlphaZeroLosses:
    """The loss and its parts, averaged over a round."""

    total: float
    """What is minimised: the weighted sum of those below, or the loss of the action values."""
    policy: float
    """Cross-entropy of the policy against its target, in nats: the search's policy, or, supervised, the move played.
    The squared error where `algorithm.policy_loss` says so."""
    value: float
    """Cross-entropy of win, draw and loss against their target, in nats; log 3 = 1.10 knows nothing.  The squared error
    of win minus loss, where 1 knows nothing, if `algorithm.value_loss` says so."""
    margin: float
    """Mean squared error of the final margin, in shares of the board."""
    owner: float
    """Mean squared error of each square's final owner (+1, 0, -1); 1 knows nothing."""

    @property
    def summary(self) -> str:
        """`policy 1.520  value 0.610  owner 0.400`."""
        return f"policy {self.policy:.3f}  value {self.value:.3f}  owner {self.owner:.3f}"


@dataclass(frozen=True, kw_only=True)
class SupervisedLosses:
    """The loss of the moves that were played, averaged over a round."""

    total: float
    """What is minimised: the weighted sum of those below, or the loss of the action values."""
    policy: float
    """Cross-entropy of the policy against its target, in nats: the search's policy, or, supervised, the move played.
    The squared error where `algorithm.policy_loss` says so."""
    value: float
    """Cross-entropy of win, draw and loss against their target, in nats; log 3 = 1.10 knows nothing.  The squared error
    of win minus loss, where 1 knows nothing, if `algorithm.value_loss` says so."""
    accuracy: float
    """Share of the positions whose move is the legal one with the largest logit, in training: with dropout."""

    @property
    def summary(self) -> str:
        """`policy 1.520  accuracy 52.1 %`."""
        return f"policy {self.policy:.3f}  accuracy {100 * self.accuracy:.1f} %"


@dataclass(frozen=True, kw_only=True)
class DqnLosses:
    """The loss of the action values, averaged over a round."""

    total: float
    """What is minimised: the weighted sum of those below, or the loss of the action values."""
    q: float
    """Mean value of the actions that were taken, as they are now."""
    target: float
    """Mean training target of those values."""
    error: float
    """Mean absolute difference of those values and their targets, sample by sample."""

    @property
    def summary(self) -> str:
        """`loss 0.0520  Q +0.110  error 0.170`."""
        return f"loss {self.total:.4f}  Q {self.q:+.3f}  error {self.error:.3f}"


@dataclass(frozen=True, kw_only=True)
class QTableLosses:
    """The differences that a table was moved by, averaged over a round."""

    total: float
    """What is minimised: the weighted sum of those below, or the loss of the action values."""
    q: float
    """Mean value of the actions that were taken, as they are now."""
    error: float
    """Mean absolute difference of those values and their targets, sample by sample."""

    @property
    def summary(self) -> str:
        """`loss 0.0520  Q +0.110  error 0.170`."""
        return f"loss {self.total:.4f}  Q {self.q:+.3f}  error {self.error:.3f}"


Losses = AlphaZeroLosses | SupervisedLosses | DqnLosses | QTableLosses

KINDS: dict[str, type[AlphaZeroLosses] | type[SupervisedLosses] | type[DqnLosses] | type[QTableLosses]] = {
    "alphazero": AlphaZeroLosses,
    "supervised": SupervisedLosses,
    "dqn": DqnLosses,
    "q_table": QTableLosses,
}
"""The losses of every algorithm, by its name."""


def losses_of(algorithm: str, values: Iterable[float]) -> Losses:
    """Return the losses of an algorithm from their means, in the order of the fields."""
    kind = KINDS[algorithm]
    return kind(**dict(zip(kind.__annotations__, values, strict=True)))


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """What the averaged network makes of games that are never trained on."""

    positions: int
    """Positions looked at: some thousands, always the same; in the last look of a run all there are."""
    loss: float
    """The loss, as `learner/losses/total`."""
    top1: float
    """Share of the positions whose move is the legal one with the largest logit."""
    top5: float
    """Share of the positions whose move is among the five legal ones with the largest logits."""
    best_loss: float
    """The smallest loss of a look at those thousands so far; the network that had it is the candidate."""
    looks_since_best: int
    """Looks since then; at `algorithm.patience` training ends."""

    @property
    def summary(self) -> str:
        """`validation 1.480  top-1 54.0 %  top-5 91.2 %`."""
        return f"validation {self.loss:.3f}  top-1 {100 * self.top1:.1f} %  top-5 {100 * self.top5:.1f} %"
