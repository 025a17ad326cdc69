"""What tests of the Redis replay stand on: a server of their own, small games, a replay under a fresh key."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from learner.replay.memory import MemoryReplay
from learner.replay.redis.consumer import Consumer
from learner.replay.redis.embedded import EmbeddedServer
from learner.replay.redis.replay import RedisReplay
from learner.replay.redis.server import RedisServer
from learner.replay.redis.sink import RedisSink
from learner.replay.samples import POSITIONS
from reversi.games.rules import GAMES
from reversi.record import Records, encode
from tests.configs import redis_config
from tests.random_games import random_records

GAME = GAMES["reversi4"]
CONFIG = redis_config(
    capacity_positions=600,
    window_start=100,
    reuse=2.0,
    bucket_capacity=100_000,
    min_positions=40,
    takeover_s=0.2,
    patience_s=60.0,
)


def games(count: int, seed: int) -> Records:
    return random_records(GAME.name, count, seed, opening=2)


def batch(sequence: int, producer: str = "a", count: int = 2) -> bytes:
    return encode(games(count, seed=sequence), producer, sequence)


def fresh_key() -> str:
    return f"test-{secrets.token_hex(6)}"


def sink_of(server: RedisServer, key: str, **changes: Any) -> RedisSink:
    numbers = {"shards": 1, "backlog_batches": 1000, "patience_s": CONFIG.patience_s} | changes
    return RedisSink(server, key, **numbers)


def consumer_of(server: RedisServer, key: str, takeover_s: float = 0.1) -> Consumer:
    client = server.client()
    consumer = Consumer(client, key, shards=1, capacity_positions=600, takeover_s=takeover_s)
    consumer.open()
    return consumer


def games_taken(replay: RedisReplay) -> int:
    return replay.report().games_total


@contextmanager
def opened(
    server: RedisServer, key: str, rejected: Path | None = None, seed: int = 7, **changes: Any
) -> Iterator[RedisReplay]:
    """A replay over `server`, closed in the end."""
    config = replace(CONFIG, **changes)
    replay = RedisReplay(MemoryReplay(GAME, config, POSITIONS, seed, rejected), config, server, key)
    try:
        yield replay
    finally:
        replay.close()


@contextmanager
def embedded(folder: Path, memory_mb: int = 64, append_only: bool = False) -> Iterator[EmbeddedServer]:
    """A server, ended in the end."""
    server = EmbeddedServer(folder, memory_mb=memory_mb, append_only=append_only)
    try:
        yield server
    finally:
        server.close()


def until(condition: Callable[[], bool], timeout_s: float = 300.0) -> None:
    """Wait for `condition`; the limit is for what never comes, not for a machine with much else to do."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < timeout_s, "waited too long"
        time.sleep(0.005)
