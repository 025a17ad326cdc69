"""Tabular Q-learning: each sample moves one value of a table towards its target.  No torch, no gradient.

    target = reward + factor * max over the legal actions of Q(next position)
    Q(position, action) += learning_rate * (target - Q(position, action))

Source: Watkins 1989, "Learning from delayed rewards"; Sutton and Barto, "Reinforcement Learning" (2018), section 6.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learner.algorithms.config import QTableConfig
from learner.algorithms.reports import Losses, losses_of
from learner.config import TableLearnerConfig
from learner.replay.columns import SampleColumns
from learner.replay.transitions import Transitions
from learner.schedule import annealed
from reversi.errors import CorruptFileError
from reversi.games.bitboard import ONE
from reversi.games.rules import Game, legal_moves, square_of_action
from reversi.kernels.kernel import kernel
from reversi.model.config import TableConfig
from reversi.model.table import empty_table, table_index
from reversi.model.weights import Weights


class TableTraining:
    """A table trained on samples in the order they are drawn; the table itself is published."""

    def __init__(self, game: Game, network: TableConfig, config: TableLearnerConfig, algorithm: QTableConfig) -> None:
        self.step_count, self.ahead = 0, 0
        self._game, self._network, self._config, self._algorithm = game, network, config, algorithm
        self._table = empty_table()

    def batch(self, samples: SampleColumns, rng: np.random.Generator) -> Transitions:
        """Return the samples as they are."""
        assert isinstance(samples, Transitions)
        return samples.writable()

    def step(self, batch: Transitions, progress: float) -> NDArray[np.float64]:
        """Train on one sample after the other; return float64[3], the batch's losses."""
        sums = np.zeros(3)
        update(self._game.id, np.float32(self.learning_rate(progress)), batch.arrays(), self._table, sums)
        self.step_count += 1
        return sums / max(len(batch), 1)

    def mean(self, steps: Sequence[NDArray[np.float64]]) -> tuple[Losses, float]:
        """Return the mean losses of batches and 0, as a table has no gradient."""
        return losses_of("q_table", np.mean(steps, 0).tolist()), 0.0

    def learning_rate(self, progress: float) -> float:
        """Return the learning rate: the algorithm's, falling to `final_learning_rate` of it."""
        return self._algorithm.learning_rate * annealed(self._config, progress)

    def averaged(self, version: int) -> Weights:
        """Return a copy of the table."""
        return Weights(self._game.name, self._network, version, {"q": self._table.copy()})

    def begin_from(self, weights: Weights) -> None:
        """Begin with the table of a model."""
        self._table[:] = weights.arrays["q"]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the table."""
        return {"q": self._table.copy()}

    def restore(self, arrays: dict[str, NDArray[Any]], step_count: int) -> None:
        """Restore the table."""
        shapes = {name: array.shape for name, array in arrays.items()}
        if shapes != {"q": self._table.shape}:
            raise CorruptFileError(f"learner state: expected a table of {self._table.shape}, got {shapes}")
        self._table[:] = arrays["q"]
        self.step_count = step_count


@kernel
def update(
    game_id: int,
    rate: np.float32,
    transitions: Transitions,
    table: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Update the table by every transition in turn, so that later ones see the updates of earlier ones.

    rate          step size
    transitions   of a game of at most nine squares
    table         f32[3^9, 9] read and written
    sums          float64[3] written: of squared differences, of values before the update, of absolute differences

    Cost: two rows of the table, some 40 ns.
    """
    own, opp, action = transitions.own, transitions.opp, transitions.action
    next_own, next_opp, factor = transitions.next_own, transitions.next_opp, transitions.factor
    squared = value_sum = absolute = 0.0
    for b in range(own.shape[0]):
        target = transitions.reward[b]
        if factor[b] != 0:
            row = table_index(next_own[b], next_opp[b])
            legal = legal_moves(game_id, next_own[b], next_opp[b])
            best = np.float32(-np.inf)
            for a in range(table.shape[1]):
                if (legal >> np.uint64(square_of_action(game_id, a))) & ONE:
                    best = max(best, table[row, a])
            target += factor[b] * best
        row = table_index(own[b], opp[b])
        difference = target - table[row, action[b]]
        squared += difference * difference
        absolute += abs(difference)
        value_sum += table[row, action[b]]
        table[row, action[b]] += rate * difference
    sums[0], sums[1], sums[2] = squared, value_sum, absolute
