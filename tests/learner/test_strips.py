"""The training pass on strips is the network's own pass: outputs, gradients and running statistics."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from learner.fused import norm_relu
from learner.strips import training_outputs
from reversi.model.config import NetworkConfig
from reversi.model.network import DualNetwork, Outputs

NETWORK = NetworkConfig(blocks=2, channels=24, policy_channels=8, value_channels=3, value_hidden=16)


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


@pytest.mark.parametrize(("size", "boards"), [(3, 8), (4, 1), (6, 5), (6, 12), (6, 32), (8, 16)])
def test_strips_give_the_networks_outputs_gradients_and_statistics(size: int, boards: int) -> None:
    plain = network(size)
    strips = copy.deepcopy(plain)
    planes = torch.from_numpy(np.random.default_rng(size).integers(0, 2, (boards, 4, size, size)).astype(np.float32))
    expected, got = plain(planes), training_outputs(strips, planes, torch.float32)
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
    expected, got = training_outputs(exact, planes, torch.float32), training_outputs(rounded, planes, torch.bfloat16)
    for name in Outputs._fields:
        difference = (getattr(got, name) - getattr(expected, name)).abs().mean()
        assert difference < 0.03 * getattr(expected, name).abs().mean() + 0.01, name
    wanted, found = gradients(exact, expected), gradients(rounded, got)
    for name in ("stem.convolution.weight", "blocks.1.second.convolution.weight", "value.hidden.weight"):
        assert functional.cosine_similarity(wanted[name].flatten(), found[name].flatten(), 0) > 0.98, name


def norm_and_input(dtype: torch.dtype) -> tuple[torch.nn.BatchNorm2d, Tensor]:
    """A norm with channels that differ, and features [6, 5, 3, 8]: two boards of 3 columns and a separator each."""
    generator = torch.Generator().manual_seed(4)
    norm = torch.nn.BatchNorm2d(5).train()
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(0.5, 2, 5))
        norm.bias.copy_(torch.linspace(-0.5, 0.5, 5))
    features = torch.randn(6, 5, 3, 8, generator=generator) * 2 + 3
    return norm, features.to(dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
def test_separating_columns_come_out_as_zero_and_do_not_count(dtype: torch.dtype, tolerance: float) -> None:
    norm, features = norm_and_input(dtype)
    twin = copy.deepcopy(norm)
    out = norm_relu(norm, features, None, 3, 4)
    assert not out[..., 3::4].any()
    boards = features.float().view(6, 5, 3, 2, 4)[..., :3].reshape(6, 5, 3, 6)
    expected = functional.relu(twin(boards)).view(6, 5, 3, 2, 3)
    torch.testing.assert_close(out.float().view(6, 5, 3, 2, 4)[..., :3], expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(norm.running_var, twin.running_var, rtol=1e-5, atol=1e-5)
    assert norm.num_batches_tracked == 1


def test_bfloat16_is_rounded_as_torch_rounds_it() -> None:
    norm, features = norm_and_input(torch.float32)
    exact = norm_relu(norm, features, None, 8, 8)
    norm, _ = norm_and_input(torch.float32)
    halved = features.bfloat16()
    rounded = norm_relu(norm, halved, None, 8, 8)
    norm, _ = norm_and_input(torch.float32)
    torch.testing.assert_close(rounded, norm_relu(norm, halved.float(), None, 8, 8).bfloat16(), rtol=0, atol=0)
    assert exact.dtype == torch.float32


def test_a_nan_stays_a_nan() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        norm, features = norm_and_input(dtype)
        features[0, 2, 0, 0] = torch.nan
        out = norm_relu(norm, features, None, 3, 4)
        assert out[:, 2, :, 0].isnan().all()
        assert out[:, [0, 1, 3, 4]].isfinite().all()
