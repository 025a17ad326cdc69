"""The Redis replay on a real server: nothing acknowledged is lost, nothing is counted twice, whoever dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from learner.replay.deliveries import Receipt
from learner.replay.memory import MemoryReplay
from learner.replay.redis.consumer import Taken
from learner.replay.redis.replay import RedisReplay
from learner.replay.redis.server import RedisServer
from learner.replay.redis.stream import count_in, drawn_key, streams
from learner.replay.samples import POSITIONS
from reversi.errors import UnreachableError
from reversi.record import encode
from tests.runs.redis.redis_setup import (
    CONFIG,
    GAME,
    batch,
    consumer_of,
    embedded,
    fresh_key,
    games,
    games_taken,
    opened,
    sink_of,
    until,
)


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
        memory = MemoryReplay(GAME, CONFIG, POSITIONS, 7)
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


def test_entries_that_a_dead_consumer_was_given_are_taken_at_once_by_a_new_one(redis_server: RedisServer) -> None:
    key = fresh_key()
    client, stream = redis_server.client(), streams(key, 1)[0]
    dead = consumer_of(redis_server, key)
    sink = sink_of(redis_server, key)
    for sequence in range(5):
        sink.push(batch(sequence))
    assert len(dead.read_new(0.1)) == 5
    assert client.xpending(stream, "learner")["pending"] == 5
    with opened(redis_server, key) as replay:
        until(lambda: games_taken(replay) == 10)
        until(lambda: client.xpending(stream, "learner")["pending"] == 0)


def test_a_running_consumer_takes_over_from_one_that_dies_beside_it(redis_server: RedisServer) -> None:
    key = fresh_key()
    one, two = consumer_of(redis_server, key), consumer_of(redis_server, key, takeover_s=3600.0)
    sink = sink_of(redis_server, key)
    for sequence in range(3):
        sink.push(batch(sequence))
    given = one.read_new(0.1)
    one.confirm([Taken(entry.stream, entry.id, 1, Receipt("a", 0, 2, 9, 0)) for entry in given[:1]])
    assert two.take_over() == 0  # one may still be alive
    assert two.read_new(0.01) == []
    hasty = consumer_of(redis_server, key, takeover_s=0.05)
    time.sleep(0.1)
    assert hasty.take_over() == 2
    assert [entry for page in hasty.history() for entry in page] == given


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
        until(lambda: games_taken(replay) == 10)
        assert replay.report().duplicates == 0


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
            until(lambda: len(acknowledged) > held + 5)  # noqa: B023
        ended.set()
        producer.join(100)
        until(lambda: games_taken(replay) == len(acknowledged))
        time.sleep(0.2)
        assert games_taken(replay) == len(acknowledged)


def gave_up(replay: RedisReplay) -> bool:
    try:
        replay.room()
    except UnreachableError:
        return True
    return False


def test_a_server_that_stays_away_ends_the_run_with_one_line(tmp_path: Path) -> None:
    with embedded(tmp_path) as running, opened(running.server, fresh_key(), patience_s=0.5) as replay:
        replay.add(batch(0))
        running.close()
        until(lambda: gave_up(replay))
        with pytest.raises(UnreachableError, match=r"^redis at unix://.*: gave up after 0 s of .*$"):
            replay.sample(1, 8)
        saved = MemoryReplay(GAME, CONFIG, POSITIONS, 7)
        saved.restore(replay.state())
        assert saved.report().games_total == games_taken(replay) > 0, "what it holds can still be saved"
        with pytest.raises(UnreachableError, match="gave up after"):
            replay.sink().push(batch(0))


def test_a_server_that_is_not_there_is_one_line_at_once() -> None:
    start = time.monotonic()
    with pytest.raises(UnreachableError) as error, opened(RedisServer.of("redis://127.0.0.1:1/0"), "x"):
        pass
    assert time.monotonic() - start < CONFIG.patience_s / 2
    assert error.value.exit_code == 3
    assert str(error.value).startswith("redis at redis://127.0.0.1:1/0: expected an answer, got ")
    assert "\n" not in str(error.value)


LEARNER = """
import sys, time
from pathlib import Path
from learner.replay.redis.server import RedisServer
from reversi.files import write_atomic
from tests.runs.redis.redis_setup import opened

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
        producer.join(100)
    with opened(redis_server, key, capacity_positions=50_000) as replay:
        replay.restore(state.read_bytes())
        until(lambda: games_taken(replay) >= 2 * acknowledged[0])
        time.sleep(0.2)
        report = replay.report()
        assert (report.games_total, report.duplicates) == (2 * acknowledged[0], 0)
