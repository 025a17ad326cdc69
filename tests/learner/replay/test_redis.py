"""The Redis replay on a real server: nothing acknowledged is lost, nothing is counted twice, whoever dies."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learner.algorithms.config import AlgorithmConfig, DqnConfig, QTableConfig
from learner.replay.memory import MemoryReplay
from learner.replay.redis import RedisReplay
from learner.replay.redis_consumer import Consumer, Taken
from learner.replay.redis_sink import RedisSink
from learner.replay.redis_stream import count_in, drawn_key, streams, word_key
from learner.replay.redis_url import RedisServer
from learner.replay.transitions import Transitions
from reversi.errors import UnreachableError
from reversi.record import encode
from tests.learner.replay.redis_setup import CONFIG, GAME, batch, embedded, fresh_key, games, opened, until
from tests.random_games import random_records

DQN = DqnConfig(name="dqn", discount=0.9, n_step=3, target_every_steps=1, reward="win", every_move=True, loss="huber")
Q_TABLE = QTableConfig(name="q_table", learning_rate=0.1, discount=1.0)


def sink_of(server: RedisServer, key: str, **changes: Any) -> RedisSink:
    numbers = {"shards": 1, "backlog_batches": 1000, "patience_s": 20.0} | changes
    return RedisSink(server, key, **numbers)


def consumer_of(server: RedisServer, key: str, takeover_s: float = 0.1) -> Consumer:
    client = server.client()
    consumer = Consumer(client, streams(key, 1), drawn_key(key), capacity_positions=600, takeover_s=takeover_s)
    consumer.open()
    return consumer


def games_taken(replay: RedisReplay) -> int:
    return replay.report().games_total


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


@pytest.mark.parametrize("algorithm", [DQN, Q_TABLE], ids=lambda algorithm: algorithm.name)
def test_transitions_come_through_the_stream_as_they_do_in_memory(
    redis_server: RedisServer, algorithm: AlgorithmConfig
) -> None:
    memory = MemoryReplay(GAME, CONFIG, 7, None, algorithm)
    over = RedisReplay(MemoryReplay(GAME, CONFIG, 7, None, algorithm), CONFIG, redis_server, key := fresh_key())
    with contextlib.closing(over):
        for sequence in range(6):
            assert over.add(batch(sequence, count=4)) == memory.add(batch(sequence, count=4))
        drawn, expected = over.sample(2, 16), memory.sample(2, 16)
        assert isinstance(drawn, Transitions)
        assert expected is not None
        for name, column in expected.columns().items():
            np.testing.assert_array_equal(drawn.columns()[name], column, err_msg=name)
    again = RedisReplay(MemoryReplay(GAME, CONFIG, 8, None, algorithm), CONFIG, redis_server, key)
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
        until(lambda: client.get(word_key(stream)) == b"%d 1" % needed)
    with opened(redis_server, key) as again:
        until(lambda: games_taken(again) == 4 * needed)
        assert again.report().positions == 600


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


@pytest.mark.parametrize("saved_before", [False, True], ids=["no checkpoint", "a checkpoint"])
def test_a_replay_that_died_beside_the_learner_gives_no_sample_that_is_not_paid_for(
    redis_server: RedisServer, saved_before: bool
) -> None:
    key, client = fresh_key(), redis_server.client()

    def drawn_in_all(replay: RedisReplay) -> int:
        while replay.sample(1, 8) is not None:
            pass
        return replay.report().samples_total

    with opened(redis_server, key) as replay:
        for sequence in range(4):
            replay.add(batch(sequence, count=4))
        state = replay.state() if saved_before else None
        drawn = drawn_in_all(replay)
        paid = CONFIG.reuse * replay.report().positions_total
        assert paid - 8 < drawn <= paid
        until(lambda: count_in(client.get(drawn_key(key))) == drawn)

    def again(learner_lives: bool) -> RedisReplay:
        memory = MemoryReplay(GAME, CONFIG, 7, None)
        if state is not None:
            memory.restore(state)
        return RedisReplay(memory, CONFIG, redis_server, key, learner_lives=learner_lives)

    with contextlib.closing(again(learner_lives=True)) as replay:
        until(lambda: games_taken(replay) == 16)
        assert drawn_in_all(replay) == drawn, "nothing new has come"
        replay.add(batch(9, count=4))
        paid = CONFIG.reuse * replay.report().positions_total
        assert paid - 8 < drawn_in_all(replay) <= paid
    with contextlib.closing(again(learner_lives=False)) as replay:
        until(lambda: games_taken(replay) == 20)
        assert drawn_in_all(replay) > drawn - 8, "a learner that begins anew draws anew"


@pytest.mark.parametrize(
    ("value", "count"), [(None, 0), (b"", 0), (b"12", 12), (b"-1", 0), (b"1e3", 0), (b"9" * 40, 0)]
)
def test_a_count_on_the_server_is_a_number_or_none(value: bytes | None, count: int) -> None:
    assert count_in(value) == count


def test_entries_that_a_dead_consumer_was_given_are_taken_at_once_by_a_new_one(redis_server: RedisServer) -> None:
    key = fresh_key()
    client, stream = redis_server.client(), streams(key, 1)[0]
    dead = consumer_of(redis_server, key)
    sink = sink_of(redis_server, key)
    for sequence in range(5):
        sink.push(batch(sequence))
    assert len(dead.fresh(0.1)) == 5
    assert client.xpending(stream, "learner")["pending"] == 5
    with opened(redis_server, key) as replay:
        until(lambda: games_taken(replay) == 10)
        until(lambda: client.xpending(stream, "learner")["pending"] == 0)


def test_a_running_consumer_takes_over_from_one_that_dies_beside_it(redis_server: RedisServer) -> None:
    key = fresh_key()
    one, two = consumer_of(redis_server, key), consumer_of(redis_server, key)
    sink = sink_of(redis_server, key)
    for sequence in range(3):
        sink.push(batch(sequence))
    given = one.fresh(0.1)
    one.confirm([Taken(entry.stream, entry.id, 1, 9) for entry in given[:1]])
    assert two.take_over() == 0  # one may still be alive
    assert two.fresh(0.01) == []
    time.sleep(0.15)
    assert two.take_over() == 2
    assert [entry for page in two.history() for entry in page] == given


def test_a_running_replay_takes_what_another_left(redis_server: RedisServer) -> None:
    key = fresh_key()
    client, stream = redis_server.client(), streams(key, 1)[0]
    with opened(redis_server, key) as replay:
        replay.add(batch(0))
        for sequence in range(1, 4):  # given to another consumer before the replay can look
            both = client.pipeline(transaction=True)
            both.xadd(stream, {"records": batch(sequence)})
            both.xreadgroup("learner", "other", {stream: ">"}, count=1)
            both.execute()
        replay.add(batch(4))
        assert games_taken(replay) == 4
        assert until(lambda: games_taken(replay) == 10) < 5
        assert replay.report().duplicates == 0


def test_producers_wait_at_the_bound_while_nobody_reads_and_go_on_when_somebody_does(redis_server: RedisServer) -> None:
    key = fresh_key()
    sink = sink_of(redis_server, key, backlog_batches=5)
    pushed = []

    def produce() -> None:
        for sequence in range(20):
            sink.push(batch(sequence))
            pushed.append(sequence)

    producer = threading.Thread(target=produce)
    producer.start()
    until(lambda: len(pushed) == 4)
    time.sleep(0.2)
    assert len(pushed) == 4  # the fifth is in the stream and its push waits
    with opened(redis_server, key) as replay:
        until(lambda: games_taken(replay) == 40)
        producer.join(5)
        assert len(pushed) == 20


def test_a_full_bucket_holds_producers_back_until_the_learner_draws(redis_server: RedisServer) -> None:
    with opened(redis_server, fresh_key(), bucket_capacity=200) as replay:
        sink = replay.sink()
        deliveries = [batch(sequence, count=4) for sequence in range(20)]
        pushed = []

        def produce() -> None:
            for delivery in deliveries:
                time.sleep(0.02)  # the learner's word is up to one page of its reading old
                sink.push(delivery)
                pushed.append(delivery)

        producer = threading.Thread(target=produce)
        producer.start()
        until(lambda: not replay.room())
        time.sleep(0.6)
        assert len(pushed) < 20
        until(lambda: replay.draw(1, 50, wait_s=0.05) is None and len(pushed) == 20)
        producer.join(5)
        sink.close()


def test_a_stop_releases_producers_that_wait(redis_server: RedisServer) -> None:
    with opened(redis_server, fresh_key(), bucket_capacity=100) as replay:
        sink = replay.sink()
        producer = threading.Thread(target=lambda: [sink.push(batch(n, count=8)) for n in range(6)])
        producer.start()
        until(lambda: not replay.room())
        replay.stop()
        producer.join(3)
        assert not producer.is_alive()
        until(lambda: games_taken(replay) == 48)


def test_a_full_server_makes_producers_wait_and_loses_nothing(tmp_path: Path) -> None:
    with embedded(tmp_path, memory_mb=16) as running:
        key = fresh_key()
        consumer_of(running.server, key)  # the group is there, its reader is not
        records = games(200, seed=0)
        deliveries = [encode(records, "a", sequence) for sequence in range(12)]
        filler = running.server.client()
        stuffing = 0
        while int(filler.info("memory")["used_memory"]) < (16 << 20) - 1.5 * len(deliveries[0]):
            filler.set(f"other-{stuffing}", bytes(100_000))
            stuffing += 1
        sink = sink_of(running.server, key)
        pushed = []

        def produce() -> None:
            for delivery in deliveries:
                sink.push(delivery)
                pushed.append(delivery)

        producer = threading.Thread(target=produce)
        producer.start()
        time.sleep(0.6)
        assert len(pushed) < 12
        with pytest.raises(UnreachableError, match=r"gave up after 0 s of .OOM"):
            sink_of(running.server, key, patience_s=0.2).push(encode(records, "b", 0))
        with opened(running.server, key, capacity_positions=3000, min_positions=40) as replay:
            filler.delete(*(f"other-{n}" for n in range(stuffing)))
            until(lambda: games_taken(replay) == 2400)
            producer.join(5)
            assert replay.report().rejected_batches == 0


def test_a_lost_connection_and_a_lost_stream_are_survived(redis_server: RedisServer) -> None:
    key = fresh_key()
    client = redis_server.client()
    with opened(redis_server, key) as replay:
        sink = replay.sink()
        for sequence in range(4):
            sink.push(batch(sequence))
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        sink.push(batch(4))
        until(lambda: games_taken(replay) == 10)
        client.delete(*streams(key, 1))
        sink.push(batch(5))
        until(lambda: games_taken(replay) == 12)
        assert replay.report().duplicates == 0


def test_a_killed_server_with_an_append_only_file_loses_nothing_acknowledged(tmp_path: Path) -> None:
    with embedded(tmp_path, append_only=True) as running, opened(running.server, fresh_key()) as replay:
        sink = replay.sink()
        acknowledged: list[int] = []
        ended = threading.Event()

        def produce() -> None:
            while not ended.is_set():
                sink.push(batch(len(acknowledged), count=1))
                acknowledged.append(len(acknowledged))

        producer = threading.Thread(target=produce)
        producer.start()
        for _ in range(2):
            held = len(acknowledged)
            until(lambda: len(acknowledged) > held + 5)  # noqa: B023
            os.kill(running.server.client().info("server")["process_id"], signal.SIGKILL)
            held = len(acknowledged)
            assert until(lambda: len(acknowledged) > held + 5) < 10  # noqa: B023
        ended.set()
        producer.join(10)
        until(lambda: games_taken(replay) == len(acknowledged))
        time.sleep(0.2)
        assert games_taken(replay) == len(acknowledged)


def test_a_server_that_stays_away_ends_the_run_with_one_line(tmp_path: Path) -> None:
    with embedded(tmp_path) as running, opened(running.server, fresh_key(), patience_s=0.5) as replay:
        running.close()
        time.sleep(2.0)
        with pytest.raises(UnreachableError, match=r"^redis at unix://.*: gave up after 0 s of .*$"):
            replay.report()
        with pytest.raises(UnreachableError, match="gave up after"):
            replay.sink().push(batch(0))


def test_a_server_that_is_not_there_is_one_line_at_once() -> None:
    start = time.monotonic()
    with pytest.raises(UnreachableError) as error, opened(RedisServer.of("redis://127.0.0.1:1/0"), "x"):
        pass
    assert time.monotonic() - start < 6
    assert error.value.exit_code == 3
    assert str(error.value).startswith("redis at redis://127.0.0.1:1/0: expected an answer, got ")
    assert "\n" not in str(error.value)


LEARNER = """
import sys, time
from pathlib import Path
from learner.replay.redis_url import RedisServer
from reversi.archive import write_atomic
from tests.learner.replay.redis_setup import opened

server, key, state = RedisServer.of(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
with opened(server, key, capacity_positions=50_000) as replay:
    while True:
        write_atomic(state, replay.state())
        print("saved", flush=True)
        time.sleep(0.05)
"""


def test_a_learner_killed_at_any_moment_loses_nothing_and_counts_nothing_twice(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    key, state = fresh_key(), tmp_path / "state"
    sink = sink_of(redis_server, key)
    records, acknowledged, ended = games(2, seed=0), [0], threading.Event()

    def produce() -> None:
        while not ended.wait(0.005):
            sink.push(encode(records, "a", acknowledged[0]))
            acknowledged[0] += 1

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        command = [sys.executable, "-c", LEARNER, redis_server.url, key, str(state)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as learner:
            assert learner.stdout is not None
            assert learner.stdout.readline() == b"saved\n"
            time.sleep(0.2)
            learner.kill()
    finally:
        ended.set()
        producer.join(5)
    with opened(redis_server, key, capacity_positions=50_000) as replay:
        replay.restore(state.read_bytes())
        until(lambda: games_taken(replay) >= 2 * acknowledged[0])
        time.sleep(0.2)
        report = replay.report()
        assert (report.games_total, report.duplicates) == (2 * acknowledged[0], 0)
