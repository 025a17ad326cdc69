"""Tables: every position has a row of its own, files of other games are refused, and answers come without a network."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.errors import ConfigError, CorruptFileError, IncompatibleModelError
from reversi.games.rules import GAMES, game_named
from reversi.model.action_values import Q_TEMPERATURE
from reversi.model.config import TableConfig
from reversi.model.evaluate import open_evaluator
from reversi.model.table import empty_table, table_index
from reversi.model.weights import Weights, array_shapes
from tests.reversi.model.samples import positions, weights

GAME = game_named("tictactoe")


def test_rows_are_numbers_in_base_three():
    assert table_index(np.uint64(0), np.uint64(0)) == 0
    assert table_index(np.uint64(0b1), np.uint64(0b10)) == 1 + 2 * 3
    assert table_index(np.uint64(1 << 8), np.uint64(1 << 18)) == 3**3 + 2 * 3**8
    assert table_index(np.uint64(0), np.uint64(0x070707)) == 3**9 - 1


def test_every_row_is_of_one_position():
    squares = [8 * row + column for row in range(3) for column in range(3)]
    for row in range(3**9):
        digits = [row // 3**square % 3 for square in range(9)]
        own, opp = (
            np.uint64(sum(1 << bit for bit, digit in zip(squares, digits, strict=True) if digit == side))
            for side in (1, 2)
        )
        assert table_index(own, opp) == row


def test_a_table_is_one_array_of_zeros_at_first():
    table = empty_table()
    assert (table.shape, table.dtype, table.any()) == ((19683, 9), np.float32, np.False_)
    assert array_shapes(TableConfig(), 3) == {"q": (19683, 9)}


def test_bytes_round_trip_exactly():
    before = weights(GAME, 5, config=TableConfig())
    after = Weights.from_bytes(before.to_bytes(), "here")
    assert (after.game, after.network, after.version) == ("tictactoe", TableConfig(), 5)
    np.testing.assert_array_equal(after.arrays["q"], before.arrays["q"])


def test_a_table_of_a_larger_game_is_incompatible():
    table = Weights("reversi4", TableConfig(), 0, {"q": empty_table()})
    with pytest.raises(
        IncompatibleModelError, match="here: network table wants a game of at most 3x3 squares, got 4x4"
    ):
        Weights.from_bytes(table.to_bytes(), "here")


@pytest.mark.parametrize(
    "arrays",
    [{}, {"q": empty_table()[1:]}, {"q": empty_table(), "r": np.zeros(1, np.float32)}, {"table": empty_table()}],
    ids=["none", "short", "another", "name"],
)
def test_another_shape_is_corrupt(arrays):
    with pytest.raises(CorruptFileError, match="here: the arrays do not fit table on tictactoe"):
        Weights.from_bytes(Weights("tictactoe", TableConfig(), 0, arrays).to_bytes(), "here")


def test_values_that_are_no_numbers_are_corrupt():
    table = empty_table()
    table[77, 3] = np.nan
    with pytest.raises(CorruptFileError, match="finite float32"):
        Weights.from_bytes(Weights("tictactoe", TableConfig(), 0, {"q": table}).to_bytes(), "here")


@pytest.mark.parametrize("backend", ["auto", "openvino", "torch"])
def test_whatever_backend_is_asked_for_a_table_is_looked_up(backend):
    table = weights(GAME, config=TableConfig())
    evaluator = open_evaluator(table, backend=backend, batch=256, slots=2)
    assert (evaluator.name, evaluator.device, evaluator.precision) == ("table", "cpu", "float32")
    own, opp = positions(GAME, 300)
    rows = table.arrays["q"][[table_index(*pair) for pair in zip(own, opp, strict=True)]]
    empty = np.array(
        [
            [not (o | p) >> (8 * row + col) & 1 for row in range(3) for col in range(3)]
            for o, p in zip(own.tolist(), opp.tolist(), strict=True)
        ]
    )
    value = np.clip(np.where(empty, rows, -np.inf).max(1), -1, 1)
    for count in (300, 0, 1, 7, 256):
        logits, utility = evaluator(own[:count], opp[:count])
        np.testing.assert_allclose(logits[:, :9] * Q_TEMPERATURE, rows[:count], rtol=1e-6)
        assert (logits[:, 9] == 0).all()
        np.testing.assert_array_equal(utility, value[:count])
    evaluator.submit(0, own[:7], opp[:7])
    evaluator.submit(1, own[7:9], opp[7:9])
    np.testing.assert_array_equal(evaluator.collect(0)[1], value[:7])
    np.testing.assert_array_equal(evaluator.collect(1)[1], value[7:9])


def test_a_table_is_no_work_for_a_gpu():
    with pytest.raises(ConfigError, match=r"device must be cpu \(or auto\) for a table, got 'cuda'"):
        open_evaluator(weights(GAME, config=TableConfig()), device="cuda", batch=4)


def test_the_table_that_was_opened_stays_until_another_is_loaded():
    table = weights(GAME, 1, config=TableConfig())
    evaluator = open_evaluator(table, batch=4)
    own, opp = positions(GAME, 1)
    before = evaluator(own, opp)[1].copy()
    table.arrays["q"][:] = -1  # as a learner does that goes on with its own
    np.testing.assert_array_equal(evaluator(own, opp)[1], before)
    evaluator.load(weights(GAME, 2, seed=9, config=TableConfig()))
    assert evaluator.version == 2
    assert evaluator(own, opp)[1] != before
    with pytest.raises(IncompatibleModelError, match="expected weights of table, got 2 blocks x 16 channels"):
        evaluator.load(weights(GAME, 3))


def test_games_without_a_table_are_the_reversi_ones():
    for game in GAMES.values():
        if game.size > 3:
            with pytest.raises(ConfigError, match="network table wants a game of at most 3x3"):
                array_shapes(TableConfig(), game.size)
