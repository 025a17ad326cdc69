"""The algorithms' settings: one configuration each, distinguished by its `name`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from reversi.settings import require, require_ranges


@dataclass(frozen=True, kw_only=True)
class AlphaZeroConfig:
    """Policy targets from search, value targets from results, and KataGo's two auxiliary targets."""

    name: Literal["alphazero"]
    """Which algorithm; its targets and losses are in `learner/algorithms/alphazero.py`."""

    value_weight: float
    """Weight of the value loss relative to the policy loss.  AlphaZero: 1."""

    margin_weight: float
    """Weight of the squared error of the final margin (as a share of the board).  AlphaZero: 0."""

    owner_weight: float
    """Weight of the squared error of each square's final owner, averaged over squares.  AlphaZero: 0; KataGo: 1.5/N^2
    a square; the head costs little and trains the tower to see which discs survive."""

    value_mix: float
    """Share of the search's root value in the value target, 0 to 1; the rest is the result.  AlphaZero: 0.  Up to 0.2
    reduces the noise of single games; with more the network learns its own errors."""

    policy_temperature: float = 1.0
    """Temperature of the policy target: visits^(1/temperature), normalised.  Below 1 sharpens it.  AlphaZero: 1."""

    policy_loss: Literal["cross_entropy", "squared"] = "cross_entropy"
    """`cross_entropy` (AlphaZero), or the `squared` error of the legal moves' probabilities, summed over the moves."""

    value_loss: Literal["cross_entropy", "squared"] = "cross_entropy"
    """`cross_entropy` of win, draw and loss (Leela Chess Zero), or the `squared` error of P(win) - P(loss) against the
    result (AlphaZero)."""

    def __post_init__(self) -> None:
        require_ranges(
            self,
            "algorithm",
            value_weight=(0, 100),
            margin_weight=(0, 100),
            owner_weight=(0, 100),
            value_mix=(0, 1),
            policy_temperature=(0.05, 10),
        )


@dataclass(frozen=True, kw_only=True)
class SupervisedConfig:
    """The moves of recorded games are the policy targets; validation games decide when to stop."""

    name: Literal["supervised"]
    """Which algorithm; its loss is in `learner/algorithms/supervised.py`."""

    value_weight: float
    """Weight of the value loss if the network has a value head, 0 to 100."""

    validation_every_steps: int
    """Steps between two validations."""

    patience: int | None
    """Validations without a lower loss after which training ends; null trains to the end of the run.  Candidates are
    always the best network so far."""

    def __post_init__(self) -> None:
        require_ranges(self, "algorithm", value_weight=(0, 100), validation_every_steps=(1, inf), patience=(1, inf))


@dataclass(frozen=True, kw_only=True)
class DqnConfig:
    """Deep Q-learning (Mnih et al. 2015): the value of every action from the value of the position it leads to."""

    name: Literal["dqn"]
    """Which algorithm; its targets are in `learner/algorithms/dqn.py`."""

    discount: float
    """What a reward one decision later is worth, above 0 to 1."""

    n_step: int
    """Decisions between a position and the one that its target is bootstrapped from (forced passes do not count); 1 to
    64."""

    target_every_steps: int
    """Steps between two copies of the network to the target network."""

    reward: Literal["result", "win"]
    """Reward at the end of a game.  `result`: 1, 0 or -1, and the opponent's values are negated.  `win`: 1 for a win,
    otherwise 0; values are then winning probabilities, and the opponent's value v counts as 1 - v."""

    every_move: bool
    """Whether every other legal move of a decision also gives a one-step transition."""

    loss: Literal["squared", "huber"]
    """Loss of the difference to the target; `huber` is linear above 1."""

    def __post_init__(self) -> None:
        require(0 < self.discount <= 1, "algorithm.discount", "above 0 and at most 1", self.discount)
        require_ranges(self, "algorithm", n_step=(1, 64), target_every_steps=(1, inf))


@dataclass(frozen=True, kw_only=True)
class QTableConfig:
    """Tabular Q-learning (Watkins 1989)."""

    name: Literal["q_table"]
    """Which algorithm; its update is in `learner/algorithms/q_table.py`."""

    learning_rate: float
    """Step size: the share of the difference to the target that each sample corrects, above 0 to 1."""

    discount: float
    """What a reward one decision later is worth, above 0 to 1."""

    def __post_init__(self) -> None:
        require(0 < self.learning_rate <= 1, "algorithm.learning_rate", "above 0 and at most 1", self.learning_rate)
        require(0 < self.discount <= 1, "algorithm.discount", "above 0 and at most 1", self.discount)


AlgorithmConfig = AlphaZeroConfig | SupervisedConfig | DqnConfig | QTableConfig
