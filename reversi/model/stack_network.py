"""`StackNetwork`: a plain sequence of layers (torch), for training and, in eval mode, for play.

    planes [B, 1, 2 or 4, N, N] -> convolutions -> 1x1 convolution -> a number for every square, 0 for the pass
                                                -> linear layers at every square -> dense layers -> the same

Its parameters have the names of the arrays of its `Weights`; there is nothing to fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from reversi.model.config import StackConfig
from reversi.model.weights import agent_shapes

OUTPUT_STD = 0.01
"""Standard deviation of the last layers' initial weights: an untrained network has a nearly uniform policy and values
near 0, so that the search is unbiased."""


class StackNetwork(nn.Module):
    """One stack of layers, or two that take turns, for boards of `size` squares a side.

    It supports channels-last memory and autocast; the output is always float32.
    """

    def __init__(self, config: StackConfig, size: int) -> None:
        """Raises ConfigError if the convolutions shrink the board to nothing."""
        super().__init__()
        self.config = config
        self.size = size
        self.agents = nn.ModuleList(_Agent(config, size) for _ in range(config.agents))

    def forward(self, planes: Tensor) -> Tensor:
        """Return f32[B, A]: logits or action values of all squares, illegal ones included, and 0 for the pass.

        planes  f32[B, 4, N, N]  B may be 0; a network of one or two planes ignores the last two
        """
        squares = self.agents[0](self._seen(planes, *self.config.discs))
        if self.config.agents == 2:
            second = self.agents[1](self._seen(planes, *reversed(self.config.discs)))
            squares = torch.where(has_even_discs(planes)[:, None], squares, second)
        return functional.pad(squares.float(), (0, 1))

    def of_agents(self, planes: Tensor) -> Tensor:
        """Return f32[B, K, A]: as `forward`, of every agent, also where another one is to move."""
        seen = self._seen(planes, *self.config.discs)
        if self.config.agents == 2:
            swapped = self._seen(planes, *reversed(self.config.discs))
            seen = torch.where(has_even_discs(planes)[:, None, None, None], seen, swapped)
        return functional.pad(torch.stack([agent(seen).float() for agent in self.agents], 1), (0, 1))

    def _seen(self, planes: Tensor, *discs: int) -> Tensor:
        """Return the planes that an agent sees; of one plane, with the numbers of own and the opponent's discs."""
        if not discs:
            return planes[:, : self.config.planes]
        own, opponent = discs
        return own * planes[:, :1] + opponent * planes[:, 1:2]


def has_even_discs(planes: Tensor) -> Tensor:
    """Return bool[B]: whether the first of two agents is to move in `planes` f32[B, 4, N, N]."""
    return planes[:, :2].sum((1, 2, 3), dtype=torch.float32) % 2 == 0


class _Agent(nn.Module):
    """Convolutions and dense layers with ReLU between them, and linear layers at every square without."""

    def __init__(self, config: StackConfig, size: int) -> None:
        super().__init__()
        shapes = agent_shapes(config, size)
        same = config.padding == "same"
        self.config = config
        self.fringe = 1 - config.width % 2 if same else 0
        """Extra rows and columns of zeros below and right, which an even width needs besides its padding."""
        border = (config.width - 1) // 2 if same else 0
        self.convolutions = nn.ModuleList(
            nn.Conv2d(shape[1], shape[0], config.width, padding=border) for shape in _under("convolutions.", shapes)
        )
        self.pointwise = nn.ModuleList(nn.Linear(shape[1], shape[0]) for shape in _under("pointwise.", shapes))
        self.hidden = nn.ModuleList(nn.Linear(shape[1], shape[0]) for shape in _under("hidden.", shapes))
        _begin(self.pointwise, "linear")
        _begin((*self.convolutions, *self.hidden), "relu")
        outputs = shapes["output"]
        self.output = (
            nn.Linear(outputs[1], outputs[0])
            if config.is_flattened
            else _SquareLogits(outputs[1], size * size if config.square_bias else 1)
        )
        nn.init.normal_(self.output.weight, std=OUTPUT_STD)
        nn.init.zeros_(self.output.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Return [B, N * N], in the precision of the computation."""
        for layer in self.convolutions:
            if self.fringe:
                features = functional.pad(features, (0, self.fringe, 0, self.fringe))
            features = self._rectified(layer(features))
        return self._dense(features.flatten(1)) if self.config.is_flattened else self.output(features)

    def _dense(self, features: Tensor) -> Tensor:
        """Return [B, N * N] of the flattened features, f32[B, C * S] of S squares."""
        layers = _matrices((*self.hidden, self.output))
        if self.pointwise:
            layers[0] = self._after_pointwise(*layers[0])
        for weight, bias in layers[:-1]:
            features = self._rectified(functional.linear(features, weight, bias))
        return functional.linear(features, *layers[-1])

    def _after_pointwise(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return a dense layer that does what the linear layers at every square and this dense layer do.

        The matrices are multiplied once instead of being applied to every square of a batch: the same function and the
        same gradients of every layer, in a third of the time of a step.
        """
        (first, constant), *rest = _matrices(self.pointwise)
        for matrix, added in rest:
            first, constant = matrix @ first, functional.linear(constant, matrix, added)
        outputs = weight.view(len(weight), len(first), -1)  # [U, C, S]
        return (first.t() @ outputs).flatten(1), bias + outputs.sum(2) @ constant

    def _rectified(self, features: Tensor) -> Tensor:
        return functional.dropout(functional.relu(features, inplace=True), self.config.dropout, self.training)


def _matrices(layers: Iterable[Any]) -> list[tuple[Tensor, Tensor]]:
    return [(layer.weight, layer.bias) for layer in layers]


def _begin(layers: Iterable[Any], activation: Literal["linear", "relu"]) -> None:
    """Initialise layers that have this activation behind them (He et al. 2015, section 2.2)."""
    for layer in layers:
        nn.init.kaiming_normal_(layer.weight, nonlinearity=activation)
        nn.init.zeros_(layer.bias)


class _SquareLogits(nn.Module):
    """A 1x1 convolution to one plane, with one bias for all squares or one for each."""

    def __init__(self, inputs: int, biases: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(1, inputs, 1, 1))
        self.bias = nn.Parameter(torch.empty(biases))

    def forward(self, features: Tensor) -> Tensor:
        """Return [B, N * N]."""
        return functional.conv2d(features, self.weight).flatten(1) + self.bias


def _under(prefix: str, shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [shape for layer, shape in shapes.items() if layer.startswith(prefix)]
