"""TD(lambda) on whole games: worked by hand, equal to a slow twin, exact to resume."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from actors.afterstate import AfterstatePlay
from learner.algorithms.config import TdConfig
from learner.algorithms.reports import TdLosses
from learner.algorithms.td import ABSOLUTE, ERRORS, WEIGHT, TdTraining
from learner.config import PatternLearnerConfig
from learner.replay.game_samples import GameSamples, games_of
from reversi.errors import CorruptFileError, IncompatibleModelError
from reversi.games.position import Position
from reversi.games.rules import GAMES, square_of_action
from reversi.games.symmetry import SYMMETRIES, action_table
from reversi.model.config import PatternConfig
from reversi.model.evaluate import open_evaluator
from reversi.patterns.shapes import shapes_of
from reversi.record import EXPLORED, OPENING, UNSEARCHED, Records
from scripts.config.compose import compose
from scripts.config.job import job_of
from tests.configs import afterstate_config
from tests.random_games import random_records
from tests.reversi.model.samples import PATTERNS, weights

GAME = GAMES["reversi4"]
MOST_SUM = 1 << 20
ALGORITHM = TdConfig(name="td", rate=0.5, hold=0.6, trace_decay=0.7, memory=MOST_SUM)


def learner_config(**changes: object) -> PatternLearnerConfig:
    learner = job_of(compose(["experiment=reversi8_patterns"])).learner
    assert isinstance(learner, PatternLearnerConfig)
    return replace(learner, **changes)  # type: ignore[arg-type]


def training(network: PatternConfig = PATTERNS, **changes: float) -> TdTraining:
    return TdTraining(GAME, network, learner_config(), replace(ALGORITHM, **changes))


def played(games: int, seed: int, **settings: object) -> Records:
    """Games by tables with opinions, with every kind of ply that such actors make."""
    usual = {"explore": 0.2, "opening_plies": 15, "long_openings": 0.2, "exact_empties": 4, "round_games": games}
    actors = afterstate_config(**(usual | settings))
    model = open_evaluator(weights(GAME, seed=seed, config=PATTERNS))
    records = AfterstatePlay(GAME, actors, model, seed).round(0.0, 0)
    assert records is not None
    return records


class SlowTables:
    """The same learning, one instance and one number after the other."""

    def __init__(self, network: PatternConfig) -> None:
        self.network, self.shapes = network, shapes_of(network.patterns, GAME.size)
        phases = -(-(GAME.squares - 4) // network.phase_discs)
        self.rows = np.zeros((phases, self.shapes.weights, 4), np.float32)
        self.bias = np.zeros(phases, np.float32)

    def where(self, position: Position) -> tuple[int, list[int]]:
        """Phase and weights of a position."""
        board = [
            (position.own >> square & 1) + 2 * (position.opp >> square & 1)
            for square in (square_of_action(GAME.id, action) for action in range(GAME.squares))
        ]
        found, offset, table = list[int](), 0, action_table(GAME)
        for pattern in self.network.patterns:
            squares = ["abcd".index(name[0]) + 4 * (int(name[1]) - 1) for name in pattern.split()]
            seen = set()
            for symmetry in range(SYMMETRIES):
                image = table[symmetry, squares].tolist()
                if frozenset(image) not in seen:
                    seen.add(frozenset(image))
                    raw = offset + sum(board[square] * 3**i for i, square in enumerate(image))
                    found.append(int(self.shapes.canonical[raw]))
            offset += 3 ** len(squares)
        discs = (position.own | position.opp).bit_count()
        return min((discs - 4) // self.network.phase_discs, len(self.bias) - 1), found

    def value(self, position: Position) -> float:
        phase, rows = self.where(position)
        return float(self.bias[phase] + sum(self.rows[phase, row, WEIGHT] for row in rows))

    def learn(self, position: Position, target: float, rate: float) -> None:
        phase, rows = self.where(position)
        error = target - self.value(position)
        step, counted = rate * error / len(rows), min(max(error, -8), 8)
        for row in rows:
            _, errors, absolute, _ = self.rows[phase, row]
            self.rows[phase, row, WEIGHT] += step * (abs(errors) / absolute if absolute > 0 else 1)
            self.rows[phase, row, ERRORS] += counted
            self.rows[phase, row, ABSOLUTE] += abs(counted)
        self.bias[phase] += 0.1 * step

    def sweep(self, records: Records, rate: float, config: TdConfig) -> None:
        first = 0
        for g in range(len(records)):
            plies, position = list[tuple[Position, int]](), Position.start(GAME)
            for p in range(first, first + records.plies[g]):
                plies.append((position, p))
                position = position.play(int(records.actions[p]))
            target = float(position.own.bit_count() - position.opp.bit_count())
            for ply, (before, p) in reversed(list(enumerate(plies))):
                kind, recorded = records.ply_kind[p], float(records.value[p]) * GAME.squares
                target = -target
                if records.actions[p] == GAME.pass_action:
                    continue
                if kind == OPENING:
                    break
                recorded = round(64 * recorded) / 64
                if ply >= records.exact_from[g] or kind == EXPLORED:
                    target = recorded
                else:
                    target = (1 - config.trace_decay) * recorded + config.trace_decay * target
                self.learn(before, target, rate)
            first += records.plies[g]


def test_the_sweep_is_that_of_the_slow_twin() -> None:
    records = played(60, 3)
    assert {OPENING, UNSEARCHED, EXPLORED} <= set(records.ply_kind.tolist())
    assert (records.actions == GAME.pass_action).any()
    assert (records.exact_from < records.plies).mean() > 0.8
    made, slow = training(), SlowTables(PATTERNS)
    made.step(games_of(records), 0.0)
    slow.sweep(records, ALGORITHM.rate, ALGORITHM)
    arrays = made.arrays()
    np.testing.assert_allclose(arrays["rows"], slow.rows, rtol=0, atol=2e-3)
    np.testing.assert_allclose(arrays["bias"], slow.bias, rtol=0, atol=2e-3)
    assert np.abs(slow.rows[:, :, WEIGHT]).max() > 0.5


def test_root_values_of_searched_plies_count_as_others() -> None:
    records = random_records("reversi4", 30, seed=5)
    made, slow = training(), SlowTables(PATTERNS)
    made.step(games_of(records), 0.0)
    slow.sweep(records, ALGORITHM.rate, ALGORITHM)
    np.testing.assert_allclose(made.arrays()["rows"], slow.rows, rtol=0, atol=2e-3)


def test_one_game_by_hand() -> None:
    """Two instances, so that a step is the rate times half the error; the last move of the game is learned first."""
    network = PatternConfig(kind="patterns", patterns=("a1 b1 c1 d1", "a2 b2 c2 d2"), phase_discs=12)
    records = random_records("reversi4", 1, seed=1)
    moves = np.flatnonzero(records.actions != GAME.pass_action)
    last = moves[-1]
    kinds = np.zeros(records.positions, np.uint8)
    kinds[last] = UNSEARCHED
    records = replace(
        records,
        ply_kind=kinds,
        policy=np.zeros_like(records.policy),
        value=np.full_like(records.value, 2 / GAME.squares),
    )
    made = training(network)
    losses, _ = made.mean([made.step(games_of(records), 0.0)])
    position = Position.start(GAME)
    for ply in range(last):
        position = position.play(int(records.actions[ply]))
    margin = float(records.margin[0]) * (1 if last % 2 == 0 else -1)
    error = (1 - ALGORITHM.trace_decay) * 2 + ALGORITHM.trace_decay * margin
    assert losses == TdLosses(total=pytest.approx(abs(error)), error=pytest.approx(abs(error)))
    phase, rows = SlowTables(network).where(position)
    assert (phase, len(rows)) == (0, 8)
    array = made.arrays()["rows"][0]
    for row in set(rows):
        expected = rows.count(row) * 0.5 * error / 8
        assert array[row, WEIGHT] == pytest.approx(expected, rel=1e-5)
        assert array[row, ERRORS] == pytest.approx(rows.count(row) * min(max(error, -8), 8))
    assert made.arrays()["bias"][0] == pytest.approx(0.1 * 0.5 * error / 8, rel=1e-5)


def test_sums_are_halved_before_they_lose_precision() -> None:
    made, games = training(), games_of(played(20, 3))
    full = made.arrays()
    full["rows"][:, :, ERRORS], full["rows"][:, :, ABSOLUTE] = -MOST_SUM, MOST_SUM * np.float32(1.5)
    made.restore(full, 0)
    made.step(games, 0.0)
    rows = made.arrays()["rows"]
    touched = rows[:, :, ABSOLUTE] != full["rows"][:, :, ABSOLUTE]
    assert touched.any()
    assert (rows[:, :, ABSOLUTE][touched] < MOST_SUM * 1.1).all()
    assert (rows[:, :, ERRORS][touched] > -MOST_SUM * 0.6).all()


def test_the_step_is_held_and_then_falls_to_its_end() -> None:
    made = training()
    final = learner_config().final_learning_rate
    assert [made.learning_rate(p) for p in (0.0, 0.6)] == [0.5, 0.5]
    assert made.learning_rate(0.8) == pytest.approx(0.5 * (final + (1 - final) / 2))
    assert made.learning_rate(1.0) == pytest.approx(0.5 * final)


def test_one_thread_repeats_exactly_and_resumes_exactly() -> None:
    parts = [games_of(played(40, seed)) for seed in range(3)]
    whole, half = training(), training()
    for part in parts:
        whole.step(part, 0.3)
    half.step(parts[0], 0.3)
    resumed = training()
    resumed.restore(half.arrays(), half.step_count)
    for part in parts[1:]:
        resumed.step(part, 0.3)
    assert resumed.step_count == 3
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, resumed.arrays()[name])
    assert whole.averaged(4).to_bytes() == resumed.averaged(4).to_bytes()


def test_two_threads_learn_as_much() -> None:
    games = games_of(played(400, 2))
    one, two = training(), TdTraining(GAME, PATTERNS, learner_config(threads=2), ALGORITHM)
    errors = []
    for made in (one, two):
        losses = [made.mean([made.step(games, 0.0)])[0] for _ in range(5)]
        errors.append(losses[-1].total)
        assert losses[-1].total < 0.9 * losses[0].total
    assert errors[1] == pytest.approx(errors[0], rel=0.1)


def test_published_tables_are_the_trained_ones_in_64ths_of_a_disc() -> None:
    made = training()
    for seed in range(4):
        made.step(games_of(played(100, seed)), 0.0)
    model, rows = made.averaged(9), made.arrays()["rows"][:, :, WEIGHT]
    np.testing.assert_allclose(model.arrays["tables"] / 64, rows, rtol=0, atol=1 / 128 + 1e-6)
    assert (model.arrays["width"] > 0.5).all()
    again = training()
    again.begin_from(model)
    begun = again.averaged(9)
    for name in ("tables", "bias"):
        np.testing.assert_array_equal(begun.arrays[name], model.arrays[name])
    for name in ("width", "temperature"):
        np.testing.assert_allclose(begun.arrays[name], model.arrays[name], rtol=1e-6)


def test_the_width_is_that_of_the_errors_against_the_end() -> None:
    """Of a table that knows nothing, the errors are the margins themselves."""
    records = played(3000, 1, exact_empties=0, explore=0.0, long_openings=0.0)
    made = training(rate=1e-9)
    made.step(games_of(records), 0.0)
    last_phase = made.averaged(0).arrays["width"][0]
    margins = records.margin.astype(float)
    assert last_phase == pytest.approx(np.sqrt((margins**2).mean() * 3) / np.pi, rel=0.05)


def test_another_model_is_no_start() -> None:
    other = replace(PATTERNS, phase_discs=4)
    with pytest.raises(IncompatibleModelError, match="expected a model of 5 patterns, phases of 6 discs"):
        training().begin_from(weights(GAME, config=other))
    with pytest.raises(IncompatibleModelError, match="expected a model for reversi4"):
        training().begin_from(weights("reversi6", config=PATTERNS))


def test_the_state_of_another_network_is_refused() -> None:
    with pytest.raises(CorruptFileError, match="learner state: expected tables"):
        training().restore(training(replace(PATTERNS, phase_discs=4)).arrays(), 0)


def test_games_are_rows_without_passes() -> None:
    records = played(50, 4)
    games = games_of(records)
    assert isinstance(games, GameSamples)
    first = 0
    for g in range(50):
        plies = slice(first, first + records.plies[g])
        actions, kinds = records.actions[plies], records.ply_kind[plies]
        moves = actions != GAME.pass_action
        count = int(moves.sum())
        assert games.count[g] == count
        squares = [square_of_action(GAME.id, int(action)) for action in actions[moves]]
        assert (games.moves[g, :count] & 63).tolist() == squares
        assert (games.moves[g, :count] >> 6).tolist() == kinds[moves].tolist()
        assert games.learned[g] == (kinds[moves] != OPENING).sum()
        assert games.exact_from[g] == moves[: records.exact_from[g]].sum()
        values = records.value[plies][moves].astype(np.float32) * GAME.squares * 64
        assert np.abs(games.values[g, :count] - values).max() <= 0.5
        first += records.plies[g]
    assert games.positions == games.learned.sum()
