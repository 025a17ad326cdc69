"""Supervised learning: losses by hand, moves learned by heart, dropout that resumes."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from learner.algorithms.reports import SupervisedLosses
from learner.algorithms.supervised import Supervised, move_logits, ranks
from learner.batches import TrainingBatch, training_batch
from learner.replay.samples import samples_of
from learner.training.trainer import Trainer
from reversi.model.config import NetworkConfig
from reversi.model.network import Outputs
from tests.learner.jobs import CONFIG, GAME, NETWORK, SUPERVISED, moves, stack

POLICY = stack(head="policy", filters=(16, 16), hidden=(), square_bias=True, planes=2)
NAMES = [field.name for field in fields(SupervisedLosses)]


def batch(count: int, seed: int = 5) -> TrainingBatch:
    samples = samples_of(moves(12, seed))
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(samples.policy_weight))[:count]
    return training_batch(GAME, samples.take(rows), np.zeros(count, np.int64))


def trainer(network: NetworkConfig = POLICY, **changes: Any) -> Trainer:
    return Trainer(GAME, network, replace(CONFIG, weight_decay=0.0, **changes), SUPERVISED, 7)


def three_positions() -> TrainingBatch:
    """Moves 3, 5 and none by hand; 3 and 5 are legal in all."""
    policy = torch.zeros(3, GAME.actions)
    policy[0, 3] = policy[1, 5] = 1
    legal = torch.zeros(3, GAME.actions, dtype=torch.uint8)
    legal[:, [3, 5]] = 1
    plain = batch(3)
    return replace(plain, policy=policy, legal=legal, policy_weight=torch.tensor([1.0, 1, 0]))


def test_losses_by_hand() -> None:
    objective, target = Supervised(GAME, SUPERVISED), three_positions()
    logits = torch.zeros(3, GAME.actions)
    logits[:, 3] = math.log(3)  # 3/4 for move 3, 1/4 for move 5
    logits[:, 7] = 50  # illegal
    got = dict(zip(NAMES, objective.losses(logits, target).tolist(), strict=True))
    assert got["policy"] == pytest.approx((math.log(4 / 3) + math.log(4)) / 2)
    assert got["accuracy"] == pytest.approx(0.5)
    assert got["value"] == 0
    assert got["total"] == pytest.approx(got["policy"])
    outputs = Outputs(logits, torch.zeros(3, 3), torch.zeros(3), torch.zeros(3, 4, 4))
    both = dict(zip(NAMES, objective.losses(outputs, target).tolist(), strict=True))
    assert both["value"] == pytest.approx(math.log(3))
    assert both["total"] == pytest.approx(got["policy"] + 0.5 * math.log(3))


def test_without_the_mask_illegal_moves_cost_too() -> None:
    objective, target = Supervised(GAME, replace(SUPERVISED, masked=False)), three_positions()
    logits = torch.zeros(3, GAME.actions)
    got = dict(zip(NAMES, objective.losses(logits, target).tolist(), strict=True))
    assert got["policy"] == pytest.approx(math.log(GAME.actions))
    logits[:, 7] = 50  # illegal
    liked = dict(zip(NAMES, objective.losses(logits, target).tolist(), strict=True))
    assert liked["policy"] == pytest.approx(50)
    assert liked["accuracy"] == got["accuracy"]


def test_without_symmetry_a_position_is_learned_as_it_was_played() -> None:
    samples = samples_of(moves(12, 5))
    plain = training_batch(GAME, samples, np.zeros(len(samples), np.int64))
    for symmetric in (False, True):
        objective = Supervised(GAME, replace(SUPERVISED, symmetric=symmetric))
        made = objective.batch(samples, np.random.default_rng(0), False)
        assert torch.equal(made.planes, plain.planes) != symmetric


def test_places_count_the_legal_moves_that_are_liked_better() -> None:
    target = three_positions()
    logits = torch.zeros(3, GAME.actions)
    logits[:, 3] = 1
    logits[:, 7] = 50
    assert ranks(move_logits(logits, target), target)[:2].tolist() == [0, 1]


@pytest.mark.parametrize("network", [POLICY, NETWORK])
def test_moves_are_learned_by_heart(network: NetworkConfig) -> None:
    made, target = trainer(network, learning_rate=0.02), batch(24)
    first = made.step(target, 0.0)[0]
    for _ in range(120):
        last, _ = made.step(target, 0.0)
    assert float(first[1]) > 0.8
    assert float(last[1]) < 0.2
    assert float(last[3]) >= 22 / 24


@pytest.mark.parametrize("seed", [7, 2**63 - 1])
def test_dropout_leaves_out_the_same_in_a_resumed_training(seed: int) -> None:
    made, again = (Trainer(GAME, replace(POLICY, dropout=0.5), CONFIG, SUPERVISED, seed) for _ in range(2))
    made.step(batch(24), 0.0)
    torch.manual_seed(123)
    again.restore({name: array.copy() for name, array in made.arrays().items()}, 1)
    lost = [float(each.step(batch(24), 0.0)[0][0]) for each in (made, again) for _ in range(3)]
    assert lost[:3] == lost[3:]
    assert len(set(lost)) == 3
    assert made._average.training is False


def test_dropout_leaves_out_others_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    made = trainer(replace(POLICY, dropout=0.5))
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    for _ in range(3):
        made.step(batch(24), 0.0)
    assert len(set(seeds)) == 3
