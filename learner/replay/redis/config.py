"""The Redis replay's settings: the server's address, the backlog limit, when another consumer takes over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from learner.replay.config import ReplayConfig
from learner.replay.redis.server import RedisServer
from reversi.errors import ConfigError
from reversi.settings import FINITE_ABOVE_0, at_least, require_ranges
from reversi.urls import has_password

LEAST_MEMORY_MB = 16


@dataclass(frozen=True, kw_only=True)
class RedisReplayConfig(ReplayConfig):
    """The settings of the replay in memory, and those of the Redis streams that its records go through."""

    kind: Literal["redis"]

    url: str
    """`embedded://` starts a server that ends with the run; `redis://[USER@]HOST:PORT/DB`, `rediss://` (TLS;
    `?ssl_ca_certs=FILE&ssl_certfile=FILE&ssl_keyfile=FILE`) and `unix://PATH` connect to a running one. The password
    is read from the environment, REVERSI_REDIS_PASSWORD, since others can read command lines and run folders."""

    shards: Annotated[int, at_least(1)]
    """Streams that the producers are distributed over, at least 1. One takes millions of positions a second; more help
    only on a server that serves them by several threads. A resumed run keeps this number."""

    backlog_batches: Annotated[int, at_least(1)]
    """Batches of records in a stream not yet taken by the learner at which the actors wait, at least 1. A batch of 32
    games on 8x8 is 140 kB. Raise it so that actors can play on through a longer outage of the learner."""

    takeover_s: Annotated[float, FINITE_ABOVE_0]
    """Seconds after which a consumer's unconfirmed entries are claimed by another, above 0."""

    patience_s: Annotated[float, FINITE_ABOVE_0]
    """Seconds that a server may be unreachable or out of memory before the run ends with an error, above 0. While it
    only cannot write to its disk, the run waits without limit."""

    memory_mb: Annotated[int, at_least(LEAST_MEMORY_MB)]
    """Memory limit of an embedded server, at least 16 MB; at the limit the actors wait. It keeps as many records as the
    ring, 71 bytes a position on 8x8. Other servers have their own `maxmemory`, with the policy `noeviction`; they
    keep a run's records after its end (docs/cluster.md)."""

    append_only: bool
    """Whether an embedded server writes every record to the run's folder before it confirms it, so that none is lost
    when the server dies; a power cut may lose the last half minute. Uses at most twice the records' bytes on disk.
    Other servers need `appendfsync` `no` or `always` for this: with `everysec` and a slow disk, confirmed records may
    be written up to two seconds late."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if has_password(self.url):
            raise ConfigError(
                "replay.url must not hold the password, which would end in process lists and in the run's folder; "
                "put it into the environment as REVERSI_REDIS_PASSWORD"
            )
        RedisServer.of(self.url)
        require_ranges(self, "replay")
