"""Whole games as samples: a replay counts their positions."""

from __future__ import annotations

import numpy as np
import pytest

from learner.replay.game_samples import GAMES, GameSamples
from learner.replay.memory import MemoryReplay, check_capacity
from reversi.errors import ConfigError
from reversi.games.rules import game_named
from reversi.record import OPENING, Records, encode
from tests.configs import replay_config
from tests.random_games import random_records

GAME = game_named("reversi6")


def replay(**changes: object) -> MemoryReplay:
    usual = {"min_positions": 1, "reuse": 2.0, "bucket_capacity": 100_000, "window_start": 100_000, "beta": 0.0}
    return MemoryReplay(GAME, replay_config(**(usual | changes)), GAMES, seed=1)


def learned(records: Records) -> int:
    return int(((records.ply_kind != OPENING) & (records.actions != GAME.pass_action)).sum())


def test_positions_are_counted_and_not_games() -> None:
    held, records = replay(), random_records("reversi6", 50, seed=1, opening=4)
    report = held.add(encode(records, "a", 0))
    assert (report.games, report.positions) == (50, learned(records))
    samples = held.sample(2, 8)
    assert isinstance(samples, GameSamples)
    assert len(samples) == 16
    now = held.report()
    assert (now.positions, now.positions_total) == (learned(records), learned(records))
    assert now.samples_total == samples.positions
    assert now.tokens == 2 * learned(records) - samples.positions


def test_a_draw_takes_the_tokens_of_its_positions() -> None:
    held, records = replay(), random_records("reversi6", 50, seed=1)
    held.add(encode(records, "a", 0))
    drawn = 0
    while (samples := held.sample(1, 10)) is not None:
        drawn += samples.positions
    assert 1.7 * learned(records) < drawn < 2.1 * learned(records)


def test_the_window_is_in_positions() -> None:
    each = learned(random_records("reversi6", 1, seed=0))
    held = replay(window_start=10 * each)
    for number in range(40):
        held.add(encode(random_records("reversi6", 1, seed=number), "a", number))
    assert held.report().window_positions == 10 * each
    samples = held.sample(1, 60)
    assert isinstance(samples, GameSamples)
    games = {samples.moves[row].tobytes() for row in range(60)}
    newest = replay(reuse=100.0)
    for number in range(26, 40):
        newest.add(encode(random_records("reversi6", 1, seed=number), "a", number))
    known = newest.sample(5, 60)
    assert isinstance(known, GameSamples)
    assert games <= {known.moves[row].tobytes() for row in range(300)}


def test_the_state_is_restored() -> None:
    held, other = replay(), replay()
    held.add(encode(random_records("reversi6", 50, seed=1), "a", 0))
    held.sample(1, 4)
    other.restore(held.state())
    assert other.report() == held.report()
    one, two = held.sample(2, 8), other.sample(2, 8)
    assert one is not None
    assert two is not None
    for name, column in one.columns().items():
        np.testing.assert_array_equal(column, two.columns()[name])


def test_a_capacity_of_positions_is_refused_by_the_bytes_of_games() -> None:
    check_capacity(GAME, replay_config(capacity_positions=10**9), GAMES)
    with pytest.raises(ConfigError, match=r"replay.capacity_positions must be at most"):
        check_capacity(GAME, replay_config(capacity_positions=10**10), GAMES)
