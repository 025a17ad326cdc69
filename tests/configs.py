"""Configurations for tests: a plain search, and the replays of `conf/`, each with some changes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from actors.config import AfterstateActorConfig
from learner.replay.config import ReplayConfig
from learner.replay.redis.config import RedisReplayConfig
from reversi.model.config import ResNetConfig
from reversi.search.config import SearchConfig
from scripts.config.compose import compose
from scripts.config.job import JobConfig, job_of


def search_config(**changes: Any) -> SearchConfig:
    """A search without solver and other options, but with noise where self-play wants it."""
    usual = {"simulations": 64, "c_puct": 1.5, "fpu_reduction": 0.2, "dirichlet_alpha": 10.0, "dirichlet_weight": 0.25}
    gumbel = {"fast_simulations": 16, "considered": 16, "c_visit": 50.0, "c_scale": 0.5}
    return SearchConfig.puct(**(usual | gumbel | changes))


def replay_config(**changes: Any) -> ReplayConfig:
    """The values of conf/replay/memory.yaml, but for `changes`."""
    return replace(_job("replay=memory").replay, **changes)


def redis_config(**changes: Any) -> RedisReplayConfig:
    """The values of conf/replay/redis.yaml, but for `changes`."""
    config = _job("replay=redis").replay
    assert isinstance(config, RedisReplayConfig)
    return replace(config, **changes)


def resnet(**changes: Any) -> ResNetConfig:
    """The network of conf/network/tiny.yaml, but for `changes`."""
    network = _job("network=tiny").network
    assert isinstance(network, ResNetConfig)
    return replace(network, **changes)


def afterstate_config(**changes: Any) -> AfterstateActorConfig:
    """The actors of conf/experiment/reversi8_patterns.yaml, but for `changes`."""
    actors = _job("experiment=reversi8_patterns").actors
    assert isinstance(actors, AfterstateActorConfig)
    return replace(actors, **changes)


@cache
def _job(choice: str) -> JobConfig:
    return job_of(compose(["game=reversi8", choice]))
