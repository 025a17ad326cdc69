"""Checks of a job before anything is started: cores, GPU, replay, openings, the registry's game, the model of `init=`.

Each failure is a one-line error here; later it would crash a process, perhaps on another node.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from actors.config import AfterstateActorConfig, GamesActorConfig, SearchActorConfig
from actors.recorded_games import game_files
from actors.selfplay import check_memory
from evaluator.openings import load_openings, random_openings
from learner.algorithms.sample_kinds import sample_kind
from learner.replay.memory import check_capacity
from learner.replay.redis.config import RedisReplayConfig
from learner.replay.redis.server import RedisServer
from reversi.capacity import cores
from reversi.errors import ConfigError, IncompatibleModelError
from reversi.games.rules import TICTACTOE, game_named
from reversi.model.choice import Choice
from reversi.model.lookup import choose
from reversi.model.machine import has_nvidia_gpu
from reversi.model.registry import Registry
from scripts.config.cluster import LocalClusterConfig, RayClusterConfig
from scripts.config.job import JobConfig, check_threads


def check_machine(job: JobConfig) -> None:
    """Raise ConfigError for a job that needs more threads or memory than the machine has, or a GPU that does not exist.

    On a cluster `scripts/ray/placement.py` checks the nodes; this only checks that they reach the replay server.
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
        check_threads(job, cores())
        actors = job.actors
        if isinstance(actors, AfterstateActorConfig) and actors.search_from < 1:
            actors = actors.search
        if isinstance(actors, SearchActorConfig):
            check_memory(game_named(job.game.name), actors, job.search)
        if job.actor_device == "cuda" and not has_nvidia_gpu():
            raise ConfigError("actors.device must be cpu or auto where there is no NVIDIA GPU, got 'cuda'")
        if job.learner.device == "cuda":
            from learner.training.trainer import device_of

            device_of(job.learner)


def check_cluster_job(job: JobConfig) -> None:
    """Raise ConfigError for a job on a cluster with relative output paths, as its working directory is a cache of Ray,
    or with settings of actors that do not fit."""
    places = {"run.dir": job.run.dir, "registry.url": job.registry.url}
    for key, place in places.items():
        if place is not None and not Path(place).is_absolute() and "://" not in place:
            raise ConfigError(
                f"{key} must be an absolute path for a job on a cluster, of the head node or shared, as in "
                f"{key}=/shared/runs; got {place!r}"
            )
    if isinstance(job.cluster, RayClusterConfig):
        for name, group in job.cluster.actors.items():
            if group.count != 0:
                job.actors_of(name)


def check_replay(job: JobConfig) -> None:
    """Raise ConfigError for a replay whose state could not be saved."""
    check_capacity(game_named(job.game.name), job.replay, sample_kind(job.algorithm))


def check_openings(job: JobConfig) -> None:
    """Raise an error for a gate or a summary whose matches need more distinct openings than there are."""
    game, gate, seed = game_named(job.game.name), job.gate, job.run.seed
    if gate.openings is None:
        random_openings(game, gate.openings_drawn, gate.opening_plies, seed, gate.games // 2)
    else:
        load_openings(gate.openings, game)
    if job.run.summary_games and game.id != TICTACTOE:
        try:
            random_openings(game, job.run.summary_games // 2, gate.opening_plies, seed)
        except ConfigError as error:
            raise ConfigError(f"run.summary_games={job.run.summary_games}: {error}") from error


def check_game_files(job: JobConfig) -> None:
    """Raise ConfigError for a job that learns from game files if there are none, and say where to find some."""
    if isinstance(job.actors, GamesActorConfig):
        game_files(job.actors.paths)


def model_to_begin_with(job: JobConfig) -> Choice | None:
    """Return the model of `init=`, None without one; ConfigError for one of another game or network."""
    if job.init is None:
        return None
    chosen = choose(job.init, None, game_named(job.game.name))
    about = {"game": chosen.weights.game, **asdict(chosen.weights.network)}
    wanted = {"game": job.game.name, **asdict(job.network)}
    if keys := [key for key in wanted if wanted[key] != about.get(key)]:
        keys = keys[:1] if keys[0] in ("game", "kind") else keys
        expected, got = (", ".join(f"{key}={each.get(key)}" for key in keys) for each in (wanted, about))
        raise ConfigError(f"init must be a model of this game and network, of {expected}, got {job.init!r} of {got}")
    return chosen


def check_registry(job: JobConfig, registry: Registry) -> None:
    """Raise IncompatibleModelError for a registry that holds models of another game or network."""
    for model in registry.models()[-1:]:
        if (model.game, model.network) != (job.game.name, job.network):
            raise IncompatibleModelError(
                f"{registry.name}: expected models of {job.game.name} with {job.network}, it holds {model.game} with "
                f"{model.network}; set registry.url to another place"
            )
