"""Muon: steps for weight matrices with all singular values near 1, so that no direction of a layer dominates a step.

    M <- momentum M + (1 - momentum) G        the gradient's running mean, convolutions as matrices [outputs, inputs]
    O = orthogonal(momentum M + (1 - momentum) G)       Nesterov's
    W <- W - rate (decay W + 0.2 sqrt(max(outputs, inputs)) O)

The mean square of such a step is AdamW's, so that one learning rate and one decay serve both.  Jordan et al. 2024,
"Muon: An optimizer for hidden layers in neural networks" (kellerjordan.github.io/posts/muon), with the scale of Liu et
al. 2025, "Muon is Scalable for LLM Training" (arXiv 2502.16982, section 2.2); KataGo trains by Muon, too.
torch.optim.Muon takes matrices one by one, in bfloat16, and cannot skip a step on the device.
"""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor

MOMENTUM = 0.95
"""Jordan's value."""

_ITERATIONS, _COEFFICIENTS = 5, (3.4445, -4.7750, 2.0315)
"""Jordan's quintic iteration: singular values end between 0.7 and 1.2, close enough to 1."""


class Muon:
    """Muon over a network's weight matrices, stacked by shape, so that a step is a few calls per shape."""

    def __init__(self, weights: dict[str, Tensor], gradients: dict[str, Tensor], averages: dict[str, Tensor]) -> None:
        """All have the same names, f32[outputs, inputs] or f32[outputs, inputs, h, w]; a step reads `gradients`."""
        shapes: dict[torch.Size, list[str]] = defaultdict(list)
        for name, weight in weights.items():
            shapes[weight.shape].append(name)
        self._stacks = [
            tuple([parts[name] for name in names] for parts in (weights, gradients, averages))
            for names in shapes.values()
        ]

    @torch.no_grad()
    def step(self, rate: float, decay: float, skip: Tensor) -> None:
        """Update all weights; if `skip` f32[] is 1, nothing changes."""
        for weights, gradients, averages in self._stacks:
            weight, gradient, average = (_matrices(parts) for parts in (weights, gradients, averages))
            average = average.lerp(gradient, 1 - MOMENTUM)
            scale = 0.2 * max(weight.shape[1:]) ** 0.5
            weight = weight * (1 - rate * decay) - rate * scale * orthogonal(gradient.lerp(average, MOMENTUM))
            for old, new in (*zip(averages, average, strict=True), *zip(weights, weight, strict=True)):
                old.copy_(torch.where(skip == 0, new.view(old.shape), old))


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices [n, R, C] with the same singular vectors and singular values of 0.7 to 1.2, by Newton-Schulz
    iteration; values below a thousandth of the largest stay smaller.  In bfloat16 on a GPU."""
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonal(matrices.mT).mT
    result = matrices.bfloat16() if matrices.is_cuda else matrices
    result = result / result.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    a, b, c = _COEFFICIENTS
    for _ in range(_ITERATIONS):
        gram = result @ result.mT
        result = torch.baddbmm(result, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), result, beta=a)
    return result.to(matrices.dtype)


def _matrices(parts: list[Tensor]) -> Tensor:
    """Return the weights stacked as matrices [n, outputs, inputs], copied."""
    return torch.stack(parts).flatten(2)
