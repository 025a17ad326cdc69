"""`StackNetwork`: a plain sequence of layers (torch), for training and, in eval mode, for play.

    planes [B, 2 or 4, N, N] -> convolutions -> 1x1 convolution -> a number for every square, 0 for the pass
                                             -> dense layers    -> the same

Its parameters have the names of the arrays of its `Weights`; there is nothing to fold.
"""

from __future__ import annotations

from collections.abc import Mapping

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

        planes  f32[B, 4, N, N]  B may be 0; a network of two planes ignores the last two
        """
        seen = planes[:, : self.config.planes]
        squares = self.agents[0](seen)
        if self.config.agents == 2:
            even = planes[:, :2].sum((1, 2, 3), dtype=torch.float32) % 2 == 0
            squares = torch.where(even[:, None], squares, self.agents[1](seen))
        return functional.pad(squares.float(), (0, 1))


class _Agent(nn.Module):
    """Convolutions and dense layers with ReLU between them."""

    def __init__(self, config: StackConfig, size: int) -> None:
        super().__init__()
        shapes = agent_shapes(config, size)
        same = config.padding == "same"
        self.dropout = config.dropout
        self.fringe = 1 - config.width % 2 if same else 0
        """Extra rows and columns of zeros below and right, which an even width needs besides its padding."""
        border = (config.width - 1) // 2 if same else 0
        self.convolutions = nn.ModuleList(
            nn.Conv2d(shape[1], shape[0], config.width, padding=border) for shape in _under("convolutions.", shapes)
        )
        self.hidden = nn.ModuleList(nn.Linear(shape[1], shape[0]) for shape in _under("hidden.", shapes))
        for layer in (*self.convolutions, *self.hidden):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        outputs = shapes["output"]
        self.output = (
            nn.Linear(outputs[1], outputs[0])
            if config.hidden
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
        if self.hidden:
            features = features.flatten(1)
        for layer in self.hidden:
            features = self._rectified(layer(features))
        squares: Tensor = self.output(features)
        return squares

    def _rectified(self, features: Tensor) -> Tensor:
        return functional.dropout(functional.relu(features, inplace=True), self.dropout, self.training)


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
