"""TD(lambda): the tables of patterns learn every game backwards, from its exact end.  No torch, no gradient.

    G(t) = (1 - lambda) best(t) - lambda G(t + 1)    towards the mover; no change of sign where the other side passed
    V(t) += rate * (G(t) - V(t)), shared among the position's instances

best(t) is the value that the actor found, by the move after which it is best or by looking further.  Where a random
move was played, G(t) is best(t), and what came later does not count.  From the first solved position on it is the exact
margin; the opening, random too, is not learned.  Values are margins in discs.

Each weight has a step of its own, |sum of its errors| / sum of their absolute values: it is large while the errors
agree and falls where they are noise (temporal coherence).

Source: Sutton and Barto, "Reinforcement Learning" (2018), section 12.1 (lambda-returns); Beal and Smith 1999, "Temporal
coherence and prediction decay in TD learning"; Jaskowski 2018, "Mastering 2048 with delayed temporal coherence
learning"; Scheiermann and Konen, arXiv 2204.13307, for Othello.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from learner.algorithms.config import TdConfig
from learner.algorithms.reports import Losses, losses_of
from learner.config import PatternLearnerConfig
from learner.replay.columns import SampleColumns
from learner.replay.game_samples import SQUARE_BITS, GameSamples
from reversi.errors import CorruptFileError, IncompatibleModelError
from reversi.games.bitboard import ZERO, popcount
from reversi.games.rules import Game, action_of_square, legal_moves, play
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.kernels.threads import Threads
from reversi.model.config import PatternConfig
from reversi.model.weights import Weights
from reversi.patterns.index import PatternIndex, raw_indices, stack_indices
from reversi.patterns.shapes import shapes_of
from reversi.patterns.tables import DISC, phase_of, phases_of
from reversi.record import EXPLORED, OPENING

MOST_ERROR = np.float32(8)
"""Largest error, in discs, that counts in a weight's two sums."""

BIAS_SHARE = np.float32(0.1)
"""Step of a phase's bias relative to the whole step: it appears in every position."""

WEIGHT, ERRORS, ABSOLUTE = range(3)
"""Columns of a weight's row; the fourth is unused, so that a row lies in one cache line."""

FIRST_WIDTH, FIRST_TEMPERATURE = 6.0, 4.0
"""Width of the ordered logit and temperature of the policy, in discs, before there are errors to fit them to."""

_GAMES_KEPT = np.float32(200_000)
"""About how many positions of a phase the fit of its width and temperature remembers."""


class SweepParams(NamedTuple):
    """The parameters of a sweep, as scalars."""

    game_id: int
    phase_discs: int
    rate: np.float32
    trace_decay: np.float32
    memory: np.float32


class TdTables(NamedTuple):
    """What is trained."""

    rows: NDArray[np.float32]  # [phases, W, 4]  weight in discs, sum of errors, sum of absolute errors
    bias: NDArray[np.float32]  # [phases]
    fit: NDArray[np.float64]  # [phases, 4]  count and sum of squared errors against ends; the same against targets


