"""`FoldedNetwork`: a network of any kind from its `Weights`, in plain torch on any device; its input is masks.

Masks take 32 bytes a position and planes up to 1,024, so masks are copied to the GPU and unpacked to planes there.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from reversi.games.planes import PLANES
from reversi.games.rules import game_named
from reversi.model.backend import OUTLOOKS, Precision
from reversi.model.config import LOOKED_UP, NetworkConfig, ResNetConfig, StackConfig
from reversi.model.line_table import LineRows, summed_rows
from reversi.model.stack_network import StackNetwork
from reversi.model.weights import LINES_TABLE, WDL, Weights

_TYPES = {"bf16": torch.bfloat16, "float32": torch.float32}


class FoldedNetwork:
    """One version's weights on a device, in the type and layout that are fastest there."""

    def __init__(self, weights: Weights, device: torch.device, precision: Precision) -> None:
        self._device, self._type = device, _TYPES[precision]
        self._size = game_named(weights.game).size
        self._bits = square_bits(self._size).to(device)
        self.parameters = self.placed(weights)
        self._network = _network(weights.network, self._size, self.parameters, device)

    def placed(self, weights: Weights) -> dict[str, Tensor]:
        """Return the arrays in the form of this network's parameters: on the device, convolutions channels-last."""
        return {
            name: torch.from_numpy(array).to(
                self._device,
                self._type,
                copy=True,
                memory_format=torch.channels_last if array.ndim == 4 else torch.contiguous_format,
            )
            for name, array in weights.arrays.items()
        }

    def __call__(self, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[B, A] and outlook f32[B, 2] of masks i64[B, 4]."""
        return self._network(unpack_planes(masks, self._bits, self._size, self._type))


class _Dual:
    """The dual residual network, folded."""

    def __init__(
        self, network: ResNetConfig, size: int, parameters: Mapping[str, Tensor], device: torch.device
    ) -> None:
        self._blocks, self._parameters = network.blocks, parameters
        self._rows = LineRows(size).to(device) if network.lines else None

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and outlook; the outlook is computed in float32."""
        tower = self._convolution("stem", planes)
        if self._rows is not None:
            tower.add_(summed_rows(self._parameters[LINES_TABLE], self._rows(planes)))
        tower.relu_()
        for block in range(self._blocks):
            inner = self._convolution(f"blocks.{block}.first", tower).relu_()
            tower = self._convolution(f"blocks.{block}.second", inner).add_(tower).relu_()
        policy = self._convolution("policy.features", tower).relu_()
        squares = self._convolution("policy.square_logit", policy).flatten(1)
        logits = torch.cat((squares, self._dense("policy.pass_logit", policy.mean((2, 3)))), 1)
        features = self._convolution("value.features", tower).relu_().flatten(1)
        output = self._dense("value.output", self._dense("value.hidden", features).relu_()).float()
        chances = output[:, :WDL].softmax(1)
        return logits.float(), torch.stack((chances[:, 0] - chances[:, 2], output[:, WDL].tanh()), 1)

    def _convolution(self, layer: str, features: Tensor) -> Tensor:
        weight, bias = self._parameters[f"{layer}.weight"], self._parameters[f"{layer}.bias"]
        return functional.conv2d(features, weight, bias, padding=weight.shape[2] // 2)

    def _dense(self, layer: str, features: Tensor) -> Tensor:
        return functional.linear(features, self._parameters[f"{layer}.weight"], self._parameters[f"{layer}.bias"])


class _Stack:
    """A stack of layers: the same module as in training, with the given parameters."""

    def __init__(self, network: StackConfig, size: int, parameters: Mapping[str, Tensor]) -> None:
        with torch.device("meta"):
            self._network = StackNetwork(network, size).eval().requires_grad_(False)
        self._network.load_state_dict(parameters, assign=True)

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and an outlook of zeros."""
        logits = self._network(planes)
        return logits, logits.new_zeros(len(logits), OUTLOOKS)


def _network(
    config: NetworkConfig, size: int, parameters: Mapping[str, Tensor], device: torch.device
) -> _Dual | _Stack:
    assert not isinstance(config, LOOKED_UP), "tables are looked up"
    if isinstance(config, ResNetConfig):
        return _Dual(config, size, parameters, device)
    return _Stack(config, size, parameters)


def square_bits(size: int) -> Tensor:
    """Return i64[N*N]: the bit number of every square of an N by N board, row by row."""
    rows = torch.arange(size)
    return (8 * rows[:, None] + rows).flatten()


def unpack_planes(masks: Tensor, bits: Tensor, size: int, precision: torch.dtype) -> Tensor:
    """Return the planes [B, 4, N, N] of masks i64[B, 4], channels-last; `bits` is `square_bits(size)` on their device.

    Equal to the result of `write_planes` for the same positions.  Shifting a negative mask fills with ones from the
    left, which do not reach bit 0.
    """
    squares = (masks[:, None, :] >> bits[None, :, None]) & 1
    return squares.to(precision).view(-1, size, size, PLANES).permute(0, 3, 1, 2)
