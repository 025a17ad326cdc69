"""The replay over Redis obeys the laws of every replay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from learner.replay.config import ReplayConfig
from learner.replay.memory import MemoryReplay
from learner.replay.redis.replay import RedisReplay
from learner.replay.redis.server import RedisServer
from learner.replay.samples import POSITIONS
from tests.configs import redis_config
from tests.learner.replay.laws import *  # noqa: F403
from tests.learner.replay.laws import CONFIG, GAME, Opened
from tests.runs.redis.redis_setup import fresh_key


@pytest.fixture
def opened(redis_server: RedisServer, tmp_path: Path) -> Iterator[Opened]:
    with ExitStack() as open_replays:

        def opened(config: ReplayConfig = CONFIG, seed: int = 7) -> RedisReplay:
            over_redis = redis_config(**vars(config) | {"kind": "redis"})
            memory = MemoryReplay(GAME, over_redis, POSITIONS, seed, tmp_path / "rejected")
            replay = RedisReplay(memory, over_redis, redis_server, fresh_key())
            open_replays.callback(replay.close)
            return replay

        yield opened
