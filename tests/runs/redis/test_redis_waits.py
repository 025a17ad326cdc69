"""The Redis replay on a real server: who waits for whom, and that nothing is lost by waiting."""

from __future__ import annotations

import os
import resource
import threading
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from redis.exceptions import ConnectionError, RedisError, ResponseError

from learner.replay.redis.backoff import OutageBackoff
from learner.replay.redis.replay import RedisReplay
from learner.replay.redis.server import RedisServer, cannot_write, passes
from learner.replay.redis.stream import streams
from reversi.errors import UnreachableError
from reversi.record import encode
from tests.runs.redis.redis_setup import (
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
        producer.join(100)
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
        producer.join(100)
        sink.close()


def test_a_stop_releases_producers_that_wait(redis_server: RedisServer) -> None:
    with opened(redis_server, fresh_key(), bucket_capacity=100) as replay:
        sink = replay.sink()
        producer = threading.Thread(target=lambda: [sink.push(batch(n, count=8)) for n in range(6)])
        producer.start()
        until(lambda: not replay.room())
        replay.stop()
        producer.join(100)
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
            filler.set(f"other-{stuffing}", bytes(10_000))
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
            producer.join(100)
            assert replay.report().rejected_batches == 0


def test_of_what_others_leave_of_the_memory_half_is_for_entries_taken(tmp_path: Path) -> None:
    delivery = encode(games(200, seed=0), "a", 0)
    with embedded(tmp_path, memory_mb=16) as running:
        client, key = running.server.client(), fresh_key()
        for number in range(80):
            client.set(f"reversi:ended:{number}", bytes(100_000))
        left = (16 << 20) - client.info("memory")["used_memory"]
        assert 4 << 20 < left < 8 << 20
        with opened(running.server, key, capacity_positions=1_000_000, bucket_capacity=1 << 30) as replay:
            sink = replay.sink()
            pushes = left // len(delivery)
            for sequence in range(pushes):
                sink.push(encode(games(200, seed=0), "a", sequence))
            until(lambda: games_taken(replay) == 200 * pushes)
            kept = client.xlen(streams(key, 1)[0]) * len(delivery)
            assert 0.3 < kept / left < 0.55
        with opened(running.server, key, capacity_positions=1_000_000, bucket_capacity=1 << 30) as again:
            until(lambda: games_taken(again) == 200 * pushes)
            assert client.xlen(streams(key, 1)[0]) * len(delivery) > 0.3 * left, "its own records are not others'"


@pytest.mark.parametrize("together", [True, False])
def test_runs_that_share_a_server_come_to_equal_shares(together: bool, tmp_path: Path) -> None:
    """Also if one had half of the memory before the other began; a server that is full meanwhile is soon not."""
    records = games(400, seed=0)
    pushes = 3 * (16 << 20) // 2 // len(encode(records, "a", 0))
    pushed: list[str] = []

    def push(replay: RedisReplay, producer: str, deliveries: int) -> None:
        sink = replay.sink()
        for sequence in range(deliveries):
            sink.push(encode(records, producer, sequence))
            pushed.append(producer)

    much = {"capacity_positions": 10_000_000, "bucket_capacity": 1 << 40, "patience_s": 20.0}
    with embedded(tmp_path, memory_mb=16) as running, ExitStack() as stack:
        replays = {key: stack.enter_context(opened(running.server, key, **much)) for key in ("one", "two")}
        if not together:
            push(replays["one"], "before", pushes)
        pushing = [threading.Thread(target=push, args=(replays[key], key, pushes)) for key in replays]
        for thread in pushing:
            thread.start()
        for thread in pushing:
            thread.join(100)
        assert (pushed.count("one"), pushed.count("two")) == (pushes, pushes)
        client = running.server.client()

        def share(key: str) -> float:
            return (client.memory_usage(streams(key, 1)[0], samples=0) or 0) / (16 << 20)

        def equal_after_one_more() -> bool:
            """Whoever deleted too much while the other's deliveries waited grows again only while games arrive."""
            for key, sink in later.items():
                sink.push(encode(records, f"{key}-later", next(numbers)))
            return all(0.2 < share(key) < 0.4 for key in replays)

        later, numbers = {key: replay.sink() for key, replay in replays.items()}, count()
        until(equal_after_one_more, 20)


def test_a_server_that_cannot_write_to_its_disk_is_waited_for_without_end(tmp_path: Path) -> None:
    with embedded(tmp_path) as running:
        client = running.server.client()
        client.set("filler", os.urandom(2 << 20))
        client.config_set("save", "3600 1000000")
        pid = client.info("server")["process_id"]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        client.bgsave()
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
        several = client.pipeline(transaction=False)
        several.xack("stream", "group", "0-1")
        with pytest.raises(RedisError) as refused:
            several.execute()
        assert cannot_write(refused.value), "told from one command of several as well"
        assert passes(refused.value)
        with opened(running.server, fresh_key(), patience_s=0.2) as replay:
            sink = replay.sink()
            producer = threading.Thread(target=lambda: sink.push(batch(0)))
            producer.start()
            time.sleep(1.5)
            assert producer.is_alive()
            report = replay.report()
            assert (report.games_total, report.server_writes) == (0, False), "and the replay has not given up either"
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            client.bgsave()
            producer.join(100)
            until(lambda: games_taken(replay) == 2)
            assert replay.report().server_writes


def test_patience_does_not_run_out_while_a_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    class Stopped(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            nonlocal now
            now += timeout or 0
            return False

    monkeypatch.setattr("learner.replay.redis.backoff.time", SimpleNamespace(monotonic=lambda: now))
    backoff = OutageBackoff(RedisServer.of("redis://nowhere"), 120.0, Stopped())
    while now < 1000:
        backoff.wait(ResponseError("MISCONF Errors writing to the AOF file: No space left on device"))
    full_until = now

    def never_started_again() -> None:
        while True:
            backoff.wait(ConnectionError("Connection refused"))

    with pytest.raises(UnreachableError, match="gave up after 120 s of 'Connection refused'"):
        never_started_again()
    assert 115 < now - full_until < 125
