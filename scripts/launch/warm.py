"""Compile every kernel that a job uses, once and in one process, before many processes need them.

numba caches the machine code on disk; without this each actor would compile the kernels for itself.
"""

from __future__ import annotations

import dataclasses
import sys
import time

import numpy as np

from actors.afterstate import AfterstatePlay
from actors.config import AfterstateActorConfig, EpsilonActorConfig, SearchActorConfig
from actors.epsilon import EpsilonPlay
from actors.selfplay import SelfPlay
from evaluator.openings import random_openings
from learner.algorithms.sample_kinds import sample_kind
from learner.batches import training_batch
from learner.learner import Learner
from learner.replay.columns import SampleKind
from learner.replay.memory import MemoryReplay
from learner.replay.samples import POSITIONS, Samples
from learner.weight_store import WeightStore
from reversi.games.bitboard import Masks
from reversi.games.rules import Game, game_named
from reversi.model.evaluate import open_evaluator
from reversi.model.weights import Weights
from reversi.players import make_player
from reversi.record import Records, encode
from reversi.search.evaluate import Immediate, UniformEvaluate
from scripts.config.job import JobConfig

SLOW_S = 3.0

ENOUGH = 10**9
"""Samples that a position may give here, and that may be drawn."""


def warm(job: JobConfig) -> None:
    """Run the code of the job's actors and of its summary on a few short games."""
    start = time.monotonic()
    print("preparing (the first time on a machine compiles the engine: about a minute)", file=sys.stderr)
    game = game_named(job.game.name)
    if isinstance(job.actors, SearchActorConfig):
        _warm_search(job, job.actors, game)
    elif isinstance(job.actors, AfterstateActorConfig):
        _warm_afterstate(job, job.actors, game)
    elif isinstance(job.actors, EpsilonActorConfig):
        _warm_epsilon(job, job.actors, game)
    random_openings(game, 1, 2, 0)
    for opponent in ("greedy", "flat-mc:1"):
        make_player(opponent, game, seed=0).choose(*_start(game))
    if time.monotonic() - start > SLOW_S:
        print(f"compiled in {time.monotonic() - start:.0f} s; next time it is there", file=sys.stderr)


def _warm_afterstate(job: JobConfig, actors: AfterstateActorConfig, game: Game) -> None:
    """Let empty tables play a few games and learn from them."""
    network = open_evaluator(_learned(job, game, None), batch=1)
    config = dataclasses.replace(actors, round_games=2)
    records = AfterstatePlay(game, config, network, 0).round(0.0, 0)
    assert records is not None
    model = open_evaluator(_learned(job, game, records), batch=1)
    model(*_start(game))
    if actors.search_from < 1:
        search = dataclasses.replace(job.search, simulations=2, first_simulations=None)
        SelfPlay(game, dataclasses.replace(actors.search, games=1), search, model, seed=0).play(1, 0)


def _warm_epsilon(job: JobConfig, actors: EpsilonActorConfig, game: Game) -> None:
    """Let a new network play a few games, learn from one sample and answer one position."""
    config = dataclasses.replace(actors, games=2)
    records = EpsilonPlay(game, config, UniformEvaluate(game, 2), 0).play(2, 0, 0.5)
    assert records is not None
    open_evaluator(_learned(job, game, records), batch=1, precision="float32")(*_start(game))


def _learned(job: JobConfig, game: Game, records: Records | None) -> Weights:
    """Return the weights of a new network, trained on a batch of `records` if there are some."""
    replay = _replay(job, game, sample_kind(job.algorithm))
    if records is not None:
        replay.add(encode(records, "warm", 0))
    store = WeightStore()
    Learner(
        config=dataclasses.replace(job.learner, batch=1, chunk_batches=1, round_s=0.01),
        algorithm=job.algorithm,
        network=job.network,
        game=game,
        source=replay,
        sink=store,
        seed=0,
    ).round(0.0)
    weights = store.fetch("latest", -1)
    assert weights is not None
    return Weights.from_bytes(weights, "new weights")


def _replay(job: JobConfig, game: Game, kind: SampleKind) -> MemoryReplay:
    """Return an empty replay that gives samples whenever it holds one, however seldom the job's own does."""
    config = dataclasses.replace(job.replay, min_positions=1, reuse=ENOUGH, bucket_capacity=ENOUGH)
    return MemoryReplay(game, config, kind, 0)


def _start(game: Game) -> tuple[Masks, Masks]:
    return np.array([game.start_own], np.uint64), np.array([game.start_opp], np.uint64)


def _warm_search(job: JobConfig, actors: SearchActorConfig, game: Game) -> None:
    """Search a few games to their end and convert them to records, samples and one batch."""
    config = dataclasses.replace(actors, games=2 * actors.groups, cache_positions=64)
    search = dataclasses.replace(job.search, simulations=2, first_simulations=None)
    selfplay = SelfPlay(game, config, search, Immediate(UniformEvaluate(game, 2)), seed=0)
    records = None
    while records is None:
        records = selfplay.play(16, 0)
    replay = _replay(job, game, POSITIONS)
    replay.add(encode(records, "warm", 0))
    samples = replay.sample(1, 1)
    assert isinstance(samples, Samples)
    training_batch(game, samples, np.zeros(1, np.int64))
