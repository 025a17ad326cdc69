"""The row of the Redis replay: records of finished games from producers through a server into the ring."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING

from scripts.bench.measure import STRETCH_S, Row, row
from scripts.bench.process_group import LEAD_S, ProcessGroup, Work
from scripts.bench.setup import Settings, records_of, redis_replay

if TYPE_CHECKING:
    from learner.replay.redis.replay import RedisReplay
    from learner.replay.redis.sink import RedisSink

MEMORY_MB = 512
"""Memory of the measured server."""


def bench_redis(settings: Settings) -> Iterator[Row]:
    """Deliveries through Redis: encoded, sent, appended to a file, read, every move replayed and checked, stored."""
    records = records_of(settings)
    with redis_replay(settings, MEMORY_MB) as (server, replay):
        producer = functools.partial(_producer, replay.sink(), settings)
        with contextlib.closing(ProcessGroup([producer])) as group:
            rates = [_taken_per_s(group, replay) for _ in range(settings.repeats)]
        stream_bytes = server.client().memory_usage("reversi:bench:records:0", samples=0)
        entries = server.client().xlen("reversi:bench:records:0")
    note = f"{settings.game.name}, {len(records)} games a delivery, every move checked, append-only file, one producer"
    yield row("redis_ingest_positions_per_s", rates, "positions/s", note)
    per_position = stream_bytes / entries / records.positions
    yield row("redis_bytes_per_position", [per_position], "bytes", f"{settings.game.name}, in the server's memory")


def _producer(sink: RedisSink, settings: Settings) -> Work:
    """Return the work of one producer: pushing one more batch of records."""
    from reversi.record import encode

    records = records_of(settings)
    sequences, name = count(), f"bench-{os.getpid()}"

    def work() -> dict[str, int]:
        sink.push(encode(records, name, next(sequences)))
        return {"positions": records.positions}

    return work


def _taken_per_s(group: ProcessGroup, replay: RedisReplay) -> float:
    """Return the positions per second that the ring takes while the producers push."""
    with ThreadPoolExecutor(1) as pool:
        pushing = pool.submit(group.rates, STRETCH_S)
        time.sleep(2 * LEAD_S)
        before, start_s = replay.report().positions_total, time.perf_counter()
        time.sleep(STRETCH_S - LEAD_S)
        rate = (replay.report().positions_total - before) / (time.perf_counter() - start_s)
        pushing.result()
    return rate
