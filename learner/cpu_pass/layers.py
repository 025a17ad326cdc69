"""The layers of the CPU pass, forward and backward: convolution with norm, residual and ReLU, chunk by chunk.

Methods that take a chunk may run on any thread, one chunk on one thread at a time; `begin`, `finish_norm` and
`finish_gradient` are called while no chunk is being processed.  Autograd records nothing here.  Memory is reused from
step to step, and calls of torch are few, since each releases and reacquires the GIL: that made the step of two threads
a tenth faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from learner.cpu_pass.kernels import (
    FeatureRows,
    activate,
    add_lines,
    finish_gradient,
    finish_norm,
    norm_gradient,
    relu_gradient,
    scatter_lines,
    sum_features,
)
from reversi.model.line_patterns import DIRECTIONS, lines_of, shared_rows, write_rows
from reversi.model.line_table import LineTable


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The layout of a batch: boards side by side in strips (`cpu_pass.py`), every `size` + 1st column zero."""

    size: int
    """Squares of a board's side."""
    boards: int
    """Boards in a strip."""
    chunks: Sequence[int]
    """Strips in each chunk."""
    dtype: torch.dtype
    """Type that convolutions compute in."""

    def empty(self, channels: int) -> list[Tensor]:
        """Return an uninitialised tensor [strips, C, N, boards * (N + 1)] for each chunk, channels last."""
        width = self.boards * (self.size + 1)
        return [
            torch.empty(strips, channels, self.size, width, dtype=self.dtype, memory_format=torch.channels_last)
            for strips in self.chunks
        ]


class Convolution:
    """A convolution that keeps its inputs and the gradients of its parameters for each chunk."""

    def __init__(self, module: nn.Conv2d, shape: Shape, *, first: bool = False) -> None:
        """The `first` of a network has planes as inputs, which need no gradient."""
        self.channels = module.out_channels
        self._first = first
        self._module = module
        self._weight = torch.empty_like(module.weight.data, dtype=shape.dtype)
        self._bias = None if module.bias is None else torch.empty_like(module.bias.data, dtype=shape.dtype)
        self._inputs = [torch.empty(0)] * len(shape.chunks)
        self._d_weight, self._d_bias = self._inputs.copy(), self._inputs.copy()

    def begin(self) -> None:
        """Copy the current parameters."""
        self._weight.copy_(self._module.weight.data)
        if self._bias is not None and self._module.bias is not None:
            self._bias.copy_(self._module.bias.data)

    def forward(self, c: int, inputs: Tensor) -> Tensor:
        """Return the features of chunk `c`, channels last."""
        self._inputs[c] = inputs
        return _channels_last(functional.conv2d(inputs, self._weight, self._bias, padding=self._module.padding))

    def backward(self, c: int, gradient: Tensor) -> Tensor:
        """Return the gradient of the inputs from that of the features; it is undefined for the network's planes."""
        d_inputs: Tensor
        d_inputs, self._d_weight[c], self._d_bias[c] = torch.ops.aten.convolution_backward(
            gradient,
            self._inputs[c],
            self._weight,
            None if self._bias is None else [self.channels],
            (1, 1),
            self._module.padding,
            (1, 1),
            False,
            (0, 0),
            1,
            (not self._first, True, self._bias is not None),
        )
        return d_inputs

    def parameters(self) -> list[Tensor]:
        """Return weight and, if there is one, bias."""
        return [self._module.weight] + ([] if self._module.bias is None else [self._module.bias])

    def gradients(self) -> list[Tensor]:
        """Return the gradients of `parameters()`."""
        return [_total(self._d_weight)] + ([] if self._bias is None else [_total(self._d_bias)])


class Lookup:
    """The table of lines: adds its rows to the output of a convolution and computes their gradient, chunk by chunk."""

    def __init__(self, module: LineTable, shape: Shape) -> None:
        self._module, self._size, self._boards = module, shape.size, shape.boards
        self._shared = shared_rows(shape.size)
        boards = [strips * shape.boards for strips in shape.chunks]
        self._rows = [np.empty((count, shape.size**2, DIRECTIONS), np.int32) for count in boards]
        self._d_table = [torch.empty_like(module.table.data) for _ in boards]

    def begin(self) -> None:
        """Get the current parameters."""
        self._table: NDArray[np.float32] = self._module.table.detach().numpy()

    def add(self, c: int, planes: Tensor, features: FeatureRows) -> None:
        """Add to the features of chunk `c` the table rows of its planes f32[B, 4, N, N]."""
        write_rows(planes.numpy(), *lines_of(self._size), self._rows[c])
        self._rows[c] = self._shared[self._rows[c]]
        add_lines(features, self._table, self._rows[c], self._size, self._boards)

    def backward(self, c: int, gradient: FeatureRows) -> None:
        """Compute the gradient of the table from that of the features of chunk `c`."""
        scatter_lines(gradient, self._rows[c], self._size, self._boards, self._d_table[c].numpy())

    def parameters(self) -> list[Tensor]:
        """Return the table."""
        return [self._module.table]

    def gradients(self) -> list[Tensor]:
        """Return the gradients of `parameters()`."""
        return [_total(self._d_table)]


