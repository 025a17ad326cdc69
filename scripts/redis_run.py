"""What a run over Redis has besides its parts: the server, its own key there, and which of its starts this one is."""

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
    """Where a run's records go."""

    config: RedisReplayConfig
    server: RedisServer
    key: str
    """Names the run on the server, the same after a resume."""
    start: int
    """Starts of the run before this one, those without a checkpoint too: no producer's name ever comes again."""


@contextmanager
def redis_of(config: ReplayConfig, folder: Path) -> Iterator[RedisRun | None]:
    """Yield what the run in `folder` has on Redis, with a server of its own if it wants one; None without Redis.

    Raises UnreachableError, before anything else is started, if the server does not answer.
    """
    if not isinstance(config, RedisReplayConfig):
        yield None
        return
    with server_of(config, folder / "redis") as server:
        server.checked_client().close()
        yield RedisRun(config=config, server=server, key=run_key(folder), start=count_start(folder))
