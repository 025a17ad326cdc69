"""The inputs of `reversi bench`: sizes, a network, games in all phases, records, a replay."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reversi.capacity import cores

if TYPE_CHECKING:
    from actors.games import Games
    from actors.selfplay import SelfPlay
    from learner.algorithms.config import AlphaZeroConfig
    from learner.batches import TrainingBatch
    from learner.config import NetworkLearnerConfig
    from learner.replay.memory import MemoryReplay
    from learner.replay.redis.replay import RedisReplay
    from learner.replay.redis.server import RedisServer
    from reversi.games.bitboard import Masks
    from reversi.games.rules import Game
    from reversi.model.config import ResNetConfig
    from reversi.model.evaluate import Evaluator
    from reversi.model.weights import Weights
    from reversi.record import Records
    from reversi.search.evaluate import Pipeline
    from scripts.config.job import JobConfig


PERFT_DEPTH = {4: 12, 6: 10, 8: 10}
"""Depth of perft by the size of the board."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes for the measurements; the defaults are those of the published figures.

    Training is measured with `network=tiny` on 6x6, everything else with a larger network on the full board.
    """

    size: int = 8
    blocks: int = 4
    channels: int = 64
    batch: int = 256
    simulations: int = 32
    threads: int = 1
    actors: int = 2
    device: Literal["cpu", "cuda"] = "cpu"
    learner_size: int = 6
    learner_blocks: int = 4
    learner_channels: int = 32
    learner_batch: int = 512
    learner_threads: int = min(2, cores())
    repeats: int = 5

    @property
    def training(self) -> Settings:
        """The settings with the learner's sizes replacing the others."""
        return replace(
            self,
            size=self.learner_size,
            blocks=self.learner_blocks,
            channels=self.learner_channels,
            batch=self.learner_batch,
            threads=self.learner_threads,
        )

    @property
    def game(self) -> Game:
        """The board."""
        from reversi.games.rules import reversi_of_size

        return reversi_of_size(self.size)

    @property
    def network(self) -> ResNetConfig:
        """The network."""
        from reversi.model.config import ResNetConfig

        network = default_job(self.size, "network=tiny").network
        assert isinstance(network, ResNetConfig)
        return replace(network, blocks=self.blocks, channels=self.channels)

    @property
    def actors_group(self) -> str:
        """The choice of `conf/actors` for the device."""
        return "gpu" if self.device == "cuda" else "cpu"

    def __str__(self) -> str:
        return f"{self.blocks} blocks x {self.channels}, {self.size}x{self.size}, batch {self.batch}"


def random_weights(settings: Settings) -> Weights:
    """Return random weights of the settings' network that keep the scale of activations; they do not affect speed."""
    import numpy as np

    from reversi.model.weights import Weights, array_shapes

    network, rng = settings.network, np.random.default_rng(0)
    arrays = {}
    for name, shape in array_shapes(network, settings.size).items():
        inputs = max(1, int(np.prod(shape[1:])))
        scale = 0.0 if len(shape) == 1 else inputs**-0.5
        arrays[name] = rng.normal(0, scale, shape).astype(np.float32)
    return Weights(settings.game.name, network, 0, arrays)


@functools.cache
def default_job(size: int, *overrides: str) -> JobConfig:
    """Return the default job on a board of this size, as `reversi train` would compose it."""
    from scripts.config.compose import compose
    from scripts.config.job import job_of

    return job_of(compose([f"game=reversi{size}", *overrides]))


def open_network(settings: Settings, precision: str = "auto") -> Evaluator:
    """Return the settings' network, for two batches in flight."""
    from reversi.model.evaluate import open_evaluator

    return open_evaluator(
        random_weights(settings),
        device=settings.device,
        precision=precision,
        batch=settings.batch,
        threads=settings.threads,
        slots=2,
    )


def open_selfplay(settings: Settings, network: Pipeline, **changes: Any) -> SelfPlay:
    """Return the default job's self-play with `network`, all games at their start; every group plays a batch.

    Lessons are left out unless requested, since they do not use the network.

    changes  to the actors' configuration, and `method` and `solve_empties`, which belong to the search
    """
    from actors.config import SearchActorConfig
    from actors.selfplay import SelfPlay

    method, solve_empties = changes.pop("method", None), changes.pop("solve_empties", None)
    job = default_job(settings.size, f"actors={settings.actors_group}", *([f"search={method}"] if method else []))
    assert isinstance(job.actors, SearchActorConfig), f"the default job searches, got {job.actors.kind!r}"
    actors = replace(job.actors, **{"lessons": 0, **changes})
    actors = replace(actors, games=actors.groups * settings.batch)
    search = replace(job.search, simulations=settings.simulations, first_simulations=None, full_share=1.0)
    if solve_empties is not None:
        search = replace(search, solve_empties=solve_empties)
    return SelfPlay(settings.game, actors, search, network, seed=0)


