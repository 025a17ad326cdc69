"""Rows as the kernels store them, and a network whose pass runs on them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import Game
from reversi.model.config import ResNetConfig
from reversi.model.network import DualNetwork, Outputs
from tests.reversi.games import oracle

NETWORK = ResNetConfig(blocks=2, channels=24, policy_channels=8, value_channels=3, value_hidden=16)
FILLED, PERIOD, CHANNELS = 3, 4, 5


def stored(rows: Tensor) -> np.ndarray:
    """The memory of `rows` as the kernels want it."""
    return rows.view(torch.int16).numpy().view(np.uint16) if rows.dtype == torch.bfloat16 else rows.numpy()


def squares(rows: Tensor) -> Tensor:
    """The rows that are squares of a board."""
    return rows.view(-1, PERIOD, CHANNELS)[:, :FILLED].reshape(-1, CHANNELS)


def separators(rows: Tensor) -> Tensor:
    return rows.view(-1, PERIOD, CHANNELS)[:, FILLED:]


def planes_of(game: Game, boards: int) -> Tensor:
    """Discs thrown at random: more patterns than games reach."""
    planes = np.zeros((boards, PLANES, game.size, game.size), np.float32)
    write_planes(game.id, *oracle.scattered(game, boards, seed=game.size), planes)
    return torch.from_numpy(planes)


def network(size: int, config: ResNetConfig = NETWORK) -> DualNetwork:
    torch.manual_seed(3)
    made = DualNetwork(config, size)
    with torch.no_grad():  # the last layers begin near zero, which would hide the tower
        for parameter in made.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return made.train()


def some_loss(outputs: Outputs) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return sum((torch.rand(part.shape, generator=generator) * part).sum() for part in outputs)  # type: ignore[return-value]


def gradients(made: DualNetwork, outputs: Outputs) -> dict[str, Tensor]:
    made.zero_grad()
    some_loss(outputs).backward()
    return {name: parameter.grad.clone() for name, parameter in made.named_parameters() if parameter.grad is not None}
