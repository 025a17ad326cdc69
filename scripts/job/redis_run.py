"""The Redis side of a run: its server, its key there, and the number of its starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from learner.replay.config import ReplayConfig
from learner.replay.embedded import server_of
from learner.replay.redis_config import RedisReplayConfig
from learner.replay.redis_server import RedisServer
from learner.replay.redis_stream import count_start, run_key


@dataclass(frozen=True, kw_only=True)
class RedisRun:
    """The Redis server and key of a run."""

    config: RedisReplayConfig
    server: RedisServer
    key: str
    """Key of the run on the server, the same after a resume."""
    start: int
    """Earlier starts of the run, also those without a checkpoint, so that no producer name is used twice."""


@contextmanager
def redis_of(config: ReplayConfig, folder: Path) -> Iterator[RedisRun | None]:
    """Yield the Redis server and key of the run in `folder`, starting its own server if configured; None without Redis.

    Raises UnreachableError, before anything else is started, if the server does not answer.
    """
    if not isinstance(config, RedisReplayConfig):
        yield None
        return
    with server_of(config, folder / "redis") as server:
        server.checked_client().close()
        yield RedisRun(config=config, server=server, key=run_key(folder), start=count_start(folder))
