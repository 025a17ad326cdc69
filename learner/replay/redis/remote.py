"""The Redis replay on Ray: a thin actor over `RedisReplay`; records reach it through the stream, not through Ray.

Its calls run on several threads, so that a waiting `sample` does not block a report or a stop.
"""

from __future__ import annotations

from collections.abc import Callable

import ray

from learner.replay.columns import SampleColumns, SampleKind
from learner.replay.redis.config import RedisReplayConfig
from learner.replay.redis.replay import RedisReplay
from learner.replay.redis.server import RedisServer
from learner.replay.remote import SAMPLE_WAIT_S, restored_memory

THREADS = 4
"""Calls served at once: a waiting sample, a report, a state and a stop."""


class StreamedReplay(RedisReplay):
    """A `RedisReplay` whose `sample` waits."""

    def __init__(
        self,
        *,
        game: str,
        config: RedisReplayConfig,
        kind: SampleKind,
        seed: int,
        rejected_dir: str | None,
        server: RedisServer,
        key: str,
        saved: Callable[[], bytes | None],
        restarted: Callable[[], bool],
    ) -> None:
        """`saved` returns the state to begin with, None if there is none; `restarted` whether this is after a death."""
        memory = restored_memory(game, config, kind, seed, rejected_dir, saved)
        super().__init__(memory, config, server, key, learner_lives=restarted())

    def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        """Return samples as soon as there are tokens, or None after `SAMPLE_WAIT_S`."""
        return self.draw(n_batches, batch, SAMPLE_WAIT_S)


RedisReplayActor = ray.remote(max_concurrency=THREADS)(StreamedReplay)
