"""The row of the Redis replay: records of finished games from producers through a server into the ring."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.bench.measure import STRETCH_S, Row, row
from scripts.bench.process_group import LEAD_S, ProcessGroup, Work
from scripts.bench.setup import Settings, records_of

if TYPE_CHECKING:
    from learner.replay.redis import RedisReplay
    from learner.replay.redis_sink import RedisSink

MEMORY_MB = 512
"""Memory of the measured server."""


def bench_redis(settings: Settings) -> Iterator[Row]:
    """Deliveries through Redis: encoded, sent, appended to a file, read, every move replayed and checked, stored."""
    from learner.replay.embedded import server_of
    from learner.replay.memory import MemoryReplay
    from learner.replay.redis import RedisReplay
    from learner.replay.redis_config import RedisReplayConfig

    config = RedisReplayConfig(min_positions=1, reuse=1e-6, bucket_capacity=10**12, memory_mb=MEMORY_MB)
    records = records_of(settings)
    with tempfile.TemporaryDirectory() as folder, server_of(config, Path(folder)) as server:
        memory = MemoryReplay(settings.game, config, 0, None)
        with contextlib.closing(RedisReplay(memory, config, server, "bench")) as replay:
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