class TdTraining:
    """Tables trained on games in the order they are drawn; they are published in integers of 1/64 disc."""

    def __init__(self, game: Game, network: PatternConfig, config: PatternLearnerConfig, algorithm: TdConfig) -> None:
        self.step_count, self.ahead = 0, 0
        self._game, self._network, self._config, self._algorithm = game, network, config, algorithm
        self._shapes = shapes_of(network.patterns, game.size)
        self._threads = Threads(config.threads)
        phases = phases_of(game.squares, network.phase_discs)
        self._tables = TdTables(
            rows=np.zeros((phases, self._shapes.weights, 4), np.float32),
            bias=np.zeros(phases, np.float32),
            fit=np.zeros((phases, 4), np.float64),
        )

    def batch(self, samples: SampleColumns, rng: np.random.Generator) -> GameSamples:
        """Return the games as they are."""
        assert isinstance(samples, GameSamples)
        return samples.writable()

    def step(self, batch: GameSamples, progress: float) -> NDArray[np.float64]:
        """Sweep one game after the other, on each thread its part; return float64[3]: positions, and their sums of
        squared and absolute errors."""
        params = SweepParams(
            self._game.id,
            self._network.phase_discs,
            np.float32(self.learning_rate(progress)),
            np.float32(self._algorithm.trace_decay),
            np.float32(self._algorithm.memory),
        )
        parts: list[NDArray[np.float64]] = []

        def work(start: int, stop: int) -> None:
            sums = np.zeros(3)
            part = batch[start:stop].arrays()
            sweep(part, params, self._shapes.lookup, self._shapes.canonical, self._tables, sums)
            parts.append(sums)

        self._threads.each(work, len(batch))
        self.step_count += 1
        return np.asarray(np.sum(parts, axis=0), np.float64)

    def mean(self, steps: Sequence[NDArray[np.float64]]) -> tuple[Losses, float]:
        """Return the root mean square and the mean absolute error in discs, and 0, as tables have no gradient."""
        positions, squared, absolute = np.sum(steps, axis=0)
        learned = max(float(positions), 1.0)
        return losses_of("td", (math.sqrt(float(squared) / learned), float(absolute) / learned)), 0.0

    def learning_rate(self, progress: float) -> float:
        """Return the step: constant for `hold` of the run, then linear to `final_learning_rate` of it at the end."""
        hold, final = self._algorithm.hold, self._config.final_learning_rate
        left = min(1.0, (1 - min(max(progress, 0.0), 1.0)) / max(1 - hold, 1e-9))
        return self._algorithm.rate * (final + (1 - final) * left)

    def averaged(self, version: int) -> Weights:
        """Return the tables in 1/64 disc, rounded, with the width and the temperature that fit their errors."""
        tables, most = self._tables, np.iinfo(np.int16).max
        fit = tables.fit
        with np.errstate(divide="ignore", invalid="ignore"):
            ends, targets = np.sqrt(fit[:, 1] / fit[:, 0]), np.sqrt(fit[:, 3] / fit[:, 2])
        width = np.where(fit[:, 0] > 0, ends * math.sqrt(3) / math.pi, FIRST_WIDTH)  # of a logistic distribution
        temperature = np.where(fit[:, 2] > 0, targets, FIRST_TEMPERATURE)
        return Weights(
            self._game.name,
            self._network,
            version,
            {
                "tables": np.clip(np.rint(DISC * tables.rows[:, :, WEIGHT]), -most, most).astype(np.int16),
                "bias": np.clip(np.rint(DISC * tables.bias), -most, most).astype(np.int16),
                "width": np.clip(width, 0.5, 30).astype(np.float32),
                "temperature": np.clip(temperature, 0.5, 30).astype(np.float32),
            },
        )

    def begin_from(self, weights: Weights) -> None:
        """Begin with the tables of a model of the same patterns, and with its widths and temperatures until there are
        errors to fit them to; IncompatibleModelError for other patterns."""
        weights.check_game(self._game)
        if weights.network != self._network:
            raise IncompatibleModelError(f"expected a model of {self._network}, got one of {weights.network}")
        self._tables.rows[:, :, WEIGHT] = weights.arrays["tables"] / np.float32(DISC)
        self._tables.bias[:] = weights.arrays["bias"] / np.float32(DISC)
        self._tables.fit[:, [0, 2]] = 1  # as of one position, which is soon outweighed
        self._tables.fit[:, 1] = (weights.arrays["width"] * (math.pi / math.sqrt(3))) ** 2
        self._tables.fit[:, 3] = np.square(weights.arrays["temperature"])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables with their sums."""
        return {name: array.copy() for name, array in self._tables._asdict().items()}

    def restore(self, arrays: dict[str, NDArray[Any]], step_count: int) -> None:
        """Restore the tables with their sums."""
        expected = {name: (array.shape, array.dtype) for name, array in self._tables._asdict().items()}
        if (got := {name: (array.shape, array.dtype) for name, array in arrays.items()}) != expected:
            raise CorruptFileError(f"learner state: expected tables {expected}, got {got}")
        for name, array in self._tables._asdict().items():
            array[...] = arrays[name]
        self.step_count = step_count


@kernel
def sweep(
    games: GameSamples,
    params: SweepParams,
    lookup: PatternIndex,
    canonical: NDArray[np.int32],
    tables: TdTables,
    sums: NDArray[np.float64],
) -> None:
    """Learn every game from its last position to its first.

    games    checked games
    tables   read and written
    sums     float64[3] added to: positions, squared and absolute errors in discs, each before its update

    Cost: 0.6 us a position (8x8, 54 instances, one core of an EPYC).
    """
    room = games.moves.shape[1]
    own, opp = np.empty(room, np.uint64), np.empty(room, np.uint64)
    sign = np.empty(room, np.float32)  # of a value of the next position, for the mover of this one
    for g in range(games.count.shape[0]):
        count = games.count[g]
        end = _positions(games, g, params.game_id, own, opp, sign)
        target = greedy_end = end  # of the position after the last move, for the side to move there
        from_end = True
        for t in range(count - 1, -1, -1):
            kind = games.moves[g, t] >> SQUARE_BITS
            if kind == OPENING:
                break
            recorded = np.float32(games.values[g, t]) / np.float32(DISC)
            target, greedy_end = sign[t] * target, sign[t] * greedy_end
            if t >= games.exact_from[g]:
                target = greedy_end = recorded
            elif kind == EXPLORED:
                target, from_end = recorded, False
            else:
                target = (np.float32(1) - params.trace_decay) * recorded + params.trace_decay * target
            error = _learn(own[t], opp[t], target, params, lookup, canonical, tables)
            sums[0] += 1
            sums[1] += error * error
            sums[2] += abs(error)
            phase = phase_of(params.phase_discs, tables.bias.shape[0], own[t], opp[t])
            _remember(tables.fit, phase, 2, error)
            if from_end:
                _remember(tables.fit, phase, 0, greedy_end - target + error)


@bare_kernel
def _positions(
    games: GameSamples,
    g: int,
    game_id: int,
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    sign: NDArray[np.float32],
) -> np.float32:
    """Write the positions of a game's moves and the sign after each; return the final margin for the side to move
    after the last move."""
    mine, theirs = games.own[g], games.opp[g]
    for t in range(games.count[g]):
        sign[max(t - 1, 0)] = -1
        if legal_moves(game_id, mine, theirs) == ZERO:
            mine, theirs = theirs, mine
            sign[max(t - 1, 0)] = 1
        own[t], opp[t] = mine, theirs
        square = games.moves[g, t] & ((1 << SQUARE_BITS) - 1)
        mine, theirs = play(game_id, mine, theirs, action_of_square(game_id, square))
    if games.count[g] > 0:
        sign[games.count[g] - 1] = -1
    return np.float32(popcount(mine) - popcount(theirs))


@bare_kernel
def _remember(fit: NDArray[np.float64], phase: int, column: int, error: np.float32) -> None:
    """Add an error to the count and the sum of squares in `column`, which forget the oldest ones by halves."""
    fit[phase, column] += 1
    fit[phase, column + 1] += error * error
    if fit[phase, column] > _GAMES_KEPT:
        fit[phase, column] /= 2
        fit[phase, column + 1] /= 2


@bare_kernel
def _learn(
    own: np.uint64,
    opp: np.uint64,
    target: np.float32,
    params: SweepParams,
    lookup: PatternIndex,
    canonical: NDArray[np.int32],
    tables: TdTables,
) -> np.float32:
    """Move a position's value towards `target`; return the error before.

    A weight that several instances share, as those of empty edges, is moved once for each: that is its gradient.
    """
    phase = phase_of(params.phase_discs, tables.bias.shape[0], own, opp)
    rows = tables.rows[phase]
    indices = stack_indices()
    count = raw_indices(lookup, own, opp, indices)
    value = tables.bias[phase]
    for i in range(count):
        row = canonical[indices[i]]
        indices[i] = np.uint32(row)
        value += rows[row, WEIGHT]
    error = target - value
    step = params.rate * error / np.float32(count)
    counted = min(max(error, -MOST_ERROR), MOST_ERROR)
    for i in range(count):
        row = indices[i]
        absolute = rows[row, ABSOLUTE]
        coherence = abs(rows[row, ERRORS]) / absolute if absolute > 0 else np.float32(1)
        rows[row, WEIGHT] += step * coherence
        rows[row, ERRORS] += counted
        rows[row, ABSOLUTE] = absolute + abs(counted)
        if absolute > params.memory:
            rows[row, ERRORS] /= 2
            rows[row, ABSOLUTE] /= 2
    tables.bias[phase] += BIAS_SHARE * step
    return np.float32(error)
