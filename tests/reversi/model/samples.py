"""Networks that look trained, and positions from random games."""

from __future__ import annotations

import numpy as np
import torch

from reversi.games.bitboard import Masks
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.model.config import ResNetConfig
from reversi.model.network import DualNetwork, fold
from reversi.model.weights import Weights

SMALL = ResNetConfig(blocks=2, channels=16)


def network(game: Game, seed: int = 0, config: ResNetConfig = SMALL) -> DualNetwork:
    """Return a network in eval mode whose running statistics, scales and outputs are far from where they start."""
    torch.manual_seed(seed)
    made = DualNetwork(config, game.size)
    for module in made.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_(0, 0.3)
            module.running_var.uniform_(0.5, 2.0)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0, 0.3)
    for layer in (made.policy.square_logit, made.policy.pass_logit, made.value.output):
        torch.nn.init.normal_(layer.weight, 0, 0.3)
        torch.nn.init.normal_(layer.bias, 0, 0.3)
    return made.eval()


def weights(game: Game | str = "reversi6", version: int = 0, seed: int = 0, config: ResNetConfig = SMALL) -> Weights:
    game = game_named(game) if isinstance(game, str) else game
    return fold(network(game, seed, config), game, version)


def positions(game: Game, count: int, seed: int = 0) -> tuple[Masks, Masks]:
    """Return `count` positions that are not over, met in random games."""
    rng = np.random.default_rng(seed)
    own, opp = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    position = Position.start(game.name)
    for index in range(count):
        own[index], opp[index] = position.own, position.opp
        position = position.play(int(rng.choice(position.legal_actions())))
        if position.is_over:
            position = Position.start(game.name)
    return own, opp
