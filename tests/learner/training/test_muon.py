"""Muon: steps along orthogonal matrices, as torch makes them, for all kernels and for nothing else."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from learner.training.muon import Muon, orthogonal
from tests.learner.jobs import batch, trainer

GO_ON, LEAVE_OUT = torch.zeros(()), torch.ones(())


def noise(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 16, 40), (2, 40, 16), (1, 32, 288)])
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_orthogonal_keeps_singular_vectors_and_makes_the_values_about_1(
    shape: tuple[int, int, int], size: float
) -> None:
    matrices = size * noise(*shape)
    found = orthogonal(matrices)
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    inside = left.mT @ found @ right.mT
    diagonal = inside.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(inside, torch.diag_embed(diagonal), rtol=0, atol=2e-3)
    large = values > 0.02 * values.amax(1, keepdim=True)
    assert float(diagonal[large].min()) > 0.6
    assert float(diagonal.max()) < 1.3


def test_no_gradient_is_no_step() -> None:
    assert not orthogonal(torch.zeros(1, 8, 9)).any()


@pytest.mark.parametrize("shape", [(8, 20), (20, 8), (8, 4, 3, 3)])
def test_steps_are_torchs(shape: tuple[int, ...]) -> None:
    """Its iteration is in bfloat16, so a step may differ by a few hundredths of its length."""
    kernel, gradient, average = noise(*shape), torch.empty(shape), torch.zeros(shape)
    twin = nn.Parameter(kernel.flatten(1).clone())
    torchs = torch.optim.Muon([twin], lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    ours = Muon({"x": kernel}, {"x": gradient}, {"x": average})
    for seed in range(5):
        gradient.copy_(noise(*shape, seed=seed))
        before, twin.grad = kernel.flatten(1).clone(), gradient.flatten(1).clone()
        twin.data.copy_(before)
        ours.step(0.02, 0.1, GO_ON)
        torchs.step()
        ahead, wanted = kernel.flatten(1) - before, twin.data - before
        assert float((ahead - wanted).norm()) < 0.05 * float(wanted.norm())


def test_kernels_of_one_shape_learn_each_from_its_own_gradient() -> None:
    names = ["a", "b", "c"]
    alone = {name: noise(8, 12) for name in names}
    together = {name: kernel.clone() for name, kernel in alone.items()}
    gradients = {name: noise(8, 12, seed=seed) for seed, name in enumerate(names)}
    averages = {name: torch.zeros(8, 12) for name in names}
    Muon(together, gradients, averages).step(0.01, 0.0, GO_ON)
    for name in names:
        Muon({"x": alone[name]}, {"x": gradients[name]}, {"x": torch.zeros(8, 12)}).step(0.01, 0.0, GO_ON)
        torch.testing.assert_close(together[name], alone[name])


def test_a_step_that_is_left_out_changes_nothing() -> None:
    kernel, average = noise(8, 8), noise(8, 8, seed=4)
    kept = kernel.clone(), average.clone()
    Muon({"x": kernel}, {"x": torch.full((8, 8), torch.nan)}, {"x": average}).step(0.01, 0.1, LEAVE_OUT)
    assert kernel.equal(kept[0])
    assert average.equal(kept[1])


def test_kernels_step_by_muon_and_the_rest_by_adamw() -> None:
    """The very first step tells: AdamW's goes one learning rate along every weight, Muon's along a matrix."""
    made = trainer(optimiser="muon", weight_decay=0.0, warmup_steps=0)
    before = {name: array.copy() for name, array in made.arrays().items()}
    made.step(batch(32, 0), 0.0)
    after = made.arrays()
    for name, parameter in made._network.named_parameters():
        step = torch.from_numpy(after[f"network.{name}"] - before[f"network.{name}"]) / made.config.learning_rate
        assert parameter.grad is not None
        moved = step[parameter.grad.abs() > 1e-5].abs()
        is_kernel = parameter.ndim > 1 and len(parameter) >= 8
        assert bool(((moved > 0.9) & (moved < 1.01)).all()) != is_kernel, name
        if is_kernel:
            values = torch.linalg.svdvals(step.flatten(1)) / (0.2 * max(step.flatten(1).shape) ** 0.5)
            assert 0.5 < float(values.max()) < 1.3, name
