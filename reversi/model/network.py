"""`DualNetwork`: the network in training (torch); `fold`, which converts a network of any kind to `Weights`; `unfold`.

    planes [B, 4, N, N] -> stem 3x3 -> residual blocks -> policy head: 1x1 -> logit of every square, and of the pass
                                                       -> value head:  1x1 -> dense -> win, draw, loss logits; margin
                                                       -> owner head:  1x1 -> final owner of each square

With `lines` the stem adds, before its norm, the table's rows for the four lines through each square
(`line_patterns.py`).

Source: Silver et al. 2017, "Mastering the game of Go without human knowledge", Methods (residual tower, two heads);
the margin and owner heads are small versions of KataGo's score and ownership heads (arXiv 1902.10565, section 3.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from reversi.errors import ConfigError
from reversi.games.planes import PLANES
from reversi.games.rules import Game, game_named
from reversi.model.config import NetworkConfig, ResNetConfig, StackConfig
from reversi.model.line_table import LineTable
from reversi.model.stack_network import OUTPUT_STD, StackNetwork
from reversi.model.weights import LINES_TABLE, VALUE_OUTPUTS, WDL, Weights, layer_shapes

NORM_EPSILON = 1e-4
"""Added to variances; PyTorch's 1e-5 would scale a dead channel by 1/sqrt(1e-5) in `fold`, before rounding to bf16."""


class Outputs(NamedTuple):
    """The network's outputs for a batch of positions, for the side to move."""

    policy: Tensor  # f32[B, A]     logits of all actions, illegal ones too; the last one is the pass
    wdl: Tensor  # f32[B, 3]     logits of win, draw, loss
    margin: Tensor  # f32[B]        own - opp discs at the end, divided by N*N; in [-1, 1]
    owner: Tensor  # f32[B, N, N]  owner of each square at the end: 1 own, -1 opp; in [-1, 1]


class DualNetwork(nn.Module):
    """The dual residual network for boards of `size` squares a side; fastest in channels-last memory."""

    def __init__(self, config: ResNetConfig, size: int) -> None:
        super().__init__()
        self.config = config
        self.size = size
        self.stem = NormedConvolution(PLANES, config.channels, 3)
        self.lines = LineTable(size, config.channels) if config.lines else None
        self.blocks = nn.Sequential(*(ResidualBlock(config.channels) for _ in range(config.blocks)))
        self.policy = PolicyHead(config)
        self.value = ValueHead(config, size)
        self.owner = nn.Conv2d(config.channels, 1, 1)
        last: list[nn.Conv2d | nn.Linear] = [
            self.policy.square_logit,
            self.policy.pass_logit,
            self.value.output,
            self.owner,
        ]
        for layer in last:
            assert layer.bias is not None
            nn.init.normal_(layer.weight, std=OUTPUT_STD)
            nn.init.zeros_(layer.bias)

    def forward(self, planes: Tensor) -> Outputs:
        """Return all heads for `planes` f32[B, 4, N, N]; B may be 0 in eval mode."""
        far = None if self.lines is None else self.lines(planes)
        features = self.blocks(functional.relu(self.stem(planes, far)))
        wdl, margin = self.value(features)
        return Outputs(self.policy(features), wdl, margin, torch.tanh(self.owner(features)).squeeze(1))


class NormedConvolution(nn.Module):
    """A convolution that keeps the board's size, then batch norm; the caller applies the activation."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, width, padding=width // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=NORM_EPSILON)
        nn.init.kaiming_normal_(self.convolution.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, features: Tensor, extra: Tensor | None = None) -> Tensor:
        """Return the normalised features [B, outputs, N, N]; `extra`, of the same shape, is added before the norm."""
        convolved = self.convolution(features)
        normed: Tensor = self.norm(convolved if extra is None else convolved + extra.to(convolved.dtype))
        return normed


class ResidualBlock(nn.Module):
    """Two normed 3x3 convolutions with the input added before the last activation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = NormedConvolution(channels, channels, 3)
        self.second = NormedConvolution(channels, channels, 3)

    def forward(self, features: Tensor) -> Tensor:
        """Return features of the same shape."""
        return functional.relu(features + self.second(functional.relu(self.first(features))))


class PolicyHead(nn.Module):
    """One logit per square from that square's features, and the pass logit from their mean over the board."""

    def __init__(self, config: ResNetConfig) -> None:
        super().__init__()
        self.features = NormedConvolution(config.channels, config.policy_channels, 1)
        self.square_logit = nn.Conv2d(config.policy_channels, 1, 1)
        self.pass_logit = nn.Linear(config.policy_channels, 1)

    def forward(self, tower: Tensor) -> Tensor:
        """Return logits [B, A]."""
        features = functional.relu(self.features(tower))
        return torch.cat((self.square_logit(features).flatten(1), self.pass_logit(features.mean((2, 3)))), 1)


class ValueHead(nn.Module):
    """The whole board through one hidden layer: win, draw and loss logits, and the margin."""

    def __init__(self, config: ResNetConfig, size: int) -> None:
        super().__init__()
        self.features = NormedConvolution(config.channels, config.value_channels, 1)
        self.hidden = nn.Linear(config.value_channels * size * size, config.value_hidden)
        self.output = nn.Linear(config.value_hidden, VALUE_OUTPUTS)

    def forward(self, tower: Tensor) -> tuple[Tensor, Tensor]:
        """Return WDL logits [B, 3] and the margin [B]."""
        features = functional.relu(self.features(tower)).flatten(1)
        output = self.output(functional.relu(self.hidden(features)))
        return output[:, :WDL], torch.tanh(output[:, WDL])


