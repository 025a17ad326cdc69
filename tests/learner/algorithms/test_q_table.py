"""The table: worked by hand, equal to a slow twin, and led to the true values of tic-tac-toe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learner.algorithms.config import QTableConfig
from learner.algorithms.q_table import TableTraining
from learner.algorithms.reports import QTableLosses
from learner.replay.transitions import TargetConfig, Transitions, transitions_of
from reversi.errors import CorruptFileError
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.model.config import TableConfig
from reversi.model.table import table_index
from reversi.model.weights import Weights
from reversi.record import UNSEARCHED, Records
from tests.learner.jobs import TABLE
from tests.random_games import game_record, random_records

GAME = GAMES["tictactoe"]
ALGORITHM = QTableConfig(name="q_table", learning_rate=0.5, discount=0.9)
CONSTANT = replace(TABLE, final_learning_rate=1.0)
RULE = TargetConfig(n_step=1, discount=0.9, win=False, every_move=False)


def training(**changes: float) -> TableTraining:
    return TableTraining(GAME, TableConfig(), CONSTANT, replace(ALGORITHM, **changes))


def decided(records: Records) -> Records:
    return replace(records, ply_kind=np.full(records.positions, UNSEARCHED, np.uint8))


def transitions(games: int, seed: int, rule: TargetConfig = RULE) -> Transitions:
    return transitions_of(decided(random_records("tictactoe", games, seed)), rule)


def value(table: np.ndarray, actions: list[int]) -> float:
    """Of the last of `actions`, in the position before it."""
    position = Position.start("tictactoe")
    for action in actions[:-1]:
        position = position.play(action)
    return float(table[table_index(np.uint64(position.own), np.uint64(position.opp)), actions[-1]])


def test_a_lost_game_comes_back_from_its_end_one_decision_a_time() -> None:
    game, made = [0, 3, 1, 4, 2], training()  # cross completes a row
    sample = transitions_of(decided(game_record("tictactoe", game, np.random.default_rng(0))), RULE)
    made.step(sample, 0.0)
    assert [value(made.averaged(0).arrays["q"], game[: k + 1]) for k in range(5)] == [0, 0, 0, 0, 0.5]
    made.step(sample, 0.0)
    table = made.averaged(0).arrays["q"]
    assert value(table, game) == 0.75
    # circle's last move: its target is -0.9 times the best that cross has then, 0.5 at that time
    assert value(table, game[:4]) == pytest.approx(0.5 * -0.9 * 0.5)
    assert value(table, game[:3]) == 0  # circle has better moves left, as far as the table knows


def test_the_kernel_equals_a_slow_twin() -> None:
    made, seen = training(), dict[tuple[int, int, int], float]()
    sample = transitions(80, seed=1)
    sums = made.step(sample, 0.0)
    squared = []
    for row in range(len(sample)):
        key = (int(sample.own[row]), int(sample.opp[row]), int(sample.action[row]))
        target = float(sample.reward[row])
        if sample.factor[row]:
            there = (int(sample.next_own[row]), int(sample.next_opp[row]))
            legal = Position(GAME, *there).legal_actions()
            target += float(sample.factor[row]) * max(seen.get((*there, action), 0.0) for action in legal)
        before = seen.get(key, 0.0)
        squared.append((target - before) ** 2)
        seen[key] = before + 0.5 * (target - before)
    table = made.arrays()["q"]
    for (own, opp, action), expected in seen.items():
        assert table[table_index(np.uint64(own), np.uint64(opp)), action] == pytest.approx(expected, abs=1e-6)
    assert np.count_nonzero(table) == sum(each != 0 for each in seen.values())
    assert sums[0] == pytest.approx(np.mean(squared), rel=1e-5)


def test_enough_samples_give_the_true_values() -> None:
    """Of all legal moves of 3,000 random games, again and again: no discount, so the values are the results."""
    made = training(learning_rate=1.0)
    sample = transitions(3000, 2, RULE._replace(discount=1.0, every_move=True))
    for _ in range(9):
        made.step(sample, 0.0)
    table = made.arrays()["q"]
    start = Position.start("tictactoe")
    assert not table[table_index(np.uint64(start.own), np.uint64(start.opp))].any()  # every first move draws
    corner = [0, 1]  # the edge beside the corner loses against correct play
    assert value(table, corner) == -1
    assert value(table, [0, 4]) == 0
    assert value(table, [*corner, 3]) == 1
    losses, norm = made.mean([made.step(sample, 0.0)])
    assert isinstance(losses, QTableLosses)
    assert (losses.total, norm) == (0, 0)


def test_a_restored_table_goes_on_bit_for_bit() -> None:
    made, again = training(), training()
    made.step(transitions(50, 3), 0.0)
    again.restore(made.arrays(), made.step_count)
    for each in (made, again):
        each.step(transitions(50, 4), 0.5)
    assert made.arrays()["q"].tobytes() == again.arrays()["q"].tobytes()
    assert made.step_count == again.step_count == 2


def test_published_weights_are_the_table_as_it_was() -> None:
    made = training()
    made.step(transitions(50, 3), 0.0)
    weights = made.averaged(7)
    before = weights.arrays["q"].copy()
    made.step(transitions(50, 4), 0.0)
    np.testing.assert_array_equal(weights.arrays["q"], before)
    read = Weights.from_bytes(weights.to_bytes(), "test")
    assert (read.version, read.game, read.network) == (7, "tictactoe", TableConfig())
    np.testing.assert_array_equal(read.arrays["q"], before)


def test_a_table_begins_with_that_of_a_model() -> None:
    made, again = training(), training()
    made.step(transitions(50, 3), 0.0)
    again.begin_from(made.averaged(7))
    assert again.arrays()["q"].tobytes() == made.arrays()["q"].tobytes()
    assert again.step_count == 0


def test_the_rate_follows_the_schedule() -> None:
    made = TableTraining(GAME, TableConfig(), replace(CONSTANT, final_learning_rate=0.1), ALGORITHM)
    assert [made.learning_rate(progress) for progress in (0.0, 0.5, 1.0)] == pytest.approx([0.5, 0.275, 0.05])


def test_another_table_is_refused() -> None:
    with pytest.raises(CorruptFileError, match=r"expected a table of \(19683, 9\), got"):
        training().restore({"q": np.zeros((5, 9), np.float32)}, 0)
