"""The AlphaZero losses: worked by hand, right by finite differences, and learnable."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from learner.algorithms.alphazero import AlphaZero, tempered
from learner.algorithms.config import AlphaZeroConfig
from learner.algorithms.reports import AlphaZeroLosses
from learner.batches import TrainingBatch
from reversi.errors import ConfigError
from reversi.model.network import Outputs
from tests.learner.jobs import ALGORITHM, GAME, batch, trainer

LOSS_NAMES = [field.name for field in fields(AlphaZeroLosses)]
SQUARED = replace(ALGORITHM, policy_loss="squared", value_loss="squared")


def outputs(count: int, seed: int = 0) -> Outputs:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(count, *shape, generator=generator, dtype=torch.float32).requires_grad_()

    return Outputs(normal(GAME.actions), normal(3), normal(), normal(GAME.size, GAME.size))


def losses(given: Outputs, target: TrainingBatch, algorithm: AlphaZeroConfig) -> torch.Tensor:
    return AlphaZero(GAME, algorithm).losses(given, target)


def two_squares() -> TrainingBatch:
    """One position by hand: two legal actions visited 3 to 1, a win by a quarter of the board."""
    policy = torch.zeros(1, GAME.actions)
    policy[0, [3, 5]] = torch.tensor([0.75, 0.25])
    return TrainingBatch(
        planes=torch.zeros(1, 4, 4, 4),
        policy=policy,
        policy_weight=torch.ones(1),
        wdl=torch.tensor([[1.0, 0, 0]]),
        margin=torch.tensor([0.25]),
        owner=torch.ones(1, 4, 4),
        legal=(policy > 0).to(torch.uint8),
    )


def test_a_network_that_knows_nothing_pays_the_logarithm_of_its_choices() -> None:
    known_nothing = Outputs(torch.zeros(1, GAME.actions), torch.zeros(1, 3), torch.zeros(1), torch.zeros(1, 4, 4))
    got = dict(zip(LOSS_NAMES, losses(known_nothing, two_squares(), ALGORITHM).tolist(), strict=True))
    assert got["policy"] == pytest.approx(math.log(2))
    assert got["value"] == pytest.approx(math.log(3))
    assert got["margin"] == pytest.approx(0.0625)
    assert got["owner"] == pytest.approx(1.0)
    assert got["total"] == pytest.approx(math.log(2) + math.log(3) + 0.5 * 0.0625 + 0.3)


def test_squared_losses_are_those_of_probabilities_and_of_win_minus_loss() -> None:
    known_nothing = Outputs(torch.zeros(1, GAME.actions), torch.zeros(1, 3), torch.zeros(1), torch.zeros(1, 4, 4))
    got = dict(zip(LOSS_NAMES, losses(known_nothing, two_squares(), SQUARED).tolist(), strict=True))
    assert got["policy"] == pytest.approx(2 * 0.25**2)  # 1/2 and 1/2 for 3/4 and 1/4
    assert got["value"] == pytest.approx(1.0)  # 0 for a win
    assert got["total"] == pytest.approx(0.125 + 1.0 + 0.5 * 0.0625 + 0.3)
    decided = known_nothing._replace(wdl=torch.tensor([[math.log(3), 0, 0]]))
    assert losses(decided, two_squares(), SQUARED)[2].item() == pytest.approx((1 - 0.4) ** 2)  # 3/5 - 1/5


def test_a_draw_is_a_squared_error_of_nothing() -> None:
    drawn = replace(two_squares(), wdl=torch.tensor([[0.0, 1, 0]]))
    known_nothing = Outputs(torch.zeros(1, GAME.actions), torch.zeros(1, 3), torch.zeros(1), torch.zeros(1, 4, 4))
    assert losses(known_nothing, drawn, SQUARED)[2].item() == pytest.approx(0, abs=1e-12)


def test_a_temperature_of_a_half_squares_the_visits() -> None:
    known_nothing = Outputs(torch.zeros(1, GAME.actions), torch.zeros(1, 3), torch.zeros(1), torch.zeros(1, 4, 4))
    got = losses(known_nothing, two_squares(), replace(SQUARED, policy_temperature=0.5))
    assert got[1].item() == pytest.approx(2 * 0.4**2)  # 9/10 and 1/10 instead of 3/4 and 1/4


@pytest.mark.parametrize("temperature", [0.05, 0.5, 1.0, 10.0])
def test_tempered_shares_are_powers_that_sum_to_one(temperature: float) -> None:
    shares = batch(32).policy
    got = tempered(shares, temperature).double()
    powers = shares.double() ** (1 / temperature)
    torch.testing.assert_close(got, powers / powers.sum(1, keepdim=True).clamp(min=1e-300), rtol=1e-4, atol=1e-7)
    assert not got[batch(32).policy_weight == 0].any()


@pytest.mark.parametrize("config", ["plain", "squared"])
def test_the_gradient_is_that_of_finite_differences(config: str) -> None:
    algorithm = {"plain": ALGORITHM, "squared": replace(SQUARED, policy_temperature=0.5)}[config]
    given, target = outputs(3), batch(3)
    losses(given, target, algorithm)[0].backward()
    for name in Outputs._fields:
        tensor = getattr(given, name)
        for index in np.ndindex(tuple(tensor.shape)):
            moved = []
            for change in (1e-2, -1e-2):
                other = tensor.detach().clone()
                other[index] += change
                moved.append(losses(given._replace(**{name: other}), target, algorithm)[0].item())
            assert tensor.grad[index].item() == pytest.approx((moved[0] - moved[1]) / 2e-2, abs=1e-3), (name, index)


def test_illegal_actions_get_no_gradient() -> None:
    given, target = outputs(32), batch(32)
    losses(given, target, ALGORITHM)[0].backward()
    assert given.policy.grad is not None
    assert not given.policy.grad[target.legal == 0].any()
    assert given.policy.grad[target.legal == 1].any()


def test_a_ply_without_a_search_teaches_the_value_only() -> None:
    target = batch(32)
    assert 0 < target.policy_weight.count_nonzero() < 32
    given = outputs(32)
    losses(given, target, ALGORITHM)[0].backward()
    assert given.policy.grad is not None
    assert not given.policy.grad[target.policy_weight == 0].any()
    nothing = losses(outputs(32), replace(target, policy_weight=torch.zeros(32)), ALGORITHM)
    assert nothing[1] == 0
    assert nothing[2] > 0


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_32_samples_are_learned_by_heart(precision: str) -> None:
    target = batch(32)
    entropy = -torch.special.xlogy(target.policy, target.policy).sum(1)
    least = float((entropy * target.policy_weight).sum() / target.policy_weight.sum())
    learner = trainer(precision=precision, weight_decay=0.0, warmup_steps=20)
    first = learner.step(target, 0.0)[0]
    for _ in range(149):
        last, _ = learner.step(target, 0.0)
    assert first[1] > least + 0.2
    assert last[1] < least + 0.08
    assert last[2] < 0.45  # the mix with the root value leaves some entropy; it begins at log 3 = 1.10
    assert last[3] < 0.01
    assert last[4] < 0.1


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("value_weight", -1.0, "from 0 to 100, got -1.0"),
        ("value_mix", 1.5, "algorithm.value_mix must be from 0 to 1"),
        ("policy_temperature", 0.0, "algorithm.policy_temperature must be from 0.05 to 10, got 0.0"),
    ],
)
def test_a_weight_out_of_range_is_refused(name: str, value: float, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(ALGORITHM, **{name: value})
    assert isinstance(ALGORITHM, AlphaZeroConfig)