def build_network(config: NetworkConfig, size: int) -> DualNetwork | StackNetwork:
    """Return an untrained network of any kind trained by gradients; ConfigError for a table, which is not."""
    if isinstance(config, ResNetConfig):
        return DualNetwork(config, size)
    if isinstance(config, StackConfig):
        return StackNetwork(config, size)
    raise ConfigError(f"network.kind must be dual_resnet or stack to learn by gradients, got {config.kind}")


def fold(network: DualNetwork | StackNetwork, game: Game, version: int) -> Weights:
    """Return the float32 weights for play: batch norms folded into the convolutions, without the owner head.

    y = gamma (W x - mean) / sqrt(variance + epsilon) + beta becomes (W s) x + (beta - mean s),  s = gamma / sqrt(..).
    The table of lines, which is added to W x in the stem, is only multiplied by s.
    A stack is unchanged.  The arrays are copies, so training may continue.
    """
    assert network.size == game.size, f"a network for size {network.size} cannot play {game.name}"
    if isinstance(network, StackNetwork):
        arrays = {name: _copy(parameter) for name, parameter in network.named_parameters()}
        return Weights(game.name, network.config, version, arrays)
    arrays = {}
    for layer in layer_shapes(network.config, network.size):
        weight, bias = _folded(network.get_submodule(layer))
        arrays[f"{layer}.weight"], arrays[f"{layer}.bias"] = _copy(weight), _copy(bias)
    if network.lines is not None:
        arrays[LINES_TABLE] = _copy(network.lines.unshared() * _scale(network.stem.norm))
    return Weights(game.name, network.config, version, arrays)


@torch.no_grad()
def unfold(network: DualNetwork | StackNetwork, weights: Weights) -> None:
    """Let `network`, which has the shape of `weights`, compute in eval mode what `fold` made them of.

    Convolutions take the folded weights, norms scale by 1 and add the folded bias.  The owner head, which weights lack,
    stays as it is.  Before training `calibrate` is due.
    """
    assert (network.config, network.size) == (weights.network, game_named(weights.game).size)
    arrays = {name: torch.from_numpy(array) for name, array in weights.arrays.items()}
    if isinstance(network, StackNetwork):
        for name, parameter in network.named_parameters():
            parameter.copy_(arrays[name])
        return
    for layer in layer_shapes(network.config, network.size):
        module, weight, bias = network.get_submodule(layer), arrays[f"{layer}.weight"], arrays[f"{layer}.bias"]
        if isinstance(module, NormedConvolution):
            module.convolution.weight.copy_(weight)
            _set_norm(module.norm, torch.zeros_like(bias), torch.full_like(bias, 1 - NORM_EPSILON), 1.0, bias)
        else:
            assert isinstance(module, nn.Conv2d | nn.Linear)
            assert module.bias is not None
            module.weight.copy_(weight)
            module.bias.copy_(bias)
    if network.lines is not None:
        network.lines.table[network.lines.shared] = arrays[LINES_TABLE].to(network.lines.table)


@torch.no_grad()
def calibrate(network: nn.Module, planes: Tensor) -> None:
    """Give every batch norm the statistics of its inputs for `planes` f32[B, 4, N, N], the outputs unchanged.

    In training a norm divides by the spread in the batch: an unfolded network, whose norms do not know the spread of
    their inputs, would be another one from the first step on.
    """

    def measure(norm: nn.BatchNorm2d, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        assert norm.running_mean is not None
        scale = _scale(norm)
        variance, mean = torch.var_mean(inputs[0].double(), (0, 2, 3), correction=0)
        bias = norm.bias + scale * (mean - norm.running_mean)
        _set_norm(norm, mean, variance, scale * torch.sqrt(variance + norm.eps), bias)

    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    hooks = [norm.register_forward_hook(measure) for norm in norms]
    network.eval()
    network(planes)
    network.train()
    for hook in hooks:
        hook.remove()


def _set_norm(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor, weight: Tensor | float, bias: Tensor) -> None:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.copy_(mean)
    norm.running_var.copy_(variance)
    norm.weight.copy_(torch.as_tensor(weight))
    norm.bias.copy_(bias)


def _folded(module: nn.Module) -> tuple[Tensor, Tensor]:
    if isinstance(module, NormedConvolution):
        norm, scale = module.norm, _scale(module.norm)
        assert norm.running_mean is not None
        weight = module.convolution.weight.double() * scale[:, None, None, None]
        return weight, norm.bias.double() - norm.running_mean.double() * scale
    assert isinstance(module, nn.Conv2d | nn.Linear)
    assert module.bias is not None
    return module.weight, module.bias


def _scale(norm: nn.BatchNorm2d) -> Tensor:
    assert norm.running_var is not None
    return norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)


def _copy(tensor: Tensor) -> NDArray[np.float32]:
    # "C" order: channels-last parameters would otherwise keep their strides
    return np.array(tensor.detach().float().cpu().numpy(), dtype=np.float32, order="C")
