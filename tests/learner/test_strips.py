"""The training pass on strips is the network's own pass: outputs, gradients and running statistics."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from learner.strips import StripPass
from reversi.model.config import ResNetConfig
from reversi.model.network import DualNetwork, Outputs
from reversi.search.parallel import Threads

NETWORK = ResNetConfig(blocks=2, channels=24, policy_channels=8, value_channels=3, value_hidden=16)


def network(size: int) -> DualNetwork:
    torch.manual_seed(3)
    made = DualNetwork(NETWORK, size)
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


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("size", "boards"), [(3, 8), (4, 1), (6, 5), (6, 12), (6, 32), (8, 24)])
def test_strips_give_the_networks_outputs_gradients_and_statistics(size: int, boards: int, threads: int) -> None:
    plain = network(size)
    strips = copy.deepcopy(plain)
    planes = torch.from_numpy(np.random.default_rng(size).integers(0, 2, (boards, 4, size, size)).astype(np.float32))
    expected, got = plain(planes), StripPass(strips, boards, torch.float32, Threads(threads)).outputs(planes)
    for name in Outputs._fields:
        torch.testing.assert_close(getattr(got, name), getattr(expected, name), rtol=1e-4, atol=1e-4)
    wanted, found = gradients(plain, expected), gradients(strips, got)
    assert found.keys() == wanted.keys() == dict(plain.named_parameters()).keys()
    for name, gradient in wanted.items():
        scale = float(gradient.abs().max())
        torch.testing.assert_close(found[name], gradient, rtol=1e-3, atol=1e-3 * scale + 1e-4, msg=name)
    for name, buffer in plain.named_buffers():
        torch.testing.assert_close(strips.get_buffer(name), buffer, rtol=1e-4, atol=1e-5, msg=name)


def test_bfloat16_stays_within_its_rounding() -> None:
    exact, rounded = network(6), network(6)
    planes = (torch.rand(64, 4, 6, 6, generator=torch.Generator().manual_seed(2)) > 0.5).float()
    expected = StripPass(exact, 64, torch.float32, Threads(1)).outputs(planes)
    got = StripPass(rounded, 64, torch.bfloat16, Threads(2)).outputs(planes)
    for name in Outputs._fields:
        difference = (getattr(got, name) - getattr(expected, name)).abs().mean()
        assert difference < 0.03 * getattr(expected, name).abs().mean() + 0.01, name
    wanted, found = gradients(exact, expected), gradients(rounded, got)
    for name in ("stem.convolution.weight", "blocks.1.second.convolution.weight", "value.hidden.weight"):
        assert functional.cosine_similarity(wanted[name].flatten(), found[name].flatten(), 0) > 0.98, name
