"""The Redis replay on a real server: what is pushed is trained on, once, and a restart finds it again."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from redis.exceptions import OutOfMemoryError

from learner.algorithms.config import AlgorithmConfig, DqnConfig, QTableConfig, TdConfig
from learner.algorithms.sample_kinds import sample_kind
from learner.replay.deliveries import Receipt
from learner.replay.memory import MemoryReplay
from learner.replay.redis.consumer import Consumer, Taken
from learner.replay.redis.replay import RedisReplay
from learner.replay.redis.server import RedisServer
from learner.replay.redis.stream import count_in, entry_of, flow_control_key, receipt_fields, receipt_in, streams
from reversi.errors import UnreachableError
from reversi.record import encode
from tests.random_games import random_records
from tests.runs.redis.redis_setup import (
    CONFIG,
    GAME,
    batch,
    consumer_of,
    fresh_key,
    games,
    games_taken,
    opened,
    sink_of,
    until,
)

DQN = DqnConfig(name="dqn", discount=0.9, n_step=3, target_every_steps=1, reward="win", every_move=True, loss="huber")
Q_TABLE = QTableConfig(name="q_table", learning_rate=0.1, discount=1.0)
TD = TdConfig(name="td", rate=0.3, hold=0.6, trace_decay=0.8, memory=1 << 20)

ODD = "ж \n"
"""A producer's name."""


def test_what_a_sink_pushes_the_learner_draws(redis_server: RedisServer) -> None:
    key = fresh_key()
    with opened(redis_server, key, shards=3) as replay:
        sinks = [pickle.loads(pickle.dumps(replay.sink())) for _ in range(4)]
        for number, sink in enumerate(sinks):
            for sequence in range(5):
                sink.push(batch(sequence, f"actor-{number}"))
            sink.close()
        until(lambda: games_taken(replay) == 40)
        assert replay.report().duplicates == 0
        samples = replay.draw(4, 64, wait_s=5.0)
        assert samples is not None
        assert len(samples) == 256
        client = redis_server.client()
        lengths = [client.xlen(stream) for stream in streams(key, 3)]
        assert sum(lengths) == 20
        assert sum(length > 0 for length in lengths) > 1


@pytest.mark.parametrize("algorithm", [DQN, Q_TABLE, TD], ids=lambda algorithm: algorithm.name)
def test_every_kind_of_sample_comes_through_the_stream_as_it_does_in_memory(
    redis_server: RedisServer, algorithm: AlgorithmConfig
) -> None:
    memory = MemoryReplay(GAME, CONFIG, sample_kind(algorithm), 7)
    over = RedisReplay(MemoryReplay(GAME, CONFIG, sample_kind(algorithm), 7), CONFIG, redis_server, key := fresh_key())
    with contextlib.closing(over):
        for sequence in range(6):
            assert over.add(batch(sequence, count=4)) == memory.add(batch(sequence, count=4))
        drawn, expected = over.sample(2, 16), memory.sample(2, 16)
        assert expected is not None
        assert type(drawn) is type(expected)
        for name, column in expected.columns().items():
            np.testing.assert_array_equal(drawn.columns()[name], column, err_msg=name)
    again = RedisReplay(MemoryReplay(GAME, CONFIG, sample_kind(algorithm), 8), CONFIG, redis_server, key)
    with contextlib.closing(again):
        until(lambda: again.report().games_total == 24)
        assert again.report().positions == memory.report().positions > 0


def test_a_position_of_8x8_takes_at_most_120_bytes_in_the_server(redis_server: RedisServer) -> None:
    key = fresh_key()
    records = random_records("reversi8", 32, seed=0, opening=6)
    sink = sink_of(redis_server, key)
    sink.push(encode(records, "actor-0-0", 0))
    sink.close()
    bytes_used = redis_server.client().memory_usage(streams(key, 1)[0], samples=0)
    assert 60 < bytes_used / records.positions < 120


def test_duplicates_and_any_order_count_once_and_take_no_room(redis_server: RedisServer) -> None:
    key = fresh_key()
    with opened(redis_server, key) as replay:
        sink = replay.sink()
        for sequence in (0, 3, 1, 3, 5, 0, 4, 2, 1, 2):
            sink.push(batch(sequence))
        until(lambda: games_taken(replay) + 2 * replay.report().duplicates == 20)
        assert (games_taken(replay), replay.report().duplicates) == (12, 4)
        client = redis_server.client()
        until(lambda: client.xlen(streams(key, 1)[0]) == 6)


