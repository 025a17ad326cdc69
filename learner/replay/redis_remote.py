"""The Redis replay on Ray: a thin actor over `RedisReplay`; records reach it through the stream, not through Ray.

Its calls run on several threads, so that a waiting `sample` does not block a report or a stop.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ray

from learner.algorithms.config import AlgorithmConfig
from learner.replay.memory import MemoryReplay
from learner.replay.redis import RedisReplay
from learner.replay.redis_config import RedisReplayConfig
from learner.replay.redis_url import RedisServer
from learner.replay.rows import Rows
from reversi.games.rules import game_named

SAMPLE_WAIT_S = 1.0
"""Longest a `sample` call waits for tokens before it answers None, so that the learner hears a stop."""

THREADS = 4
"""Calls served at once: a waiting sample, a report, a state and a stop."""


class StreamedReplay(RedisReplay):
    """A `RedisReplay` whose `sample` waits."""

    def __init__(
        self,
        *,
        game: str,
        config: RedisReplayConfig,
        seed: int,
        rejected_dir: str | None,
        server: RedisServer,
        key: str,
        algorithm: AlgorithmConfig | None = None,
        saved: Callable[[], bytes | None] = lambda: None,
    ) -> None:
        """`saved` returns the state to begin with where Ray starts this again after a death; None if there is none."""
        rejected = Path(rejected_dir) if rejected_dir else None
        memory = MemoryReplay(game_named(game), config, seed, rejected, algorithm)
        again = ray.is_initialized() and ray.get_runtime_context().was_current_actor_reconstructed
        if again and (state := saved()) is not None:
            memory.restore(state)  # before any call that waits is answered
        super().__init__(memory, config, server, key, learner_lives=again)

    def sample(self, n_batches: int, batch: int) -> Rows | None:
        """Return samples as soon as there are tokens, or None after `SAMPLE_WAIT_S`."""
        return self.draw(n_batches, batch, SAMPLE_WAIT_S)


RedisReplayActor = ray.remote(max_concurrency=THREADS)(StreamedReplay)
