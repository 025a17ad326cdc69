"""What people tune about the Redis replay: where the server is, how much may wait there, when others take over."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from learner.replay.config import ReplayConfig
from learner.replay.redis_url import RedisServer
from reversi.errors import ConfigError
from reversi.settings import require, require_ranges
from reversi.urls import has_password

LEAST_MEMORY_MB = 16


@dataclass(frozen=True, kw_only=True)
class RedisReplayConfig(ReplayConfig):
    """The replay's sizes, as in memory, and the Redis stream that its records go through."""

    kind: Literal["redis"] = "redis"

    url: str = "embedded://"
    """`embedded://` starts a server of our own that ends with the run; `redis://[USER@]HOST:PORT/DB`, `rediss://` (TLS;
    `?ssl_ca_certs=FILE&ssl_certfile=FILE&ssl_keyfile=FILE`) and `unix://PATH` join one. The password stands in the
    environment, REVERSI_REDIS_PASSWORD, since a command line and a run's folder are read by others."""

    shards: int = 1
    """Streams that the producers are spread over, at least 1. One takes millions of positions a second; more help only
    where the streams lie on several threads of a server."""

    backlog_batches: int = 1000
    """Batches of records in a stream that the learner has not taken yet, at least 1; at this number the actors wait.
    A batch of 32 games on 8x8 is 140 kB. Raise it to let actors play on through a longer death of the learner."""

    takeover_s: float = 10.0
    """Seconds after which what a consumer was given and did not confirm is taken over by another, above 0."""

    patience_s: float = 120.0
    """Seconds that a server may be away or out of memory before the run ends with an error, above 0. One that cannot
    write to its disk is waited for without end."""

    memory_mb: int = 1024
    """Memory of an embedded server, at least 16 MB; at this size the actors wait. One ring's worth of records stays in
    it, 71 bytes a position on 8x8. Another server's bound is its own `maxmemory`, with the policy `noeviction`."""

    append_only: bool = True
    """Whether an embedded server writes every record to the run's folder before it confirms it, so that not even its
    own death loses one; a power cut may take the last half a minute. Costs the records' bytes on disk, twice at most.
    Another server needs `appendfsync` `no` or `always` for that: with `everysec` it confirms, while the disk is slow,
    records of up to two seconds that are not written yet."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if has_password(self.url):
            raise ConfigError(
                "replay.url must not hold the password, which would end in process lists and in the run's folder; "
                "put it into the environment as REVERSI_REDIS_PASSWORD"
            )
        RedisServer.of(self.url)
        require_ranges(self, "replay", shards=(1, inf), backlog_batches=(1, inf), memory_mb=(LEAST_MEMORY_MB, inf))
        for name in ("takeover_s", "patience_s"):
            require(0 < getattr(self, name) < inf, f"replay.{name}", "above 0", getattr(self, name))