def test_garbage_is_counted_kept_aside_and_deleted_from_the_stream(redis_server: RedisServer, tmp_path: Path) -> None:
    key = fresh_key()
    client, stream = redis_server.client(), streams(key, 1)[0]
    good = batch(0)
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 4
    with opened(redis_server, key, rejected=tmp_path) as replay:
        for fields in (
            {"hello": "world"},
            {"records": b""},
            {"records": good[:-1]},
            {"records": bytes(flipped), "producer": "a", "sequence": 0},
            {"records": good, "producer": "\udcff".encode("utf-8", "surrogatepass"), "sequence": "x"},  # sound records
        ):
            client.xadd(stream, fields)
        until(lambda: games_taken(replay) == 2)
        report = replay.report()
        assert (report.rejected_batches, report.duplicates) == (4, 0)
        until(lambda: client.xlen(stream) == 1 and client.xpending(stream, "learner")["pending"] == 0)
    assert (tmp_path / "000001-unreadable.records").read_bytes() == b"hello=world\n"
    assert (tmp_path / "000004-unreadable.records").read_bytes() == bytes(flipped)


def test_the_stream_holds_a_ring_of_what_was_taken_and_no_more(redis_server: RedisServer) -> None:
    key = fresh_key()
    client, stream = redis_server.client(), streams(key, 1)[0]
    with opened(redis_server, key) as replay:
        sink = replay.sink()
        sizes = []
        for sequence in range(60):
            sink.push(batch(sequence, count=4))
            sizes.append(int((games(4, seed=sequence).ply_kind != 0).sum()))
        until(lambda: games_taken(replay) == 240)
        needed = next(n for n in range(1, 61) if sum(sizes[-n:]) >= 600)
        until(lambda: client.xlen(stream) == needed)
        until(lambda: client.get(flow_control_key(stream)) == b"%d 1" % needed)
    with opened(redis_server, key) as again:
        until(lambda: games_taken(again) == 240)
        report = again.report()
        assert (report.positions, report.positions_total) == (600, sum(sizes))


def test_a_restart_without_a_state_finds_the_window_again(redis_server: RedisServer) -> None:
    key = fresh_key()
    with opened(redis_server, key) as replay:
        for sequence in range(9):
            replay.add(batch(sequence))
        before = replay.report()
    with opened(redis_server, key) as again:
        until(lambda: games_taken(again) == 18)
        assert again.report() == before


def test_a_restored_replay_has_all_that_was_taken_after_its_state_and_counts_nothing_twice(
    redis_server: RedisServer,
) -> None:
    key = fresh_key()
    with opened(redis_server, key) as replay:
        for sequence in range(6):
            replay.add(batch(sequence))
        state = replay.state()
        for sequence in range(6, 10):
            replay.add(batch(sequence))
        before = replay.report()
    sink = sink_of(redis_server, key)
    sink.push(batch(10))  # while nobody reads
    with opened(redis_server, key, seed=99) as again:
        again.restore(state)
        until(lambda: games_taken(again) == 22)
        after = again.report()
        assert after.duplicates == before.duplicates == 0
        assert after.positions_total == before.positions_total + int((games(2, seed=10).ply_kind != 0).sum())
        assert again.add(batch(3)).duplicate


def test_an_older_state_counts_what_the_ring_has_pushed_out_since(redis_server: RedisServer) -> None:
    key = fresh_key()
    client, stream = redis_server.client(), streams(key, 1)[0]
    bad = games(2, seed=1)
    bad.margin[0] += 2
    with opened(redis_server, key) as replay:
        for sequence in range(4):
            replay.add(batch(sequence, producer=ODD))
        state = replay.state()
        replay.add(encode(bad, "bad", 0))
        client.xadd(stream, {"records": batch(0, producer="\ud800")})  # as no sink of ours would send it
        for sequence in range(4, 80):
            replay.add(batch(sequence, producer=ODD))
        before = replay.report()
    assert client.xlen(stream) < 60, "the ring must have gone round"
    with opened(redis_server, key) as again:
        again.restore(state)
        assert again.report() == before
        assert all(again.add(batch(sequence, producer=ODD)).duplicate for sequence in range(80))
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        again.add(batch(80))
        assert games_taken(again) == before.games_total + 2, "read again, and counted once"


