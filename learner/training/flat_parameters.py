"""A network's parameters in one flat tensor, so that clipping, optimiser and average take a few calls, not hundreds."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ALIGNMENT = 64
"""Each parameter begins at a multiple of this many numbers, for aligned memory access. The gaps stay zero."""

MATRIX_OUTPUTS = 8
"""Fewest outputs of a matrix for Muon; layers with fewer, such as some last layers, are too small for such a step."""


class FlatParameters:
    """The parameters of a network, moved into flat memory; each keeps its shape and its strides.

    The order is: matrices, then other parameters with weight decay (tables, small outputs), then norms and biases.
    """

    def __init__(self, network: nn.Module) -> None:
        matrices = _matrices_of(network)
        order = sorted(network.named_parameters(), key=lambda each: (each[0] not in matrices, each[1].ndim <= 1))
        self._parameters = dict(order)
        self._starts: dict[str, int] = {}
        length = self.matrices = self.decayed = 0
        for name, parameter in self._parameters.items():
            self._starts[name] = length
            length += -(-parameter.numel() // ALIGNMENT) * ALIGNMENT
            if name in matrices:
                self.matrices = length
            if parameter.ndim > 1:
                self.decayed = length
        self.values = torch.zeros(length, device=next(network.parameters()).device)  # f32[P]
        for name, values in self.split(self.values).items():
            values.copy_(self._parameters[name].data)
            self._parameters[name].data = values

    def attach_gradients(self) -> Tensor:
        """Return f32[P], zero, to which every backward pass adds the gradients from now on."""
        gradients = torch.zeros_like(self.values)
        for name, gradient in self.split(gradients).items():
            self._parameters[name].grad = gradient
        return gradients

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """Return views of the parts of `flat` f32[P], by the name of their parameter."""
        return {
            name: flat.as_strided(each.shape, each.stride(), self._starts[name])
            for name, each in self._parameters.items()
        }

    def split_matrices(self, flat: Tensor) -> dict[str, Tensor]:
        """Return views of the parts of `flat` f32[P] that belong to matrices, by name."""
        return {name: part for name, part in self.split(flat).items() if self._starts[name] < self.matrices}


def _matrices_of(network: nn.Module) -> set[str]:
    """Return the names of the weights of convolutions and dense layers with enough outputs to be a matrix."""
    return {
        f"{name}.weight"
        for name, module in network.named_modules()
        if isinstance(module, nn.Conv2d | nn.Linear) and len(module.weight) >= MATRIX_OUTPUTS
    }
