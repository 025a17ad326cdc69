"""FlatParameters parameters: the same network, in one piece of memory."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch

from learner.training.flat_parameters import ALIGNMENT, MATRIX_OUTPUTS, FlatParameters
from reversi.model.network import DualNetwork
from tests.learner.jobs import NETWORK


def network() -> DualNetwork:
    torch.manual_seed(5)
    made: DualNetwork = DualNetwork(NETWORK, 4).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return made


def test_parameters_keep_values_shapes_and_strides_and_lie_in_one_tensor() -> None:
    made = network()
    twin = copy.deepcopy(made)
    flat = FlatParameters(made)
    start, end = flat.values.data_ptr(), flat.values.data_ptr() + 4 * len(flat.values)
    for (name, parameter), before in zip(made.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(parameter, before, rtol=0, atol=0)
        assert (parameter.shape, parameter.stride()) == (before.shape, before.stride())
        assert start <= parameter.data_ptr() < end
        assert (parameter.data_ptr() - start) % (4 * ALIGNMENT) == 0
        assert flat.split(flat.values)[name].data_ptr() == parameter.data_ptr()
    flat.values.zero_()
    assert not any(parameter.any() for parameter in made.parameters())


def test_what_decays_comes_first() -> None:
    made = network()
    flat = FlatParameters(made)
    numbers = torch.arange(len(flat.values))
    for name, parameter in made.named_parameters():
        places = flat.split(numbers)[name]
        assert bool((places < flat.decayed).all()) == (parameter.ndim > 1), name
        assert bool((places >= flat.decayed).all()) == (parameter.ndim <= 1), name


def test_kernels_come_before_all_others() -> None:
    made = network()
    flat = FlatParameters(made)
    numbers = torch.arange(len(flat.values))
    kernels = flat.split_matrices(numbers)
    assert kernels.keys() == {
        name for name, parameter in made.named_parameters() if parameter.ndim > 1 and len(parameter) >= MATRIX_OUTPUTS
    }
    assert {"stem.convolution.weight", "blocks.1.second.convolution.weight", "value.hidden.weight"} <= kernels.keys()
    for name, places in flat.split(numbers).items():
        assert bool((places < flat.matrices).all()) == (name in kernels), name


def test_a_table_is_no_kernel() -> None:
    made = DualNetwork(replace(NETWORK, lines=True), 4)
    flat = FlatParameters(made)
    assert "lines.table" not in flat.split_matrices(flat.values)


def test_gradients_are_added_in_the_flat_memory() -> None:
    made, twin = network(), network()
    flat = FlatParameters(made)
    gradients = flat.attach_gradients()
    planes = torch.rand(3, 4, 4, 4, generator=torch.Generator().manual_seed(1))
    for each in (made, twin):
        outputs = each(planes)
        (outputs.policy.sum() + outputs.wdl[:, 0].sum() + outputs.owner.square().sum()).backward()
    for name, parameter in twin.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(flat.split(gradients)[name], parameter.grad, rtol=1e-5, atol=1e-6)
    norm = torch.cat([each.grad.flatten() for each in twin.parameters() if each.grad is not None]).norm()
    torch.testing.assert_close(gradients.norm(), norm)
