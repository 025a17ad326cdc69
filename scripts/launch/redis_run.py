"""The Redis side of a run: its server, its key there, and the number of its starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from learner.replay.config import ReplayConfig
from learner.replay.redis.config import RedisReplayConfig
from learner.replay.redis.consumer import SHARE_OF_MEMORY
from learner.replay.redis.embedded import server_of
from learner.replay.redis.key import KEY_FILE, count_start, is_copied, renew_key, run_key
from learner.replay.redis.server import RedisServer, memory_beside
from learner.replay.redis.stream import remove_run, streams
from reversi.errors import UnreachableError
from scripts.run.folder import checkpoints_in


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

    Raises UnreachableError, before anything else is started, if the server does not answer.  If others, such as ended
    runs, take much of its memory, a line on standard error says so.
    """
    if not isinstance(config, RedisReplayConfig):
        yield None
        return
    with server_of(config, folder / "redis") as server:
        server.checked_client().close()
        key = _own_key(config, folder)
        memory = server.ask(lambda client: memory_beside(client, streams(key, config.shards)))
        if memory.limit and memory.others > SHARE_OF_MEMORY * memory.limit:
            print(
                f"redis at {server}: {memory.others >> 20} of {memory.limit >> 20} MB are not this run's, so it keeps "
                f"fewer records there; docs/cluster.md says how to remove those of ended runs",
                file=sys.stderr,
            )
        yield RedisRun(config=config, server=server, key=key, start=count_start(folder))


def _own_key(config: RedisReplayConfig, folder: Path) -> str:
    """Return the key of the run in `folder`, a new one for a copy of another run's.

    A line on standard error says what a copy, or a resumed run without a checkpoint, goes on from.  An embedded
    server's data are in the folder, so that the copy has its own.
    """
    resumed, saved = (folder / KEY_FILE).exists(), bool(checkpoints_in(folder))
    if not RedisServer.of(config.url).embedded and is_copied(folder):
        before = renew_key(folder)
        goes_on = "goes on from its last checkpoint" if saved else "has no checkpoint and begins anew"
        print(
            f"{folder} is a copy: what redis holds under {before!r} is left to the original, and this run {goes_on}, "
            f"under {run_key(folder)!r}",
            file=sys.stderr,
        )
    elif resumed and not saved:
        print("no checkpoint yet: the learner begins anew, with the games that redis holds", file=sys.stderr)
    return run_key(folder)


def forget(config: ReplayConfig, folder: Path) -> None:
    """Remove what the run in `folder`, which will not be resumed, has on a server that is not its own.

    If the server does not answer, a line on standard error names the key of what stays there.
    """
    if not isinstance(config, RedisReplayConfig) or not (folder / KEY_FILE).exists():
        return
    server, key = RedisServer.of(config.url), run_key(folder)
    if server.embedded:
        return
    try:
        server.ask(lambda client: remove_run(client, key))
    except UnreachableError as error:
        print(f"the records of {key!r} stay on the server: {error}", file=sys.stderr)