def spread_phases(selfplay: SelfPlay) -> None:
    """Spread the games evenly from the opening to the end.

    A run reaches this state by itself after some games, since games differ in length.
    """
    _lay_out(selfplay.games, selfplay.game)
    selfplay.play(1, 0)  # until every game waits for the network


def positions_of(settings: Settings, count: int) -> tuple[Masks, Masks]:
    """Return `count` unfinished positions (own, opp) from all phases of the game."""
    import numpy as np

    from actors.games import make_games

    games = make_games(settings.game, count)
    _lay_out(games, settings.game)
    return np.ascontiguousarray(games.state["own"]), np.ascontiguousarray(games.state["opp"])


def _lay_out(games: Games, game: Game) -> None:
    """Start every game after a random number of random plies, before its end."""
    import numpy as np

    from actors.games import begin_games

    rows, start = np.arange(len(games.state)), (np.uint64(game.start_own), np.uint64(game.start_opp))
    begin_games(games, game.id, rows, 0, *start, np.uint64(0), game.squares - 5)


def free_network(settings: Settings) -> Pipeline:
    """Return a network that knows nothing and takes no time."""
    from reversi.search.evaluate import Immediate, UniformEvaluate

    return Immediate(UniformEvaluate(settings.game, settings.batch))


def records_of(settings: Settings) -> Records:
    """Return a few dozen finished games of self-play with a free network."""
    from reversi.record import Records

    brief = replace(settings, simulations=8, batch=32)
    selfplay = open_selfplay(brief, free_network(brief), groups=1)
    ended: list[Records] = []
    while sum(map(len, ended)) < 32:
        records = selfplay.play(16, 0)
        ended += [records] if records is not None else []
    return Records.concatenate(ended)


def empty_replay(settings: Settings) -> MemoryReplay:
    """Return an empty replay in which no producer or learner ever waits."""
    from learner.replay.memory import MemoryReplay
    from learner.replay.samples import POSITIONS

    config = replace(default_job(settings.size).replay, min_positions=1, reuse=1e6, bucket_capacity=10**12)
    return MemoryReplay(settings.game, config, POSITIONS, 0)


@contextmanager
def redis_replay(settings: Settings, memory_mb: int) -> Iterator[tuple[RedisServer, RedisReplay]]:
    """Yield a Redis server of our own, with `memory_mb` and an append-only file, and an empty replay that reads it."""
    from learner.replay.memory import MemoryReplay
    from learner.replay.redis.config import RedisReplayConfig
    from learner.replay.redis.embedded import server_of
    from learner.replay.redis.replay import RedisReplay
    from learner.replay.samples import POSITIONS

    config = default_job(settings.size, "replay=redis").replay
    assert isinstance(config, RedisReplayConfig)
    config = replace(config, min_positions=1, reuse=1e-6, bucket_capacity=10**12, memory_mb=memory_mb)
    with tempfile.TemporaryDirectory() as folder, server_of(config, Path(folder)) as server:
        memory = MemoryReplay(settings.game, config, POSITIONS, 0)
        with closing(RedisReplay(memory, config, server, "bench")) as replay:
            yield server, replay


def training_batches(settings: Settings) -> Iterator[TrainingBatch]:
    """Yield batches without end, drawn from a replay of some 100,000 samples, each sample under a random symmetry."""
    import numpy as np

    from learner.batches import training_batch
    from learner.replay.samples import Samples
    from reversi.record import encode

    records, replay, rng = records_of(settings), empty_replay(settings), np.random.default_rng(0)
    for sequence in range(1 + 100_000 // records.positions):
        replay.add(encode(records, "bench", sequence))
    while isinstance(samples := replay.sample(1, settings.batch), Samples):
        yield training_batch(settings.game, samples, rng.integers(0, 8, len(samples)))


def learner_config(settings: Settings) -> NetworkLearnerConfig:
    """Return the default job's learner, or that of a GPU, with the settings' sizes."""
    from learner.config import NetworkLearnerConfig

    learner = default_job(settings.size, *(["learner=gpu"] if settings.device == "cuda" else [])).learner
    assert isinstance(learner, NetworkLearnerConfig), f"the default job trains a network, got a {learner.kind}"
    return replace(learner, device=settings.device, threads=settings.threads, batch=settings.batch)


def algorithm_config(settings: Settings) -> AlphaZeroConfig:
    """Return the default job's targets."""
    from learner.algorithms.config import AlphaZeroConfig

    algorithm = default_job(settings.size).algorithm
    assert isinstance(algorithm, AlphaZeroConfig), f"the default job is AlphaZero, got {algorithm.name!r}"
    return algorithm
