"""One server for all tests of the Redis replay that do not harm it; every test has a key of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from learner.replay.redis.server import RedisServer
from tests.runs.redis.redis_setup import embedded


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    folder: Path = tmp_path_factory.mktemp("redis")
    with embedded(folder) as running:
        yield running.server
