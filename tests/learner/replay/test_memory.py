"""What the replay in memory promises beyond the conformance tests: resuming with other sizes, refusing another game."""

from __future__ import annotations

from dataclasses import replace

import pytest

from learner.replay.config import ReplayConfig
from learner.replay.memory import MemoryReplay
from reversi.errors import CorruptFileError
from reversi.games.rules import GAMES
from reversi.record import encode
from tests.random_games import random_records

GAME = GAMES["reversi4"]
CONFIG = ReplayConfig(capacity_positions=500, window_start=100, reuse=2.0, bucket_capacity=1000, min_positions=40)


def filled() -> MemoryReplay:
    replay = MemoryReplay(GAME, CONFIG, 0, None)
    for sequence in range(4):
        replay.add(encode(random_records("reversi4", 10, seed=sequence), "a", sequence))
    return replay


@pytest.mark.parametrize("capacity", [100, 500, 900])
def test_a_run_resumed_with_another_capacity_keeps_the_newest_that_fit(capacity: int) -> None:
    before = filled()
    after = MemoryReplay(GAME, replace(CONFIG, capacity_positions=capacity), 0, None)
    after.restore(before.state())
    held = before.report().positions
    assert held > 400
    assert after.report().positions == min(held, capacity)
    assert after.report().tokens == before.report().tokens
    samples = after.sample(4, 25)
    assert samples is not None
    assert len(samples) == 100


def test_the_state_of_another_game_is_refused() -> None:
    other = MemoryReplay(GAMES["reversi6"], CONFIG, 0, None)
    with pytest.raises(CorruptFileError, match="expected one of reversi6, got one of 'reversi4'"):
        other.restore(filled().state())
