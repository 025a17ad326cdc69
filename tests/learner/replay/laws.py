"""What every replay transport must do; the test of each imports these and brings the fixture `opened`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learner.replay.columns import SampleColumns
from learner.replay.samples import Samples, samples_of
from learner.replay.transport import Replay
from reversi import archive
from reversi.errors import ConfigError, CorruptFileError
from reversi.games.rules import GAMES, RULES_VERSION
from reversi.record import FORMAT, KIND, OPENING, Records, encode
from tests.configs import replay_config
from tests.random_games import random_records

GAME = GAMES["reversi4"]
CONFIG = replay_config(capacity_positions=600, window_start=100, reuse=2.0, bucket_capacity=1000, min_positions=40)


Opened = Callable[..., Replay]
"""Opens a fresh replay of a configuration and a seed; refused records go to `tmp_path / "rejected"`."""


@pytest.fixture
def replay(opened: Opened) -> Replay:
    return opened()


def games(count: int, seed: int) -> Records:
    return random_records(GAME.name, count, seed, opening=2)


def rows(samples: Samples) -> set[tuple[int, ...]]:
    """What tells samples apart: positions and targets."""
    columns = (samples.own, samples.opp, samples.final_own, samples.margin, samples.policy.sum(axis=1, dtype=np.int64))
    return {tuple(int(x) for x in row) for row in zip(*columns, strict=True)}


def assert_equal(a: SampleColumns | None, b: SampleColumns | None) -> None:
    assert (a is None) == (b is None)
    if a is not None and b is not None:
        assert a.COLUMNS == b.COLUMNS
        for name, column in a.columns().items():
            np.testing.assert_array_equal(column, b.columns()[name], err_msg=name)


def drawn(replay: Replay, n_batches: int, batch: int) -> Samples:
    samples = replay.sample(n_batches, batch)
    assert isinstance(samples, Samples)
    return samples


def changed(records: Records, column: str, index: Any, value: Any) -> Records:
    array = getattr(records, column).copy()
    array[index] = value
    return replace(records, **{column: array})


def test_what_is_added_is_reported_and_held(replay: Replay) -> None:
    records = games(10, seed=0)
    trained = int((records.ply_kind != OPENING).sum())
    added = replay.add(encode(records, "a", 0))
    assert (added.games, added.positions, added.rejected, added.duplicate, added.reason) == (10, trained, 0, False, "")
    report = replay.report()
    assert (report.games_total, report.positions_total, report.positions) == (10, trained, trained)
    assert report.fill == pytest.approx(trained / 600)
    assert report.tokens == 2 * trained
    assert report.samples_total == 0


def test_samples_are_those_of_the_records_added(replay: Replay) -> None:
    first, second = games(6, seed=0), games(6, seed=1)
    replay.add(encode(first, "a", 0))
    replay.add(encode(second, "b", 0))
    assert rows(drawn(replay, 4, 25)) <= rows(samples_of(Records.concatenate([first, second])))


def test_the_learner_waits_until_there_are_enough_positions(replay: Replay) -> None:
    replay.add(encode(games(3, seed=0), "a", 0))
    assert replay.report().positions_total < 40
    assert replay.sample(1, 1) is None
    replay.add(encode(games(6, seed=1), "a", 1))
    assert len(drawn(replay, 1, 1)) == 1


def test_each_position_is_used_at_most_reuse_times_on_average(replay: Replay) -> None:
    samples = 0
    for sequence in range(12):
        replay.add(encode(games(3, seed=sequence), "a", sequence))
        while (got := replay.sample(2, 8)) is not None:
            samples += len(got)
        assert samples <= 2 * replay.report().positions_total
    report = replay.report()
    assert report.samples_total == samples > 2 * report.positions_total - 16
    assert report.tokens == 2 * report.positions_total - samples


def test_a_full_bucket_asks_actors_to_wait_and_loses_nothing(replay: Replay) -> None:
    sequence = 0
    while replay.add(encode(games(5, seed=sequence), "a", sequence)).room:
        assert replay.room()
        sequence += 1
    assert not replay.room()
    held = replay.report().positions_total
    late = replay.add(encode(games(5, seed=99), "b", 0))
    assert not late.room
    assert replay.report().positions_total == held + late.positions
    tokens = replay.report().tokens
    drawn(replay, 1, int(tokens - 999))
    assert replay.room()


def test_actors_never_wait_for_a_learner_that_waits_for_positions(opened: Opened) -> None:
    replay = opened(replace(CONFIG, bucket_capacity=20))
    few = replay.add(encode(games(3, seed=0), "a", 0))
    assert few.positions < 40
    assert replay.report().tokens > 20
    assert few.room
    assert not replay.add(encode(games(6, seed=1), "a", 1)).room
    assert len(drawn(replay, 2, 8)) == 16


def test_a_draw_that_could_never_be_served_is_refused_at_once(replay: Replay) -> None:
    with pytest.raises(ConfigError, match=r"replay.bucket_capacity must be at least one draw \(2 .* 501 .*, got 1000"):
        replay.sample(2, 501)


def test_only_the_window_is_drawn_from(opened: Opened) -> None:
    replay = opened(replace(CONFIG, window_start=50, beta=0.0))
    old, new = games(20, seed=0), games(20, seed=1)
    replay.add(encode(old, "a", 0))
    replay.add(encode(new, "a", 1))
    assert replay.report().window_positions == 50
    assert rows(drawn(replay, 1, 300)) <= rows(samples_of(new)[-50:])


def test_the_oldest_make_room(replay: Replay) -> None:
    for sequence in range(20):
        replay.add(encode(games(8, seed=sequence), "a", sequence))
    report = replay.report()
    assert (report.positions, report.fill) == (600, 1.0)
    assert report.positions_total > 1200


def test_a_repeated_delivery_is_counted_once_in_any_order(replay: Replay) -> None:
    batches = [encode(games(2, seed=n), "a", n) for n in range(6)]
    for n in (0, 3, 1, 3, 5, 0, 4, 2, 1, 2):
        replay.add(batches[n])
    report = replay.report()
    assert (report.games_total, report.duplicates) == (12, 4)
    again = replay.add(batches[4])
    assert (again.duplicate, again.games, again.positions, again.rejected) == (True, 0, 0, 0)
    assert replay.add(encode(games(2, seed=0), "b", 0)).games == 2


def test_refuted_games_are_kept_aside_and_their_neighbours_trained_on(replay: Replay, tmp_path: Path) -> None:
    records = games(5, seed=0)
    forged = changed(changed(records, "margin", 1, 99), "final_own", 3, 0)
    data = encode(forged, "actor-1", 8)
    added = replay.add(data)
    assert (added.games, added.rejected, added.reason) == (3, 2, "wrong-margin")
    good = samples_of(records.select(np.array([True, False, True, False, True])))
    assert added.positions == len(good)
    replay.add(encode(games(9, seed=5), "actor-1", 9))
    assert rows(drawn(replay, 1, 100)) <= rows(good) | rows(samples_of(games(9, seed=5)))
    assert (tmp_path / "rejected" / "000001-wrong-margin.records").read_bytes() == data
    explanation = (tmp_path / "rejected" / "000001-wrong-margin.txt").read_text()
    assert explanation == "batch 8 of 'actor-1':\ngame 1: wrong-margin\ngame 3: wrong-board\n"


def bad_deliveries() -> dict[str, tuple[str, bytes]]:
    """Every kind of delivery that has nothing good in it, by what is wrong: (reason, bytes)."""
    one = games(1, seed=0)
    good = encode(one, "a", 1)
    last = one.positions - 1
    cut = replace(
        changed(one, "plies", 0, last),
        **{name: getattr(one, name)[:-1] for name in ("actions", "policy", "value", "ply_kind")},
    )
    header = {"game": GAME.name, "rules_version": RULES_VERSION + 1, "producer": "a", "sequence": 1}
    columns = {field.name: getattr(one, field.name) for field in fields(Records) if field.name != "game"}
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 4
    forged = {
        "unfinished game": ("unfinished", cut),
        "illegal move": ("illegal-move", changed(one, "actions", 2, one.actions[1])),
        "wrong margin": ("wrong-margin", changed(one, "margin", 0, one.margin[0] + 1)),
        "wrong final board": ("wrong-board", changed(one, "final_opp", 0, one.final_opp[0] ^ np.uint64(2))),
        "policy on an illegal square": ("policy-off-rules", changed(one, "policy", (2, 5), 9)),
        "value not a number": ("bad-value", changed(one, "value", 2, np.nan)),
    }
    return {
        "empty": ("unreadable", b""),
        "truncated": ("unreadable", good[: len(good) // 2]),
        "bit-flipped": ("unreadable", bytes(flipped)),
        "foreign kind": ("unreadable", archive.pack("weights", 1, columns, {})),
        "other rules version": ("other-rules", archive.pack(KIND, FORMAT, columns, header)),
        "other game": ("other-game", encode(random_records("reversi6", 1, seed=0), "a", 1)),
        **{what: (reason, encode(records, "a", 1)) for what, (reason, records) in forged.items()},
    }


@pytest.mark.parametrize("what", bad_deliveries())
def test_a_bad_delivery_is_counted_kept_aside_and_never_trained_on(replay: Replay, tmp_path: Path, what: str) -> None:
    reason, data = bad_deliveries()[what]
    replay.add(encode(games(9, seed=3), "a", 0))
    before = replay.report()
    added = replay.add(data)
    assert (added.games, added.positions, added.rejected, added.reason) == (0, 0, 1, reason)
    after = replay.report()
    assert after == replace(before, rejected_games=1, rejected_batches=1)
    assert (tmp_path / "rejected" / f"000001-{reason}.records").read_bytes() == data
    assert (tmp_path / "rejected" / f"000001-{reason}.txt").read_text().strip()


def test_rubbish_of_any_length_raises_nothing(replay: Replay) -> None:
    rng = np.random.default_rng(0)
    good = encode(games(1, seed=0), "a", 1)
    for _ in range(150):
        position = int(rng.integers(len(good)))
        replay.add(good[:position] + rng.bytes(int(rng.integers(1, 60))) + good[position:])
    assert replay.report().rejected_batches == 150


def test_the_same_seed_draws_the_same_samples(opened: Opened) -> None:
    one, two, other = opened(), opened(), opened(seed=8)
    for each in (one, two, other):
        each.add(encode(games(20, seed=0), "a", 0))
    first = drawn(one, 2, 32)
    assert_equal(first, drawn(two, 2, 32))
    assert (first.own != drawn(other, 2, 32).own).any()


def test_a_restored_replay_goes_on_as_if_nothing_had_happened(opened: Opened) -> None:
    one = opened()
    for sequence in range(9):  # the ring has gone round
        one.add(encode(games(12, seed=sequence), "a", sequence))
        one.sample(1, 77)
    assert one.report().fill == 1.0
    two = opened(seed=1234)
    two.restore(one.state())
    assert two.report() == one.report()
    for sequence in range(8, 12):  # 8 has been delivered before
        batch = encode(games(12, seed=sequence), "a", sequence)
        assert two.add(batch) == one.add(batch)
        assert two.room() == one.room()
        assert_equal(two.sample(3, 50), one.sample(3, 50))
    assert two.report() == one.report()


def test_a_new_replay_can_be_saved_and_restored(opened: Opened) -> None:
    one, two = opened(), opened(seed=1)
    two.restore(one.state())
    for each in (one, two):
        each.add(encode(games(20, seed=0), "a", 0))
    assert_equal(two.sample(1, 64), one.sample(1, 64))


def test_a_damaged_state_changes_nothing(replay: Replay) -> None:
    replay.add(encode(games(20, seed=0), "a", 0))
    state, before = replay.state(), replay.report()
    for damaged in (b"", state[:-1], state[:200] + bytes([state[200] ^ 1]) + state[201:]):
        with pytest.raises(CorruptFileError):
            replay.restore(damaged)
    assert replay.report() == before
    samples = drawn(replay, 1, 64)
    replay.restore(state)
    assert_equal(drawn(replay, 1, 64), samples)
