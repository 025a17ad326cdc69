"""What the replay in memory promises beyond the conformance tests: resuming with other sizes, refusing another game."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learner.algorithms.config import DqnConfig, QTableConfig
from learner.algorithms.sample_kinds import sample_kind
from learner.replay.columns import SampleKind
from learner.replay.deliveries import Receipt
from learner.replay.memory import MemoryReplay, check_capacity
from learner.replay.samples import POSITIONS
from learner.replay.transitions import TargetConfig, Transitions, transitions_of
from reversi import archive
from reversi.errors import ConfigError, CorruptFileError
from reversi.games.rules import GAMES
from reversi.record import UNSEARCHED, Records, encode
from tests.configs import replay_config
from tests.random_games import random_records

GAME = GAMES["reversi4"]
CONFIG = replay_config(capacity_positions=500, window_start=100, reuse=2.0, bucket_capacity=1000, min_positions=40)


DQN = DqnConfig(name="dqn", discount=0.9, n_step=3, target_every_steps=1, reward="win", every_move=True, loss="huber")
Q_TABLE = QTableConfig(name="q_table", learning_rate=0.5, discount=0.9)


def filled() -> MemoryReplay:
    replay = MemoryReplay(GAME, CONFIG, POSITIONS, 0)
    for sequence in range(4):
        replay.add(encode(random_records("reversi4", 10, seed=sequence), "a", sequence))
    return replay


def decided(seed: int) -> Records:
    """Random games whose every ply is a decision."""
    records = random_records("reversi4", 10, seed)
    return replace(records, ply_kind=np.full(records.positions, UNSEARCHED, np.uint8))


@pytest.mark.parametrize(("kind", "size"), [(POSITIONS, 54), (sample_kind(DQN), 41)], ids=["positions", "transitions"])
def test_the_largest_ring_can_be_saved_and_a_larger_one_is_refused(
    kind: SampleKind, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = MemoryReplay(GAME, replace(CONFIG, min_positions=1), kind, 0)
    for sequence in range(20):
        replay.add(encode(decided(sequence), "a", sequence))
    assert replay.report().fill == 1.0
    monkeypatch.setattr(archive, "MAX_HEADER_BYTES", 4000)
    monkeypatch.setattr(archive, "MAX_BYTES", 4000 + 500 * size)
    check_capacity(GAME, CONFIG, kind)
    replay.restore(replay.state())
    says = rf"capacity_positions must be at most 500: {size} bytes a position, .* room for {500 * size}, got 501"
    with pytest.raises(ConfigError, match=says):
        check_capacity(GAME, replace(CONFIG, capacity_positions=501), kind)


def test_positions_that_are_counted_and_gone_are_not_drawn() -> None:
    """As when only receipts are left of what other runs on the server crowded out."""
    replay = MemoryReplay(GAME, CONFIG, POSITIONS, 0)
    replay.count_evicted(Receipt("a", 0, games=100, positions=5000, rejected=0))
    assert (replay.sample(1, 8), replay.room()) == (None, True)
    replay.add(encode(random_records("reversi4", 1, seed=0), "a", 1))
    assert replay.sample(1, 8) is not None


@pytest.mark.parametrize("capacity", [100, 500, 900])
def test_a_run_resumed_with_another_capacity_keeps_the_newest_that_fit(capacity: int) -> None:
    before = filled()
    after = MemoryReplay(GAME, replace(CONFIG, capacity_positions=capacity), POSITIONS, 0)
    after.restore(before.state())
    held = before.report().positions
    assert held > 400
    assert after.report().positions == min(held, capacity)
    assert after.report().tokens == before.report().tokens
    samples = after.sample(4, 25)
    assert samples is not None
    assert len(samples) == 100


@pytest.mark.parametrize("algorithm", [DQN, Q_TABLE])
def test_an_algorithm_decides_what_a_sample_is(algorithm: DqnConfig | QTableConfig) -> None:
    replay = MemoryReplay(GAME, CONFIG, sample_kind(algorithm), 0)
    expected = Transitions.concatenate(
        [
            transitions_of(decided(seed), TargetConfig(n_step=3, discount=0.9, win=True, every_move=True))
            if algorithm is DQN
            else transitions_of(decided(seed), TargetConfig(n_step=1, discount=0.9, win=False, every_move=False))
            for seed in range(2)
        ]
    )
    for seed in range(2):
        replay.add(encode(decided(seed), "a", seed))
    assert replay.report().positions_total == len(expected)
    drawn = replay.sample(4, 100)
    assert isinstance(drawn, Transitions)
    there = {row.tobytes() for row in np.stack([c.astype(np.float64) for c in expected.columns().values()], 1)}
    got = {row.tobytes() for row in np.stack([c.astype(np.float64) for c in drawn.columns().values()], 1)}
    assert got <= there
    assert len(got) > 50


def test_a_restored_replay_of_transitions_goes_on_as_if_nothing_had_happened() -> None:
    one, two = (MemoryReplay(GAME, CONFIG, sample_kind(DQN), seed) for seed in (1, 2))
    for seed in range(4):  # the ring has gone round
        one.add(encode(decided(seed), "a", seed))
        one.sample(1, 77)
    assert one.report().fill == 1.0
    two.restore(one.state())
    assert two.report() == one.report()
    for seed in range(3, 7):
        batch = encode(decided(seed), "a", seed)
        assert two.add(batch) == one.add(batch)
        ours, theirs = one.sample(3, 50), two.sample(3, 50)
        assert isinstance(ours, Transitions)
        assert isinstance(theirs, Transitions)
        for name, column in ours.columns().items():
            np.testing.assert_array_equal(column, theirs.columns()[name])
    assert two.state() == one.state()


def test_samples_of_one_algorithm_are_refused_by_another() -> None:
    with pytest.raises(
        CorruptFileError, match=r"^replay state: expected transitions for this algorithm, got positions$"
    ):
        MemoryReplay(GAME, CONFIG, sample_kind(DQN), 0).restore(filled().state())
    with pytest.raises(CorruptFileError, match="expected positions for this algorithm, got transitions"):
        filled().restore(MemoryReplay(GAME, CONFIG, sample_kind(Q_TABLE), 0).state())


def test_the_state_of_another_game_is_refused() -> None:
    other = MemoryReplay(GAMES["reversi6"], CONFIG, POSITIONS, 0)
    with pytest.raises(CorruptFileError, match="expected one of reversi6, got one of 'reversi4'"):
        other.restore(filled().state())


def test_the_first_sample_comes_with_exactly_the_least_positions() -> None:
    data = encode(random_records("reversi4", 10, seed=0), "a", 0)
    held = MemoryReplay(GAME, CONFIG, POSITIONS, 0)
    held.add(data)
    count = held.report().positions
    for least, there in ((count, True), (count + 1, False)):
        replay = MemoryReplay(GAME, replace(CONFIG, min_positions=least), POSITIONS, 0)
        replay.add(data)
        assert (replay.sample(1, 10) is not None) == there


def test_samples_drawn_elsewhere_take_their_tokens_once() -> None:
    replay = filled()
    tokens = replay.report().tokens
    for _ in range(2):
        replay.count_drawn(30)
        assert (replay.report().samples_total, replay.report().tokens) == (30, tokens - 30)
