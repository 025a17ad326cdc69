"""The network's training pass on a CPU: the same layers as `DualNetwork`, on boards laid side by side in strips.

oneDNN's weight gradient of a 3x3 convolution works row by row of the image, and rows of 6 squares starve it: 1.65 ms
for 512 boards of 6x6 with 32 channels (bf16, one thread).  Eight boards beside each other, a zero column after each,
are one image with rows of 56 and take 0.63 ms, though a seventh of it is padding.  `norm_relu` keeps those columns
zero, so a board never sees its neighbour and the outputs are `DualNetwork.forward`'s (tests compare them in float32).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from learner.fused import norm_relu
from reversi.model.network import DualNetwork, NormedConvolution, Outputs, ResidualBlock
from reversi.model.weights import WDL

BOARDS_PER_STRIP = 8
"""Boards side by side; a batch that 8 does not divide makes shorter strips. 4 to 32 differ by less than the noise."""


def training_outputs(network: DualNetwork, planes: Tensor, dtype: torch.dtype) -> Outputs:
    """Return what `network(planes)` returns in training mode, running statistics updated.

    planes f32[B, 4, N, N], B at least 1.  Convolutions run in `dtype`, float32 or bfloat16; dense layers in float32.
    """
    boards = math.gcd(len(planes), BOARDS_PER_STRIP)
    tower = _normed(network.stem, _strips(planes, boards, dtype))
    for block in network.blocks:
        assert isinstance(block, ResidualBlock)
        tower = _normed(block.second, _normed(block.first, tower), tower)
    policy = _boards(_normed(network.policy.features, tower), boards)
    squares = _dense(network.policy.square_logit, policy).flatten(1)
    passing = network.policy.pass_logit(policy.mean((1, 2)))
    value = _boards(_normed(network.value.features, tower), boards).permute(0, 3, 1, 2).flatten(1)
    output = network.value.output(functional.relu(network.value.hidden(value)))
    owner = _boards(_convolved(network.owner, tower), boards)[..., 0]
    return Outputs(torch.cat((squares, passing), 1), output[:, :WDL], torch.tanh(output[:, WDL]), torch.tanh(owner))


def _strips(planes: Tensor, boards: int, dtype: torch.dtype) -> Tensor:
    """Lay `boards` boards side by side, a zero column after each: [B, C, N, N] -> [B/boards, C, N, boards*(N+1)]."""
    count, channels, size, _ = planes.shape
    strips = planes.new_zeros((count // boards, size, boards, size + 1, channels), dtype=dtype)
    strips[..., :size, :] = planes.view(count // boards, boards, channels, size, size).permute(0, 3, 1, 4, 2)
    return strips.view(count // boards, size, boards * (size + 1), channels).permute(0, 3, 1, 2)


def _boards(strips: Tensor, boards: int) -> Tensor:
    """Take the strips apart, in float32 and with the channels last: [B/boards, C, N, boards*(N+1)] -> [B, N, N, C]."""
    count, channels, size, _ = strips.shape
    apart = strips.permute(0, 2, 3, 1).view(count, size, boards, size + 1, channels)[..., :size, :].transpose(1, 2)
    return apart.reshape(count * boards, size, size, channels).float()


def _normed(layer: NormedConvolution, strips: Tensor, residual: Tensor | None = None) -> Tensor:
    size = strips.shape[2]
    return norm_relu(layer.norm, _convolved(layer.convolution, strips), residual, size, size + 1)


def _convolved(convolution: nn.Conv2d, strips: Tensor) -> Tensor:
    bias = None if convolution.bias is None else convolution.bias.to(strips.dtype)
    return functional.conv2d(strips, convolution.weight.to(strips.dtype), bias, padding=convolution.padding)


def _dense(convolution: nn.Conv2d, boards: Tensor) -> Tensor:
    """Apply a 1x1 convolution to [B, N, N, C] as the dense layer it is."""
    return functional.linear(boards, convolution.weight.flatten(1), convolution.bias)
