"""The training pass with boards side by side is the network's own pass: outputs, gradients and running statistics."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from learner.cpu_pass.cpu_pass import CpuPass
from reversi.games.planes import PLANES
from reversi.games.rules import game_named
from reversi.kernels.threads import Threads
from reversi.model.config import ResNetConfig
from reversi.model.network import Outputs
from tests.learner.cpu_pass.rows import NETWORK, gradients, network, planes_of

BOTH = pytest.mark.parametrize("config", [NETWORK, replace(NETWORK, lines=True)], ids=str)
ALL = pytest.mark.parametrize(
    "config", [NETWORK, replace(NETWORK, lines=True), replace(NETWORK, channels=PLANES)], ids=str
)
"""As many channels as planes among them."""


@ALL
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "boards"),
    [("tictactoe", 8), ("reversi4", 1), ("reversi6", 5), ("reversi6", 12), ("reversi6", 32), ("reversi8", 24)],
)
def test_the_pass_gives_the_networks_outputs_gradients_and_statistics(
    name: str, boards: int, threads: int, config: ResNetConfig
) -> None:
    game = game_named(name)
    plain = network(game.size, config)
    twin = copy.deepcopy(plain)
    planes = planes_of(game, boards)
    expected, got = plain(planes), CpuPass(twin, boards, torch.float32, Threads(threads)).outputs(planes)
    for part in Outputs._fields:
        torch.testing.assert_close(getattr(got, part), getattr(expected, part), rtol=1e-4, atol=1e-4)
    wanted, found = gradients(plain, expected), gradients(twin, got)
    assert found.keys() == wanted.keys() == dict(plain.named_parameters()).keys()
    for part, gradient in wanted.items():
        scale = float(gradient.abs().max())
        assert scale > 0.01
        torch.testing.assert_close(found[part], gradient, rtol=1e-3, atol=1e-3 * scale + 1e-4, msg=part)
    for part, buffer in plain.named_buffers():
        torch.testing.assert_close(twin.get_buffer(part), buffer, rtol=1e-4, atol=1e-5, msg=part)


@BOTH
def test_bfloat16_stays_within_its_rounding(config: ResNetConfig) -> None:
    exact, rounded = network(6, config), network(6, config)
    planes = planes_of(game_named("reversi6"), 64)
    expected = CpuPass(exact, 64, torch.float32, Threads(1)).outputs(planes)
    got = CpuPass(rounded, 64, torch.bfloat16, Threads(2)).outputs(planes)
    for name in Outputs._fields:
        difference = (getattr(got, name) - getattr(expected, name)).abs().mean()
        assert difference < 0.03 * getattr(expected, name).abs().mean() + 0.01, name
    wanted, found = gradients(exact, expected), gradients(rounded, got)
    table = ["lines.table"] if config.lines else []
    for name in ("stem.convolution.weight", "blocks.1.second.convolution.weight", "value.hidden.weight", *table):
        assert functional.cosine_similarity(wanted[name].flatten(), found[name].flatten(), 0) > 0.98, name


@pytest.mark.parametrize("threads", [1, 2])
def test_a_table_gets_the_same_gradient_bit_for_bit_every_time(threads: int) -> None:
    planes, runs = planes_of(game_named("reversi6"), 64), []
    made = network(6, replace(NETWORK, lines=True))
    cpu_pass = CpuPass(made, 64, torch.bfloat16, Threads(threads))
    for _ in range(5):
        runs.append(gradients(made, cpu_pass.outputs(planes))["lines.table"])
    assert runs[0].any()
    assert all(run.equal(runs[0]) for run in runs)
