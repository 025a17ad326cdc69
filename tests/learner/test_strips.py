"""The training pass on strips is the network's own pass: outputs, gradients and running statistics."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from learner.strips import StripPass
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import Game, game_named
from reversi.model.config import ResNetConfig
from reversi.model.network import DualNetwork, Outputs
from reversi.search.parallel import Threads
from tests.reversi.games import oracle

NETWORK = ResNetConfig(blocks=2, channels=24, policy_channels=8, value_channels=3, value_hidden=16)
BOTH = pytest.mark.parametrize("config", [NETWORK, replace(NETWORK, lines=True)], ids=str)
ALL = pytest.mark.parametrize(
    "config", [NETWORK, replace(NETWORK, lines=True), replace(NETWORK, channels=PLANES)], ids=str
)
"""As many channels as planes among them."""


def planes_of(game: Game, boards: int) -> Tensor:
    """Discs thrown at random: more patterns than games reach."""
    planes = np.zeros((boards, PLANES, game.size, game.size), np.float32)
    write_planes(game.id, *oracle.scattered(game, boards, seed=game.size), planes)
    return torch.from_numpy(planes)


def network(size: int, config: ResNetConfig = NETWORK) -> DualNetwork:
    torch.manual_seed(3)
    made = DualNetwork(config, size)
    with torch.no_grad():  # the last layers begin near zero, which would hide the tower
        for parameter in made.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return made.train()


def some_loss(outputs: Outputs) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return sum((torch.rand(part.shape, generator=generator) * part).sum() for part in outputs)  # type: ignore[return-value]


def gradients(made: DualNetwork, outputs: Outputs) -> dict[str, Tensor]:
    made.zero_grad()
    some_loss(outputs).backward()
    return {name: parameter.grad.clone() for name, parameter in made.named_parameters() if parameter.grad is not None}


@ALL
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "boards"),
    [("tictactoe", 8), ("reversi4", 1), ("reversi6", 5), ("reversi6", 12), ("reversi6", 32), ("reversi8", 24)],
)
def test_strips_give_the_networks_outputs_gradients_and_statistics(
    name: str, boards: int, threads: int, config: ResNetConfig
) -> None:
    game = game_named(name)
    plain = network(game.size, config)
    strips = copy.deepcopy(plain)
    planes = planes_of(game, boards)
    expected, got = plain(planes), StripPass(strips, boards, torch.float32, Threads(threads)).outputs(planes)
    for part in Outputs._fields:
        torch.testing.assert_close(getattr(got, part), getattr(expected, part), rtol=1e-4, atol=1e-4)
    wanted, found = gradients(plain, expected), gradients(strips, got)
    assert found.keys() == wanted.keys() == dict(plain.named_parameters()).keys()
    for part, gradient in wanted.items():
        scale = float(gradient.abs().max())
        assert scale > 0.01
        torch.testing.assert_close(found[part], gradient, rtol=1e-3, atol=1e-3 * scale + 1e-4, msg=part)
    for part, buffer in plain.named_buffers():
        torch.testing.assert_close(strips.get_buffer(part), buffer, rtol=1e-4, atol=1e-5, msg=part)


@BOTH
def test_bfloat16_stays_within_its_rounding(config: ResNetConfig) -> None:
    exact, rounded = network(6, config), network(6, config)
    planes = planes_of(game_named("reversi6"), 64)
    expected = StripPass(exact, 64, torch.float32, Threads(1)).outputs(planes)
    got = StripPass(rounded, 64, torch.bfloat16, Threads(2)).outputs(planes)
    for name in Outputs._fields:
        difference = (getattr(got, name) - getattr(expected, name)).abs().mean()
        assert difference < 0.03 * getattr(expected, name).abs().mean() + 0.01, name
    wanted, found = gradients(exact, expected), gradients(rounded, got)
    table = ["lines.table"] if config.lines else []
    for name in ("stem.convolution.weight", "blocks.1.second.convolution.weight", "value.hidden.weight", *table):
        assert functional.cosine_similarity(wanted[name].flatten(), found[name].flatten(), 0) > 0.98, name