class Layer:
    """A convolution without bias, its norm and ReLU; adds the activations of the layer `residual`, if there is one."""

    def __init__(
        self, convolution: Convolution, norm: nn.BatchNorm2d, shape: Shape, residual: Layer | None, spare: list[Tensor]
    ) -> None:
        """`spare` is memory for one gradient per chunk, shared by all layers with a residual."""
        assert norm.momentum is not None
        self.channels = channels = convolution.channels
        self._convolution, self._norm, self._residual, self._spare = convolution, norm, residual, spare
        self._filled, self._period = shape.size, shape.size + 1
        self._squares = sum(shape.chunks) * shape.boards * shape.size**2
        self._outs = shape.empty(channels)
        self._out_rows = [_rows(out) for out in self._outs]
        self._spare_rows = [_rows(each) for each in spare]
        self._nothing = self._out_rows[0][:0]
        self._feature_rows = self._out_rows.copy()
        self._gradients = self._outs.copy()
        self._gradient_rows = self._out_rows.copy()
        self._sums = np.empty((len(shape.chunks), 2, channels))
        self._statistics = np.empty((4, channels), np.float32)
        self._coefficients = np.empty((3, channels), np.float32)
        self._d_norm = torch.empty(2, channels)

    def begin(self) -> None:
        """Copy the current parameters."""
        assert self._norm.training
        self._convolution.begin()

    def convolve(self, c: int, inputs: Tensor, change: Callable[[FeatureRows], None] | None = None) -> None:
        """Convolve chunk `c`, apply `change` to the output in place, and sum it for the norm."""
        rows = self._feature_rows[c] = _rows(self._convolution.forward(c, inputs))
        if change is not None:
            change(rows)
        sum_features(rows, self._filled, self._period, self._sums[c])

    def finish_norm(self) -> None:
        """Compute the batch statistics from the sums of all chunks, and update the running ones."""
        norm = self._norm
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert norm.num_batches_tracked is not None
        assert norm.momentum is not None
        finish_norm(
            self._sums,
            self._squares,
            norm.weight.detach().numpy(),
            norm.bias.detach().numpy(),
            norm.running_mean.numpy(),
            norm.running_var.numpy(),
            norm.momentum,
            norm.eps,
            self._statistics,
        )
        norm.num_batches_tracked += 1

    def activate(self, c: int) -> Tensor:
        """Return the activations of chunk `c`, zero between the boards."""
        residual = self._nothing if self._residual is None else self._residual._out_rows[c]
        activate(self._feature_rows[c], residual, self._statistics, self._filled, self._period, self._out_rows[c])
        return self._outs[c]

    def backward_output(self, c: int, gradient: Tensor, extra: FeatureRows | None = None) -> None:
        """Propagate the gradient of the activations of chunk `c`, `gradient` + `extra`, to the norm; `gradient` is
        overwritten."""
        self._gradients[c] = gradient = _channels_last(gradient)
        rows = self._gradient_rows[c] = _rows(gradient)
        relu_gradient(
            rows,
            self._nothing if extra is None else extra,
            self._out_rows[c],
            self._feature_rows[c],
            self._statistics,
            self._filled,
            self._period,
            self._sums[c],
        )

    def residual_gradient(self, c: int) -> FeatureRows:
        """Return the gradient of the residual of chunk `c`; it is undefined between the boards."""
        return self._gradient_rows[c]

    def convolution_gradient(self, c: int) -> FeatureRows:
        """Return the gradient of the convolution's output, after `backward_input`; without a residual only."""
        assert self._residual is None
        return self._gradient_rows[c]

    def finish_gradient(self) -> None:
        """Compute the gradient of the norm's parameters from the sums of all chunks."""
        d_weight, d_bias = self._d_norm.numpy()
        weight = self._norm.weight.detach().numpy()
        finish_gradient(self._sums, self._squares, weight, self._statistics, d_weight, d_bias, self._coefficients)

    def backward_input(self, c: int) -> Tensor:
        """Return the gradient of the inputs of chunk `c`."""
        rows, features = self._gradient_rows[c], self._feature_rows[c]
        if self._residual is None:
            norm_gradient(rows, features, self._coefficients, self._filled, self._period, self._nothing)
            return self._convolution.backward(c, self._gradients[c])
        norm_gradient(rows, features, self._coefficients, self._filled, self._period, self._spare_rows[c])
        return self._convolution.backward(c, self._spare[c])

    def parameters(self) -> list[Tensor]:
        """Return the convolution's weight, then weight and bias of the norm."""
        return [*self._convolution.parameters(), self._norm.weight, self._norm.bias]

    def gradients(self) -> list[Tensor]:
        """Return the gradients of `parameters()`."""
        return [*self._convolution.gradients(), *self._d_norm]


def _channels_last(features: Tensor) -> Tensor:
    if features.is_contiguous(memory_format=torch.channels_last):
        return features
    return features.contiguous(memory_format=torch.channels_last)


def _rows(features: Tensor) -> FeatureRows:
    """Return channels-last features as an array [R, C] that shares their memory."""
    bits = features.dtype == torch.bfloat16
    last: NDArray[Any] = features.view(torch.int16).numpy().view(np.uint16) if bits else features.numpy()
    return last.transpose(0, 2, 3, 1).reshape(-1, features.shape[1])


def _total(parts: list[Tensor]) -> Tensor:
    """Return the sum of the chunks' gradients, in float32 and in order."""
    total = parts[0].float()
    for part in parts[1:]:
        total = total + part
    return total
