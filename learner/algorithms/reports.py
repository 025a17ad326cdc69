"""The reports of training steps, one dataclass of means per algorithm, and of validations.

The fields of a class of losses are, in order, the numbers that its algorithm returns for a step; the first one is
minimised.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AlphaZeroLosses:
    """The loss and its parts, averaged over a round."""

    total: float
    """The minimised loss: policy, value, margin and owner loss, weighted."""
    policy: float
    """Cross-entropy of the policy against the search's, in nats, or with `algorithm.policy_loss=squared` the squared
    error."""
    value: float
    """Cross-entropy of win, draw and loss against their target, in nats, 1.10 (log 3) is chance level; with
    `algorithm.value_loss=squared` the squared error of win minus loss, 1 is chance level."""
    margin: float
    """Mean squared error of the final margin, as a share of the board."""
    owner: float
    """Mean squared error of each square's final owner (+1, 0, -1); 1 is chance level."""

    @property
    def summary(self) -> str:
        """`policy 1.520  value 0.610  owner 0.400`."""
        return f"policy {self.policy:.3f}  value {self.value:.3f}  owner {self.owner:.3f}"


@dataclass(frozen=True, kw_only=True)
class SupervisedLosses:
    """The loss of the moves played and its parts, averaged over a round."""

    total: float
    """The minimised loss: policy and value loss, weighted."""
    policy: float
    """Cross-entropy of the policy against the move played, in nats."""
    value: float
    """Cross-entropy of win, draw and loss against the result, in nats, 1.10 (log 3) is chance level; 0 without a value
    head."""
    accuracy: float
    """Share of the positions whose move has the largest logit of all legal ones, in training: with dropout."""

    @property
    def summary(self) -> str:
        """`policy 1.520  accuracy 52.1 %`."""
        return f"policy {self.policy:.3f}  accuracy {100 * self.accuracy:.1f} %"


@dataclass(frozen=True, kw_only=True)
class DqnLosses:
    """The loss of the action values, averaged over a round."""

    total: float
    """The minimised loss of the action values: squared or Huber, see `algorithm.loss`."""
    q: float
    """Mean value of the actions taken."""
    target: float
    """Mean training target of these values."""
    error: float
    """Mean absolute difference between these values and their targets."""

    @property
    def summary(self) -> str:
        """`loss 0.0520  Q +0.110  error 0.170`."""
        return f"loss {self.total:.4f}  Q {self.q:+.3f}  error {self.error:.3f}"


@dataclass(frozen=True, kw_only=True)
class QTableLosses:
    """The differences between a table's values and their targets, averaged over a round."""

    total: float
    """Mean squared difference between the values of the actions taken and their targets."""
    q: float
    """Mean value of the actions taken."""
    error: float
    """Mean absolute difference between these values and their targets."""

    @property
    def summary(self) -> str:
        """`loss 0.0520  Q +0.110  error 0.170`."""
        return f"loss {self.total:.4f}  Q {self.q:+.3f}  error {self.error:.3f}"


@dataclass(frozen=True, kw_only=True)
class TdLosses:
    """The errors of pattern tables against their own targets, over a round."""

    total: float
    """Root mean square of the errors, in discs, each before its update."""
    error: float
    """Mean absolute error, in discs."""

    @property
    def summary(self) -> str:
        """`error 3.910 discs`."""
        return f"error {self.total:.3f} discs"


Losses = AlphaZeroLosses | SupervisedLosses | DqnLosses | QTableLosses | TdLosses

LOSSES: dict[str, type[Losses]] = {
    "alphazero": AlphaZeroLosses,
    "supervised": SupervisedLosses,
    "dqn": DqnLosses,
    "q_table": QTableLosses,
    "td": TdLosses,
}
"""The report of each algorithm, by its name."""


def losses_of(algorithm: str, values: Iterable[float]) -> Losses:
    """Return the report of an algorithm from its means, in the order of the fields."""
    report = LOSSES[algorithm]
    return report(**dict(zip(report.__annotations__, values, strict=True)))


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """The averaged network's performance on games that are never trained on."""

    positions: int
    """Positions evaluated: some thousands, always the same; all of them in the last validation of a run."""
    loss: float
    """The loss, as `learner/losses/total`."""
    top1: float
    """Share of the positions whose move has the largest logit of all legal ones."""
    top5: float
    """Share of the positions whose move is among the five legal ones with the largest logits."""
    best_loss: float
    """Lowest loss of a validation during training so far; with early stopping its network is the candidate."""
    looks_since_best: int
    """Validations since then; at `algorithm.patience` training ends."""

    @property
    def summary(self) -> str:
        """`loss 1.480  top-1 54.0 %  top-5 91.2 %`."""
        return f"loss {self.loss:.3f}  top-1 {100 * self.top1:.1f} %  top-5 {100 * self.top5:.1f} %"


@dataclass(frozen=True, kw_only=True)
class FullValidation:
    """How far the last candidate's validation on all positions is; the candidate is offered once it is done."""

    positions: int = 0
    """Positions evaluated so far."""
    all_positions: int = 0
    """Positions to evaluate; 0 without validation games."""
    report: ValidationReport | None = None
    """The results on all of them; None before, and without validation games."""

    @property
    def done(self) -> bool:
        """Whether no positions are left for later calls."""
        return self.positions == self.all_positions
