"""The algorithms' settings: one configuration each, distinguished by its `name`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from reversi.settings import FROM_0_TO_BELOW_1, LATER, above, at_least, between, require, require_ranges


@dataclass(frozen=True, kw_only=True)
class AlphaZeroConfig:
    """Policy targets from search, value targets from results, and KataGo's two auxiliary targets."""

    name: Literal["alphazero"]
    """Which algorithm; its targets and losses are in `learner/algorithms/alphazero.py`."""

    value_weight: Annotated[float, between(0, 100)]
    """Weight of the value loss relative to the policy loss.  AlphaZero: 1."""

    margin_weight: Annotated[float, between(0, 100)]
    """Weight of the squared error of the final margin (as a share of the board).  AlphaZero: 0."""

    owner_weight: Annotated[float, between(0, 100)]
    """Weight of the squared error of each square's final owner, averaged over squares.  AlphaZero: 0; KataGo: 1.5/N^2
    a square; the head costs little and trains the tower to see which discs survive."""

    value_mix: Annotated[float, between(0, 1)]
    """Share of the search's root value in the value target, 0 to 1; the rest is the result.  AlphaZero: 0.  Up to 0.2
    reduces the noise of single games; with more the network learns its own errors."""

    policy_temperature: Annotated[float, between(0.05, 10)]
    """Temperature of the policy target: visits^(1/temperature), normalised.  Below 1 sharpens it.  AlphaZero: 1."""

    policy_loss: Literal["cross_entropy", "squared"]
    """`cross_entropy` (AlphaZero), or the `squared` error of the legal moves' probabilities, summed over the moves."""

    value_loss: Literal["cross_entropy", "squared"]
    """`cross_entropy` of win, draw and loss (Leela Chess Zero), or the `squared` error of P(win) - P(loss) against the
    result (AlphaZero)."""

    def __post_init__(self) -> None:
        require_ranges(self, "algorithm")


@dataclass(frozen=True, kw_only=True)
class SupervisedConfig:
    """The moves of recorded games are the policy targets; validation games decide when to stop."""

    name: Literal["supervised"]
    """Which algorithm; its loss is in `learner/algorithms/supervised.py`."""

    value_weight: Annotated[float, between(0, 100)]
    """Weight of the value loss if the network has a value head, 0 to 100."""

    validation_every_steps: Annotated[int, at_least(1)]
    """Steps between two validations."""

    patience: Annotated[int | None, at_least(1)]
    """Validations without a lower loss after which training ends; candidates are the best networks so far.  null: no
    early stopping; the run trains to its end, and candidates are the newest networks."""

    symmetric: bool = field(default=True, metadata=LATER)
    """Whether each sample is trained on under a random one of the board's symmetries, eight times as many positions as
    the games have; false: as it was played."""

    masked: bool = field(default=True, metadata=LATER)
    """Whether the loss is over the legal moves; false: over all actions, so that the network learns the rules too.  In
    validation and play the move is a legal one in either case."""

    def __post_init__(self) -> None:
        require_ranges(self, "algorithm")


@dataclass(frozen=True, kw_only=True)
class DqnConfig:
    """Deep Q-learning (Mnih et al. 2015): the value of every action from the value of the position it leads to."""

    name: Literal["dqn"]
    """Which algorithm; its targets are in `learner/algorithms/dqn.py`."""

    discount: Annotated[float, above(0, 1)]
    """What a reward one decision later is worth, above 0 to 1."""

    n_step: Annotated[int, between(1, 64)]
    """Decisions between a position and the one that its target is bootstrapped from (forced passes do not count); 1 to
    64."""

    target_every_steps: Annotated[int, at_least(1)]
    """Steps between two copies of the network to the target network."""

    reward: Literal["result", "win"]
    """Reward at the end of a game.  `result`: 1, 0 or -1, and the opponent's values are negated.  `win`: 1 for a win,
    otherwise 0; values are then winning probabilities, and the opponent's value v counts as 1 - v."""

    every_move: bool
    """Whether every other legal move of a decision also gives a one-step transition."""

    loss: Literal["squared", "huber"]
    """Loss of the difference to the target; `huber` is linear above 1."""

    symmetric: bool = field(default=True, metadata=LATER)
    """Whether a network with convolutions is trained on each transition under a random symmetry of the board."""

    opponent_turns: Literal["negate", "skip", "share"] = field(default="negate", metadata=LATER)
    """What the other side's turns are to a side's values.  `negate`: decisions like its own, whose value counts against
    it.  `skip`: a part of its own step, which leads to its own next decision.  `share`: for a network of two agents,
    decisions that both learn from; each has its own reward and takes the largest of its own values, whoever moves."""

    def __post_init__(self) -> None:
        require_ranges(self, "algorithm")
        fits = not (self.every_move and self.opponent_turns == "skip")
        require(
            fits, "algorithm.every_move", "false with opponent_turns=skip: a reply is known to one move alone", True
        )


@dataclass(frozen=True, kw_only=True)
class QTableConfig:
    """Tabular Q-learning (Watkins 1989)."""

    name: Literal["q_table"]
    """Which algorithm; its update is in `learner/algorithms/q_table.py`."""

    learning_rate: Annotated[float, above(0, 1)]
    """Step size: the share of the difference to the target that each sample corrects, above 0 to 1."""

    discount: Annotated[float, above(0, 1)]
    """What a reward one decision later is worth, above 0 to 1."""

    def __post_init__(self) -> None:
        require_ranges(self, "algorithm")


@dataclass(frozen=True, kw_only=True)
class TdConfig:
    """TD(lambda) on whole games, for networks of patterns."""

    name: Literal["td"]
    """Which algorithm; its update is in `learner/algorithms/td.py`."""

    rate: Annotated[float, above(0, 1)]
    """Step size: the share of a position's error that its weights correct together, before each one's own step.
    Jaskowski 2018: 1."""

    hold: Annotated[float, FROM_0_TO_BELOW_1]
    """Share of the run in which the step size stays constant; then it falls linearly to `learner.final_learning_rate`
    of it."""

    trace_decay: Annotated[float, between(0, 1)]
    """Lambda: 0 learns from the values that the actors found alone, 1 from the end of the game alone."""

    memory: Annotated[float, between(1, 1 << 20)]
    """Sum of a weight's absolute errors, in discs, at which both of its sums are halved: with less a weight forgets
    sooner, and its own step falls less far.  Above 2**20 float32 would lose single errors."""

    def __post_init__(self) -> None:
        require_ranges(self, "algorithm")


AlgorithmConfig = AlphaZeroConfig | SupervisedConfig | DqnConfig | QTableConfig | TdConfig
