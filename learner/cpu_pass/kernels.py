"""Batch norm, residual sum, ReLU and lines as a few passes over memory, forward and backward: numba kernels.

On a CPU with AMX the training step of a small network is bound not by its convolutions but by the operations between
them.  These kernels read and write each number once a pass, in runs of `filled` x C numbers: with runs of C a fifth of
the time was loop overhead.  They store float32 or bfloat16 (as its bits) and compute in float32.

All arrays are rows [R, C], a flat view of channels-last memory with one row per square.  Of every `period` rows the
first `filled` are squares of a board; the rest separate boards, are ignored, and are written as zero.

Source of the gradient: Ioffe and Szegedy 2015, "Batch Normalization", section 3 (https://arxiv.org/abs/1502.03167).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from reversi.kernels.kernel import kernel

FeatureRows = NDArray[Any]
"""float32[R, C] or uint16[R, C], the bits of bfloat16."""


def _widen(_: Any, stored: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if stored == types.float32:
            return args[0]
        int32 = context.get_value_type(types.uint32)
        return builder.bitcast(
            builder.shl(builder.zext(args[0], int32), int32(16)), context.get_value_type(types.float32)
        )

    return types.float32(stored), codegen


def _narrow(_: Any, value: Any, like: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if like == types.float32:
            return args[0]
        int32 = context.get_value_type(types.uint32)
        bits = builder.bitcast(args[0], int32)
        odd = builder.and_(builder.lshr(bits, int32(16)), int32(1))
        rounded = builder.add(builder.add(bits, int32(0x7FFF)), odd)  # to the nearest, ties to even
        return builder.trunc(builder.lshr(rounded, int32(16)), context.get_value_type(types.uint16))

    return like(types.float32, like), codegen


widen: Callable[[Any], np.float32] = intrinsic(_widen)
"""A stored number as float32; callable from kernels only."""

narrow: Callable[[np.float32, Any], Any] = intrinsic(_narrow)
"""A float32 converted to the type of `like`; callable from kernels only."""

_PART = 64
"""Periods summed in float32 before they are added in float64: keeps E[x^2] - E[x]^2 exact to about 1e-6."""


@kernel
def add_lines(
    features: FeatureRows, table: NDArray[np.float32], rows: NDArray[np.int32], size: int, boards: int
) -> None:
    """Add to every square the four table rows of its lines.

    features  [R, C] as stored, changed in place; every strip has `boards` boards of `size` columns side by side
    table     float32[T, C]
    rows      int32[B, N*N, 4] of `write_rows`
    """
    for b in range(rows.shape[0]):
        for square in range(rows.shape[1]):
            row, column, diagonal, anti = rows[b, square]
            x = features[_place(b, square, size, boards)]
            for c in range(x.shape[0]):
                total = table[row, c] + table[column, c] + table[diagonal, c] + table[anti, c]
                x[c] = narrow(widen(x[c]) + total, x[c])


@kernel
def scatter_lines(
    gradient: FeatureRows, rows: NDArray[np.int32], size: int, boards: int, d_table: NDArray[np.float32]
) -> None:
    """Write the gradient of the table, summed square by square in order.

    gradient      [R, C] of the output of `add_lines`
    rows, size..  as for `add_lines`
    d_table       float32[T, C] written
    """
    d_table[:] = 0
    for b in range(rows.shape[0]):
        for square in range(rows.shape[1]):
            g = gradient[_place(b, square, size, boards)]
            for d in range(rows.shape[2]):
                total = d_table[rows[b, square, d]]
                for c in range(g.shape[0]):
                    total[c] += widen(g[c])


@kernel
def _place(b: int, square: int, size: int, boards: int) -> int:
    """Return the row of a square of board b in strips of `boards` boards, with a separator after each board row."""
    row = (b // boards * size + square // size) * boards + b % boards
    return row * (size + 1) + square % size


@kernel
def sum_features(features: FeatureRows, filled: int, period: int, sums: NDArray[np.float64]) -> None:
    """Write the sum and the sum of squares of every channel.

    features  [R, C] as stored
    sums      float64[2, C] written

    The rows are read from the end, since the convolution wrote these last and they are still in the cache.
    """
    channels, periods = features.shape[1], features.shape[0] // period
    flat, run, stride = features.reshape(-1), filled * channels, period * channels
    part, part_square = np.zeros(run, np.float32), np.zeros(run, np.float32)
    sums[:] = 0
    for last in range(periods, 0, -_PART):
        for i in range(last - 1, max(last - _PART, 0) - 1, -1):
            x = flat[i * stride : i * stride + run]
            for j in range(run):
                value = widen(x[j])
                part[j] += value
                part_square[j] += value * value
        for j in range(run):
            sums[0, j % channels] += part[j]
            sums[1, j % channels] += part_square[j]
            part[j] = part_square[j] = 0


@kernel
def finish_norm(
    sums: NDArray[np.float64],
    count: int,
    weight: NDArray[np.float32],
    bias: NDArray[np.float32],
    running_mean: NDArray[np.float32],
    running_variance: NDArray[np.float32],
    momentum: float,
    epsilon: float,
    norm: NDArray[np.float32],
) -> None:
    """Turn the sums of K chunks, `count` squares in all, into the norm of the batch.

    sums          float64[K, 2, C] of `sum_features`
    weight, bias  float32[C];  running_...  float32[C] updated with `momentum`, variance unbiased
    norm          float32[4, C] written: mean, 1 / sqrt(variance + epsilon), and the scale and shift that normalise
    """
    for c in range(weight.shape[0]):
        total = total_square = 0.0
        for k in range(sums.shape[0]):
            total += sums[k, 0, c]
            total_square += sums[k, 1, c]
        mean = total / count
        variance = total_square / count - mean * mean
        if variance < 0:
            variance = 0.0
        unbiased = variance * count / max(count - 1, 1)
        running_mean[c] += momentum * (mean - running_mean[c])
        running_variance[c] += momentum * (unbiased - running_variance[c])
        inverse = 1 / np.sqrt(variance + epsilon)
        norm[0, c], norm[1, c] = mean, inverse
        norm[2, c] = weight[c] * inverse
        norm[3, c] = bias[c] - mean * weight[c] * inverse


@kernel
def activate(
    features: FeatureRows, residual: FeatureRows, norm: NDArray[np.float32], filled: int, period: int, out: FeatureRows
) -> None:
    """Normalise, add the residual and apply ReLU; a NaN stays a NaN.

    features, residual  [R, C] as stored; [0, C] is no residual
    norm                float32[4, C] of `finish_norm`
    out                 [R, C] written
    """
    channels, periods = features.shape[1], features.shape[0] // period
    run, stride = filled * channels, period * channels
    flat, flat_residual, flat_out = features.reshape(-1), residual.reshape(-1), out.reshape(-1)
    scale, shift = _spread(norm[2], run), _spread(norm[3], run)
    zero = np.float32(0)
    for i in range(periods):
        x, y = flat[i * stride : i * stride + run], flat_out[i * stride : i * stride + run]
        if flat_residual.shape[0] > 0:
            r = flat_residual[i * stride : i * stride + run]
            for j in range(run):
                value = widen(x[j]) * scale[j] + shift[j] + widen(r[j])
                y[j] = narrow(zero if value <= zero else value, y[j])
        else:
            for j in range(run):
                value = widen(x[j]) * scale[j] + shift[j]
                y[j] = narrow(zero if value <= zero else value, y[j])
        flat_out[i * stride + run : (i + 1) * stride] = 0


@kernel
def relu_gradient(
    gradient: FeatureRows,
    extra: FeatureRows,
    out: FeatureRows,
    features: FeatureRows,
    norm: NDArray[np.float32],
    filled: int,
    period: int,
    sums: NDArray[np.float64],
) -> None:
    """Propagate a gradient back through ReLU, and write the sums that the gradient of the norm needs.

    gradient       [R, C] of the output of `activate`, set to zero in place where that is not above zero; it is then
                   also the gradient of the residual, except in the separators, which are not changed
    extra          [R, C] a second gradient of the same output, added to the first; [0, C] is none
    out, features  [R, C] output and input of `activate`
    norm           float32[4, C] of `finish_norm`
    sums           float64[2, C] written: of the gradient g, and of g (x - mean)
    """
    channels, periods = features.shape[1], features.shape[0] // period
    run, stride = filled * channels, period * channels
    flat, flat_out, flat_features = gradient.reshape(-1), out.reshape(-1), features.reshape(-1)
    flat_extra = extra.reshape(-1)
    mean = _spread(norm[0], run)
    part, part_product = np.zeros(run, np.float32), np.zeros(run, np.float32)
    sums[:] = 0
    zero = np.float32(0)
    for start in range(0, periods, _PART):
        for i in range(start, min(start + _PART, periods)):
            g, y = flat[i * stride : i * stride + run], flat_out[i * stride : i * stride + run]
            x = flat_features[i * stride : i * stride + run]
            if flat_extra.shape[0] > 0:
                e = flat_extra[i * stride : i * stride + run]
                for j in range(run):
                    passed = widen(g[j]) + widen(e[j]) if widen(y[j]) > zero else zero
                    g[j] = narrow(passed, g[j])
                    part[j] += passed
                    part_product[j] += passed * (widen(x[j]) - mean[j])
            else:
                for j in range(run):
                    passed = widen(g[j]) if widen(y[j]) > zero else zero
                    g[j] = narrow(passed, g[j])
                    part[j] += passed
                    part_product[j] += passed * (widen(x[j]) - mean[j])
        for j in range(run):
            sums[0, j % channels] += part[j]
            sums[1, j % channels] += part_product[j]
            part[j] = part_product[j] = 0


@kernel
def finish_gradient(
    sums: NDArray[np.float64],
    count: int,
    weight: NDArray[np.float32],
    norm: NDArray[np.float32],
    d_weight: NDArray[np.float32],
    d_bias: NDArray[np.float32],
    coefficients: NDArray[np.float32],
) -> None:
    """Turn the sums of K chunks into the gradients of weight and bias, and the coefficients for `norm_gradient`.

    sums              float64[K, 2, C] of `relu_gradient`
    d_weight, d_bias  float32[C] written
    coefficients      float32[3, C] written: of gradient and of features, and a constant

    With g the gradient, y the normalised features and n their count:
    d_bias = sum g,  d_weight = sum g y,  d_features = weight / deviation * (g - d_bias / n - y d_weight / n).
    """
    mean, inverse, scale = norm[0], norm[1], norm[2]
    for c in range(weight.shape[0]):
        total = total_product = 0.0
        for k in range(sums.shape[0]):
            total += sums[k, 0, c]
            total_product += sums[k, 1, c]
        slope = total_product * inverse[c]
        d_weight[c], d_bias[c] = slope, total
        coefficients[0, c] = scale[c]
        coefficients[1, c] = -scale[c] * inverse[c] * slope / count
        coefficients[2, c] = -scale[c] * total / count - coefficients[1, c] * mean[c]


@kernel
def norm_gradient(
    gradient: FeatureRows,
    features: FeatureRows,
    coefficients: NDArray[np.float32],
    filled: int,
    period: int,
    d_features: FeatureRows,
) -> None:
    """Write the gradient of the norm's input.

    gradient, features  [R, C] of `relu_gradient`
    coefficients        float32[3, C] of `finish_gradient`
    d_features          [R, C] written; [0, C]: `gradient` is overwritten (passing it twice would prevent vectorisation)
    """
    channels, periods = features.shape[1], features.shape[0] // period
    run, stride = filled * channels, period * channels
    flat, flat_features, flat_out = gradient.reshape(-1), features.reshape(-1), d_features.reshape(-1)
    in_place = flat_out.shape[0] == 0
    of_gradient, of_features = _spread(coefficients[0], run), _spread(coefficients[1], run)
    constant = _spread(coefficients[2], run)
    for i in range(periods):
        g, x = flat[i * stride : i * stride + run], flat_features[i * stride : i * stride + run]
        if in_place:
            for j in range(run):
                g[j] = narrow(of_gradient[j] * widen(g[j]) + of_features[j] * widen(x[j]) + constant[j], g[j])
            flat[i * stride + run : (i + 1) * stride] = 0
        else:
            d = flat_out[i * stride : i * stride + run]
            for j in range(run):
                d[j] = narrow(of_gradient[j] * widen(g[j]) + of_features[j] * widen(x[j]) + constant[j], d[j])
            flat_out[i * stride + run : (i + 1) * stride] = 0


@kernel
def _spread(values: NDArray[np.float32], run: int) -> NDArray[np.float32]:
    """Return float32[run]: `values` float32[C] repeated."""
    spread = np.empty(run, np.float32)
    for j in range(run):
        spread[j] = values[j % values.shape[0]]
    return spread
