"""What can be found wrong with a job before anything is started: cores, GPU, openings, the registry's game.

A process that starts on another node can only die of these; here they are one line each.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

from actors.config import GamesActorConfig, actor_threads
from evaluator.openings import load_openings, random_openings
from learner.replay.redis_config import RedisReplayConfig
from learner.replay.redis_server import RedisServer
from reversi.errors import ConfigError, IncompatibleModelError
from reversi.games.rules import game_named
from reversi.model.machine import has_nvidia_gpu
from reversi.model.registry import Registry
from scripts.cluster_config import LocalClusterConfig, RayClusterConfig
from scripts.config import JobConfig
from scripts.placement import group_config


def check_machine(job: JobConfig) -> None:
    """Refuse a job that wants more threads than the machine has, or a GPU that is not there.

    A cluster brings machines of its own: `scripts/placement.py` asks it for them.  They must reach its replay.
    """
    if (
        isinstance(job.cluster, RayClusterConfig)
        and isinstance(job.replay, RedisReplayConfig)
        and RedisServer.of(job.replay.url).embedded
    ):
        raise ConfigError(
            "replay.url must be an address that every node reaches, as in redis://host:6379/0, for a job on a cluster, "
            f"got {job.replay.url!r}: that server listens on this machine alone"
        )
    if isinstance(job.cluster, LocalClusterConfig):
        check_threads(job, os.cpu_count() or 1)
        if job.actor_device == "cuda" and not has_nvidia_gpu():
            raise ConfigError("actors.device must be cpu or auto where there is no NVIDIA GPU, got 'cuda'")
        if job.learner.device == "cuda":
            from learner.trainer import device_of

            device_of(job.learner)


def check_kept(job: JobConfig) -> None:
    """Refuse relative places for what a job on a cluster leaves: its working directory is a cache that Ray clears."""
    places = {"run.dir": job.run.dir, "registry.url": job.registry.url}
    for key, place in places.items():
        if place is not None and not Path(place).is_absolute() and "://" not in place:
            raise ConfigError(
                f"{key} must be an absolute path for a job on a cluster, of the head node or shared, got {place!r}"
            )
    if isinstance(job.cluster, RayClusterConfig):
        for name, group in job.cluster.actors.items():
            if group.count != 0:
                group_config(job, name)


def check_threads(job: JobConfig, cores: int) -> None:
    """Refuse a job that wants more threads than there are `cores`: Ray would wait for them, or all would crawl."""
    each = actor_threads(job.actors)
    wanted = job.actor_count * each + job.learner.threads
    if wanted > max(2, cores):
        raise ConfigError(
            f"expected at most {max(2, cores)} threads, as there are cores, but actors.count={job.actor_count} x "
            f"{each} threads (with search the larger of actors.threads and actors.tree_threads) and "
            f"learner.threads={job.learner.threads} want {wanted}; lower one"
        )


def check_openings(job: JobConfig) -> None:
    """Refuse a gate that cannot have as many distinct openings as its match needs."""
    game = game_named(job.game.name)
    if job.gate.openings is None:
        gate = job.gate
        random_openings(game, gate.openings_drawn, gate.opening_plies, job.run.seed, gate.games // 2)
    else:
        load_openings(job.gate.openings, game)


def check_game_files(job: JobConfig) -> None:
    """Refuse a job that learns from games in files where there are none, and say where some are to be had."""
    if not isinstance(job.actors, GamesActorConfig):
        return
    for pattern in job.actors.paths:
        if not any(Path(path).is_file() for path in glob.iglob(pattern, recursive=True)):
            raise ConfigError(
                f"actors.paths: expected files of games, found none at {pattern!r}; name yours, as in "
                "'actors.paths=[FOLDER/*.wtb]': the French Othello federation publishes WTHOR, the games of all "
                "tournaments, at https://www.ffothello.org/informatique/la-base-wthor/"
            )


def check_registry(job: JobConfig, registry: Registry) -> None:
    """Refuse to publish into a registry that holds models of another game or network."""
    for model in registry.models()[-1:]:
        if (model.game, model.network) != (job.game.name, job.network):
            raise IncompatibleModelError(
                f"{registry.name}: expected models of {job.game.name} with {job.network}, it holds {model.game} with "
                f"{model.network}; set registry.url to another place"
            )
