"""The small job that the learner's tests train: reversi4, two blocks, batches of 32, float32."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from learner.algorithms.config import AlphaZeroConfig, DqnConfig, SupervisedConfig
from learner.batches import TrainingBatch, training_batch
from learner.config import NetworkLearnerConfig, TableLearnerConfig
from learner.replay.samples import Samples, samples_of
from learner.replay.transitions import TargetConfig, Transitions, transitions_of
from learner.training.trainer import Trainer
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.model.config import ResNetConfig, StackConfig
from reversi.record import SEARCHED, UNSEARCHED, Records
from tests.random_games import random_records

GAME = GAMES["reversi4"]
NETWORK = ResNetConfig(blocks=2, channels=16, policy_channels=8, value_channels=2, value_hidden=16)
ALGORITHM = AlphaZeroConfig(
    name="alphazero",
    value_weight=1.0,
    margin_weight=0.5,
    owner_weight=0.3,
    value_mix=0.1,
    policy_temperature=1.0,
    policy_loss="cross_entropy",
    value_loss="cross_entropy",
)
DQN = DqnConfig(
    name="dqn", discount=0.9, n_step=2, target_every_steps=3, reward="result", every_move=False, loss="squared"
)
RULE = TargetConfig(n_step=2, discount=0.9, win=False, every_move=False)
SUPERVISED = SupervisedConfig(name="supervised", value_weight=0.5, validation_every_steps=2, patience=2)
CONFIG = NetworkLearnerConfig(
    kind="network",
    device="cpu",
    threads=1,
    precision="float32",
    batch=32,
    optimiser="adamw",
    momentum=0.0,
    learning_rate=0.01,
    final_learning_rate=0.1,
    warmup_steps=4,
    weight_decay=0.01,
    gradient_clip=1.0,
    ema_decay=0.9,
    publish_every_steps=3,
    candidate_every_steps=6,
    candidate_growth=0.0,
    publish_every_s=None,
    candidate_every_s=None,
    chunk_batches=2,
    round_s=60.0,
    prefetch=None,
    compile=False,
)
TABLE = TableLearnerConfig(
    kind="table",
    batch=32,
    final_learning_rate=0.1,
    publish_every_steps=3,
    candidate_every_steps=6,
    candidate_growth=0.0,
    publish_every_s=None,
    candidate_every_s=None,
    chunk_batches=2,
    round_s=60.0,
)


def trainer(**changes: Any) -> Trainer:
    return Trainer(GAME, NETWORK, replace(CONFIG, **changes), ALGORITHM, 7)


def stack(**changes: Any) -> StackConfig:
    """A stack of one dense layer of 8 units with a value for every action, but for `changes`."""
    plain = StackConfig(
        head="q", planes=2, filters=(), width=3, padding="same", hidden=(8,), square_bias=False, dropout=0.0, agents=1
    )
    return replace(plain, **changes)


def moves(count: int, seed: int) -> Records:
    """Random games as they come out of files: the move played is all the policy there is."""
    records = random_records("reversi4", count, seed)
    played = records.actions != GAME.pass_action
    policy = np.zeros_like(records.policy)
    policy[np.arange(records.positions), records.actions] = 255 * played
    kind = np.where(played, SEARCHED, UNSEARCHED).astype(np.uint8)
    return replace(records, policy=policy, ply_kind=kind, value=np.zeros_like(records.value))


@functools.cache
def true_value(position: Position) -> int:
    """The result of perfect play for the side to move, by trying everything: for tic-tac-toe."""
    if position.is_over:
        return int(np.sign(position.black_margin)) * (1 if position.black_to_move else -1)
    return max(-true_value(position.play(action)) for action in position.legal_actions())


def samples(count: int, seed: int = 5, name: str = "reversi4") -> Samples:
    """`count` samples of random games, drawn with repetition."""
    pool = samples_of(random_records(name, 30, seed))
    rows = np.random.default_rng(seed).integers(0, len(pool), count)
    return Samples(**{column: getattr(pool, column)[rows] for column in Samples.COLUMNS})


def batch(count: int = 32, seed: int = 5, pinned: bool = False) -> TrainingBatch:
    symmetry = np.zeros(count, np.int64)
    return training_batch(GAME, samples(count, seed), symmetry, ALGORITHM.value_mix, pinned=pinned)


def transitions(
    count: int, seed: int = 5, name: str = "reversi4", rule: TargetConfig = RULE, games: int = 30
) -> Transitions:
    """`count` transitions of random games, drawn with repetition."""
    records = random_records(name, games, seed)
    pool = transitions_of(replace(records, ply_kind=np.full(records.positions, UNSEARCHED, np.uint8)), rule)
    return pool.take(np.random.default_rng(seed).integers(0, len(pool), count))