def test_a_delivery_that_is_not_read_in_time_leaves_no_list_of_reports(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(condition: object, what: str) -> None:
        raise UnreachableError(what)

    with opened(redis_server, fresh_key()) as replay:
        with monkeypatch.context() as patched:
            patched.setattr(replay, "_wait_for", give_up)
            with pytest.raises(UnreachableError):
                replay.add(batch(0))
        assert replay._reports is None
        assert replay.add(batch(1)).games == 2


def test_a_full_server_takes_receipts(redis_server: RedisServer) -> None:
    key = fresh_key()
    client, stream = redis_server.client(), streams(key, 1)[0]
    consumer = consumer_of(redis_server, key)
    sink_of(redis_server, key).push(batch(0))
    (entry,) = consumer.read_new(1.0)
    receipt = Receipt("a", 0, 2, 0, 1)
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(OutOfMemoryError):
            client.xadd(stream, {"a": "b"})
        consumer.confirm([Taken(entry.stream, entry.id, 1, receipt)])
    finally:
        client.config_set("maxmemory", 0)
    assert client.xlen(stream) == 0
    assert list(consumer.receipts()) == [receipt]
    assert list(consumer.receipts()) == []


def test_a_full_server_is_read_by_a_replay_that_starts(redis_server: RedisServer) -> None:
    """Only reading makes room: that the group cannot be created does not matter where there is one."""
    key, client = fresh_key(), redis_server.client()
    consumer_of(redis_server, key)
    for sequence in range(3):
        sink_of(redis_server, key).push(batch(sequence))
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(OutOfMemoryError):
            consumer_of(redis_server, fresh_key())
        with opened(redis_server, key, patience_s=5) as replay:
            until(lambda: games_taken(replay) == 6)
    finally:
        client.config_set("maxmemory", 0)


def test_streams_are_read_again_in_the_order_of_arrival(redis_server: RedisServer) -> None:
    key, client = fresh_key(), redis_server.client()
    consumer = Consumer(client, key, shards=3, capacity_positions=600, takeover_s=0.1)
    consumer.open()
    fields, _ = entry_of(batch(0))
    names = streams(key, 3)
    arrivals = [(names[number**2 % 7 % 3], b"%d-%d" % (8 + number // 2, number % 2)) for number in range(100)]
    for stream, identity in arrivals:
        client.xadd(stream, fields, id=identity)
    while consumer.read_new(0.01):
        pass
    pages = list(consumer.history())
    assert [(entry.stream, entry.id) for page in pages for entry in page] == arrivals
    assert len(pages) > 3


def test_a_replay_that_is_closed_adds_nothing(redis_server: RedisServer) -> None:
    with opened(redis_server, fresh_key()) as replay:
        replay.close()
        with pytest.raises(UnreachableError, match="the replay was closed before it could add"):
            replay.add(batch(0))


def test_a_receipt_comes_back_and_what_is_none_is_nobodys() -> None:
    def fields(receipt: Receipt) -> dict[bytes, bytes]:
        words = [word if isinstance(word, bytes) else str(word).encode() for word in receipt_fields(receipt)]
        return dict(zip(words[::2], words[1::2], strict=True))

    receipt = Receipt(ODD + "\ud800", (1 << 63) - 1, 32, 900, 1)
    assert receipt_in(fields(receipt)) == receipt
    for bad in (
        receipt._replace(producer="x" * 201),
        receipt._replace(sequence=1 << 63),
        receipt._replace(positions=(256 << 20) + 1),
        receipt._replace(games=-1),
        receipt._replace(games=10**4000),
    ):
        assert receipt_in(fields(bad)) is None
    assert receipt_in(fields(receipt) | {b"producer": b"\xff"}) is None
    assert receipt_in({b"producer": b"a"}) is None
    assert receipt_in(None) is None


@pytest.mark.parametrize(
    ("value", "count"), [(None, 0), (b"", 0), (b"12", 12), (b"-1", 0), (b"1e3", 0), (b"9" * 40, 0)]
)
def test_a_count_on_the_server_is_a_number_or_none(value: bytes | None, count: int) -> None:
    assert count_in(value) == count
