"""A network's parameters in one flat tensor: clipping, optimiser and average are a few calls then, not some hundred."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ALIGNMENT = 64
"""Numbers; each parameter begins at a multiple of it, as libraries like their tensors. The gaps stay zero."""

KERNEL_OUTPUTS = 8
"""Weights of a layer with fewer outputs, as some last layers are, are no kernel: there is too little of a matrix."""


class Flat:
    """The parameters of a network, moved into flat memory; each keeps its shape and its strides.

    Kernels come first, then what else decays, tables and small outputs, then norms and biases, which do not.
    """

    def __init__(self, network: nn.Module) -> None:
        kernels = _kernels_of(network)
        order = sorted(network.named_parameters(), key=lambda each: (each[0] not in kernels, each[1].ndim <= 1))
        self._parameters = dict(order)
        self._starts: dict[str, int] = {}
        length = self.kernels = self.decayed = 0
        for name, parameter in self._parameters.items():
            self._starts[name] = length
            length += -(-parameter.numel() // ALIGNMENT) * ALIGNMENT
            if name in kernels:
                self.kernels = length
            if parameter.ndim > 1:
                self.decayed = length
        self.values = torch.zeros(length, device=next(network.parameters()).device)  # f32[P]
        for name, values in self.split(self.values).items():
            values.copy_(self._parameters[name].data)
            self._parameters[name].data = values

    def take_gradients(self) -> Tensor:
        """Return f32[P], zero, to which every backward pass will add the gradients."""
        gradients = torch.zeros_like(self.values)
        for name, gradient in self.split(gradients).items():
            self._parameters[name].grad = gradient
        return gradients

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """Return the parts of `flat` f32[P] by the name of the parameter that they belong to, as views."""
        return {
            name: flat.as_strided(each.shape, each.stride(), self._starts[name])
            for name, each in self._parameters.items()
        }

    def split_kernels(self, flat: Tensor) -> dict[str, Tensor]:
        """Return the parts of `flat` f32[P] that belong to kernels, likewise."""
        return {name: part for name, part in self.split(flat).items() if self._starts[name] < self.kernels}


def _kernels_of(network: nn.Module) -> set[str]:
    """Return the names of the weights of convolutions and dense layers with enough outputs to be a matrix."""
    return {
        f"{name}.weight"
        for name, module in network.named_modules()
        if isinstance(module, nn.Conv2d | nn.Linear) and len(module.weight) >= KERNEL_OUTPUTS
    }
