"""A network's parameters in one flat tensor: clipping, optimiser and average are a few calls then, not some hundred."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ALIGNMENT = 64
"""Numbers; each parameter begins at a multiple of it, as libraries like their tensors. The gaps stay zero."""


class Flat:
    """The parameters of a network, moved into flat memory; each keeps its shape and its strides.

    Kernels, matrices and tables come first, then norms and biases, which do not decay.
    """

    def __init__(self, network: nn.Module) -> None:
        self._parameters = dict(sorted(network.named_parameters(), key=lambda named: named[1].ndim <= 1))
        self._starts: dict[str, int] = {}
        length = self.decayed = 0
        for name, parameter in self._parameters.items():
            self._starts[name] = length
            length += -(-parameter.numel() // ALIGNMENT) * ALIGNMENT
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
