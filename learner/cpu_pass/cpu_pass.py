"""`CpuPass`: a `DualNetwork`'s training pass on a CPU, with boards side by side, on several threads.

oneDNN's weight gradient of a 3x3 convolution works row by row of the image, and rows of 6 squares are inefficient:
1.65 ms for 512 boards of 6x6 with 32 channels (bf16, one thread).  Eight boards side by side, a zero column after each,
are a strip: one image with rows of 56, which takes 0.63 ms, although a seventh of it is padding.  The layers keep those
columns zero, so boards do not affect each other.

Each thread has a chunk of the strips; threads synchronise once a layer, where a norm needs the sums of all chunks.
torch's own threads synchronise some three hundred times a step by spinning, which is very slow beside other work
(docs/experiments.md).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from learner.cpu_pass.layers import Convolution, Layer, Lookup, Shape
from reversi.kernels.threads import Threads
from reversi.model.network import DualNetwork, NormedConvolution, Outputs, ResidualBlock
from reversi.model.weights import WDL

BOARDS_PER_STRIP = 8
"""Boards side by side; a batch size that 8 does not divide has shorter strips. 4 to 32 are equally fast."""


class CpuPass:
    """The forward and backward pass over batches of one size."""

    def __init__(self, network: DualNetwork, boards: int, dtype: torch.dtype, threads: Threads) -> None:
        """Convolutions run in `dtype`, float32 or bfloat16; dense layers in float32.  `boards` is at least 1."""
        self.boards = boards
        self._network, self._threads = network, threads
        across = math.gcd(boards, BOARDS_PER_STRIP)
        parts = min(threads.count, boards // across)
        bounds = [boards // across * part // parts for part in range(parts + 1)]
        self._chunks = [slice(across * first, across * last) for first, last in pairwise(bounds)]
        strips = [last - first for first, last in pairwise(bounds)]
        self._shape = Shape(size=network.size, boards=across, chunks=strips, dtype=dtype)
        self._spare = self._shape.empty(network.config.channels)
        self._stem = below = self._layer(network.stem, first=True)
        self._lookup = None if network.lines is None else Lookup(network.lines, self._shape)
        self._blocks: list[tuple[Layer, Layer, Layer]] = []
        for block in network.blocks:
            assert isinstance(block, ResidualBlock)
            first, second = self._layer(block.first), self._layer(block.second, below)
            self._blocks.append((below, first, second))
            below = second
        self._top = below
        self._policy, self._value = self._layer(network.policy.features), self._layer(network.value.features)
        self._owner = Convolution(network.owner, self._shape)
        tower = [layer for _, *both in self._blocks for layer in both]
        self._layers: list[Layer | Convolution | Lookup] = [self._stem, *tower, self._policy, self._value, self._owner]
        if self._lookup is not None:
            self._layers.append(self._lookup)

    def outputs(self, planes: Tensor) -> Outputs:
        """Return `network(planes)` in training mode and update the running statistics; planes f32[B, 4, N, N].

        At most one backward pass may follow, before the next call.
        """
        assert len(planes) == self.boards, f"expected {self.boards} boards, got {len(planes)}"
        network = self._network
        apply = cast(Callable[..., tuple[Tensor, Tensor, Tensor]], _Convolutions.apply)
        policy, value, owner = apply(self, planes, *(each for layer in self._layers for each in layer.parameters()))
        squares = _dense(network.policy.square_logit, policy).flatten(1)
        passing = network.policy.pass_logit(policy.mean((1, 2)))
        output = network.value.output(functional.relu(network.value.hidden(value.permute(0, 3, 1, 2).flatten(1))))
        owner = torch.tanh(owner.squeeze(3))
        return Outputs(torch.cat((squares, passing), 1), output[:, :WDL], torch.tanh(output[:, WDL]), owner)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the features of policy and value head and the output of the owner head, f32[B, N, N, C] each."""
        policy, value, owner = (
            torch.empty(self.boards, self._shape.size, self._shape.size, layer.channels)
            for layer in (self._policy, self._value, self._owner)
        )

        def stem(c: int) -> None:
            boards = planes[self._chunks[c]]
            change = None if self._lookup is None else functools.partial(self._lookup.add, c, boards)
            self._stem.convolve(c, self._side_by_side(boards.permute(0, 2, 3, 1)), change)

        def heads(c: int) -> None:
            tower = self._top.activate(c)
            self._policy.convolve(c, tower)
            self._value.convolve(c, tower)
            owner[self._chunks[c]] = self._apart(self._owner.forward(c, tower))

        def activations(c: int) -> None:
            policy[self._chunks[c]] = self._apart(self._policy.activate(c))
            value[self._chunks[c]] = self._apart(self._value.activate(c))

        for layer in self._layers:
            layer.begin()
        self._each(stem)
        self._stem.finish_norm()
        for below, first, second in self._blocks:
            self._forward_block(below, first, second)
        self._each(heads)
        self._policy.finish_norm()
        self._value.finish_norm()
        self._each(activations)
        return policy, value, owner

    def backward(self, policy: Tensor, value: Tensor, owner: Tensor) -> list[Tensor]:
        """Return the gradients of all parameters, layer by layer, from those of the results of `forward`."""

        def heads(c: int) -> None:
            self._policy.backward_output(c, self._side_by_side(policy[self._chunks[c]]))
            self._value.backward_output(c, self._side_by_side(value[self._chunks[c]]))

        def tower(c: int) -> None:
            gradient = self._owner.backward(c, self._side_by_side(owner[self._chunks[c]]))
            gradient += self._value.backward_input(c)
            gradient += self._policy.backward_input(c)
            self._top.backward_output(c, gradient)

        def stem(c: int) -> None:
            self._stem.backward_input(c)
            if self._lookup is not None:
                self._lookup.backward(c, self._stem.convolution_gradient(c))

        self._each(heads)
        self._policy.finish_gradient()
        self._value.finish_gradient()
        self._each(tower)
        self._top.finish_gradient()
        for below, first, second in reversed(self._blocks):
            self._backward_block(below, first, second)
        self._each(stem)
        return [gradient for layer in self._layers for gradient in layer.gradients()]

    def _forward_block(self, below: Layer, first: Layer, second: Layer) -> None:
        self._each(lambda c: first.convolve(c, below.activate(c)))
        first.finish_norm()
        self._each(lambda c: second.convolve(c, first.activate(c)))
        second.finish_norm()

    def _backward_block(self, below: Layer, first: Layer, second: Layer) -> None:
        self._each(lambda c: first.backward_output(c, second.backward_input(c)))
        first.finish_gradient()
        self._each(lambda c: below.backward_output(c, first.backward_input(c), second.residual_gradient(c)))
        below.finish_gradient()

    def _layer(self, module: NormedConvolution, residual: Layer | None = None, *, first: bool = False) -> Layer:
        convolution = Convolution(module.convolution, self._shape, first=first)
        return Layer(convolution, module.norm, self._shape, residual, self._spare)

    def _each(self, work: Callable[[int], object]) -> None:
        """Call `work` with the number of every chunk on all threads, and wait for them."""

        def part(start: int, stop: int) -> None:
            for c in range(start, stop):
                work(c)

        self._threads.each(part, len(self._chunks))

    def _side_by_side(self, boards: Tensor) -> Tensor:
        """Lay boards side by side, a zero column after each: [B, N, N, C] -> [B/across, C, N, across*(N+1)]."""
        _, size, _, channels = boards.shape
        across = self._shape.boards
        strips = torch.zeros((len(boards) // across, size, across, size + 1, channels), dtype=self._shape.dtype)
        strips[..., :size, :] = boards.view(-1, across, size, size, channels).transpose(1, 2)
        return strips.view(-1, size, across * (size + 1), channels).permute(0, 3, 1, 2)

    def _apart(self, strips: Tensor) -> Tensor:
        """Undo `_side_by_side`: [B/across, C, N, across*(N+1)] -> [B, N, N, C]."""
        count, channels, size, _ = strips.shape
        apart = strips.permute(0, 2, 3, 1).view(count, size, self._shape.boards, size + 1, channels)[..., :size, :]
        return apart.transpose(1, 2).reshape(-1, size, size, channels)


class _Convolutions(torch.autograd.Function):
    """All layers except the dense ones, as one autograd function."""

    @staticmethod
    def forward(ctx: Any, run: CpuPass, planes: Tensor, *_: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ctx.run = run
        return run.forward(planes)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, None, *ctx.run.backward(*gradients))


def _dense(convolution: nn.Conv2d, boards: Tensor) -> Tensor:
    """Apply a 1x1 convolution to [B, N, N, C] as a dense layer."""
    return functional.linear(boards, convolution.weight.flatten(1), convolution.bias)
