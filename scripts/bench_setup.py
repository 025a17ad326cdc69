"""What `reversi bench` measures with: sizes, a network, games in all their phases, records, a replay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actors.selfplay import SelfPlay
    from learner.algorithms.config import AlphaZeroConfig
    from learner.batches import TrainingBatch
    from learner.config import LearnerConfig
    from learner.replay.memory import MemoryReplay
    from reversi.games.rules import Game
    from reversi.model.config import NetworkConfig
    from reversi.model.weights import Weights
    from reversi.record import Records


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes of what is measured; the defaults are those of the published figures.

    Training is measured with the network of the default job, everything else with a larger one on the full board.
    """

    size: int = 8
    blocks: int = 4
    channels: int = 64
    batch: int = 256
    simulations: int = 32
    threads: int = 1
    learner_size: int = 6
    learner_blocks: int = 4
    learner_channels: int = 32
    learner_batch: int = 512
    learner_threads: int = min(2, os.cpu_count() or 1)
    repeats: int = 5

    @property
    def training(self) -> Settings:
        """The settings with the learner's sizes in place of the others."""
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
    def network(self) -> NetworkConfig:
        """The network."""
        from reversi.model.config import NetworkConfig

        return NetworkConfig(blocks=self.blocks, channels=self.channels)

    def __str__(self) -> str:
        return f"{self.blocks} blocks x {self.channels}, {self.size}x{self.size}, batch {self.batch}"


def random_weights(settings: Settings) -> Weights:
    """Return weights of the settings' network, drawn so that activations keep their size; speed does not know them."""
    import numpy as np

    from reversi.model.weights import Weights, array_shapes

    network, rng = settings.network, np.random.default_rng(0)
    arrays = {}
    for name, shape in array_shapes(network, settings.size).items():
        inputs = max(1, int(np.prod(shape[1:])))
        scale = 0.0 if len(shape) == 1 else inputs**-0.5
        arrays[name] = rng.normal(0, scale, shape).astype(np.float32)
    return Weights(settings.game.name, network, 0, arrays)


def free_selfplay(settings: Settings, simulations: int) -> SelfPlay:
    """Return self-play with a free network."""
    import numpy as np

    from actors.config import ActorConfig
    from actors.selfplay import SelfPlay
    from reversi.search.config import SearchConfig
    from reversi.search.evaluate import UniformEvaluate

    config = ActorConfig(
        count=1,
        threads=settings.threads,
        games=settings.batch,
        weights="latest",
        backend="auto",
        precision="auto",
        opening_plies=6,
        temperature=1.0,
        temperature_plies=10,
        round_plies=1,
    )
    search = SearchConfig(simulations=simulations)
    free = UniformEvaluate(settings.game, settings.batch)
    return SelfPlay(settings.game, config, search, free, np.random.default_rng(0))


def selfplay_in_all_phases(settings: Settings) -> SelfPlay:
    """Return self-play with a free network whose games are spread evenly from the opening to the end.

    A run reaches this state by itself after some games, since they differ in length.
    """
    selfplay = free_selfplay(settings, settings.simulations)
    mixed = {name: array.copy() for name, array in selfplay.arrays().items()}
    plies = settings.game.squares - 4
    for ply in range(plies):
        for name, array in selfplay.arrays().items():
            mixed[name][ply::plies] = array[ply::plies]
        selfplay.step(0)
    selfplay.restore(mixed)
    return selfplay


def records_of(settings: Settings) -> Records:
    """Return a few dozen finished games of self-play with a free network."""
    from reversi.record import Records

    selfplay = free_selfplay(settings, simulations=8)
    ended: list[Records] = []
    while sum(map(len, ended)) < 32:
        records = selfplay.step(0)
        ended += [records] if records is not None else []
    return Records.concatenate(ended)


def empty_replay(settings: Settings) -> MemoryReplay:
    """Return an empty replay that never makes anyone wait."""
    from learner.replay.config import ReplayConfig
    from learner.replay.memory import MemoryReplay

    config = ReplayConfig(min_positions=1, reuse=1e6, bucket_capacity=10**12)
    return MemoryReplay(settings.game, config, 0, None)


def training_batches(settings: Settings) -> Iterator[TrainingBatch]:
    """Yield batches for ever: drawn from a replay of some 100,000 samples, each sample under a random symmetry."""
    import numpy as np

    from learner.batches import training_batch
    from reversi.record import encode

    records, replay, rng = records_of(settings), empty_replay(settings), np.random.default_rng(0)
    for sequence in range(1 + 100_000 // records.positions):
        replay.add(encode(records, "bench", sequence))
    while (samples := replay.sample(1, settings.batch)) is not None:
        yield training_batch(settings.game, samples, rng.integers(0, 8, len(samples)))


def learner_config(settings: Settings) -> LearnerConfig:
    """Return the learner's numbers; what does not decide the speed is anything reasonable."""
    from learner.config import LearnerConfig

    return LearnerConfig(
        device="cpu",
        threads=settings.threads,
        precision="auto",
        batch=settings.batch,
        learning_rate=1e-3,
        final_learning_rate=0.1,
        warmup_steps=100,
        weight_decay=1e-4,
        gradient_clip=1.0,
        ema_decay=0.99,
        publish_every_steps=1,
        candidate_every_steps=1,
        chunk_batches=1,
        round_s=1.0,
    )


def algorithm_config() -> AlphaZeroConfig:
    """Return targets with every head in use."""
    from learner.algorithms.config import AlphaZeroConfig

    return AlphaZeroConfig(name="alphazero", value_weight=1.0, margin_weight=0.5, owner_weight=0.5, value_mix=0.1)
