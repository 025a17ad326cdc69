"""Networks that look trained, and positions from random games."""

from __future__ import annotations

import numpy as np
import torch

from reversi.games.bitboard import Masks
from reversi.games.planes import PLANES, write_planes
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.model.config import NetworkConfig, PatternConfig, ResNetConfig, StackConfig, TableConfig
from reversi.model.network import DualNetwork, fold
from reversi.model.stack_network import StackNetwork
from reversi.model.table import TABLE_SHAPE
from reversi.model.weights import Weights, array_shapes
from tests.configs import resnet

SMALL = resnet(blocks=2, channels=16)
LINES = resnet(blocks=2, channels=16, lines=True)

PATTERNS = PatternConfig(
    kind="patterns", patterns=("a1 b1 c1 d1", "a2 b2 c2 d2", "a1 b2 c3 d4", "a1 b1 a2", "c3 d3"), phase_discs=6
)
"""Lines and corners that cover 4x4 and 6x6, not 8x8."""

MATCH = {"wins": 231, "draws": 12, "losses": 57, "opponent_version": 3, "elo": 228.5, "interval": [0.74, 0.83]}
"""What the gate says of a candidate's match."""


def _stack(**fields: object) -> StackConfig:
    usual = {
        "planes": 4,
        "filters": (),
        "width": 3,
        "padding": "same",
        "hidden": (),
        "square_bias": False,
        "dropout": 0.2,
        "agents": 1,
    }
    return StackConfig(**{**usual, **fields})  # type: ignore[arg-type]


STACKS = {
    "2x2, dense": _stack(head="q", filters=(4, 8, 16), width=2, hidden=(32, 32)),
    "2 agents, dense": _stack(head="q", planes=2, hidden=(16, 16), agents=2),
    "3x3, bias of squares": _stack(head="policy", planes=2, filters=(16, 16), square_bias=True),
    "no padding": _stack(head="policy", filters=(12,), padding="valid", hidden=(24,)),
    "one plane, linear": _stack(
        head="q", planes=1, discs=(2, 1), filters=(4, 8), width=2, padding="valid", pointwise=(16, 12)
    ),
    "linear, then dense": _stack(head="policy", filters=(6,), pointwise=(8,), hidden=(20,)),
    "2 agents, signed": _stack(head="q", planes=1, discs=(1, -1), hidden=(16,), agents=2),
    "2 agents, 4x4": _stack(head="q", filters=(12, 6), width=4, agents=2),
}
"""Every option of a stack, in small networks."""


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
    if made.lines is not None:
        torch.nn.init.normal_(made.lines.table, 0, 0.3)
    for layer in (made.policy.square_logit, made.policy.pass_logit, made.value.output):
        torch.nn.init.normal_(layer.weight, 0, 0.3)
        torch.nn.init.normal_(layer.bias, 0, 0.3)
    return made.eval()


def stack(game: Game, config: StackConfig, seed: int = 0) -> StackNetwork:
    """Return a network in eval mode with opinions and with biases."""
    torch.manual_seed(seed)
    made = StackNetwork(config, game.size)
    for name, parameter in made.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, 0, 0.2)
        elif name.endswith("output.weight"):
            torch.nn.init.normal_(parameter, 0, 2 / parameter.shape[1] ** 0.5)
    return made.eval()


def weights(game: Game | str = "reversi6", version: int = 0, seed: int = 0, config: NetworkConfig = SMALL) -> Weights:
    game = game_named(game) if isinstance(game, str) else game
    if isinstance(config, TableConfig):
        values = np.random.default_rng(seed).uniform(-1.2, 1.2, TABLE_SHAPE).astype(np.float32)
        return Weights(game.name, config, version, {"q": values})
    if isinstance(config, PatternConfig):
        return Weights(game.name, config, version, pattern_arrays(config, game, seed))
    made = network(game, seed, config) if isinstance(config, ResNetConfig) else stack(game, config, seed)
    return fold(made, game, version)


def pattern_arrays(config: PatternConfig, game: Game, seed: int) -> dict[str, np.ndarray]:
    """Return tables with opinions of some discs."""
    rng, shapes = np.random.default_rng(seed), array_shapes(config, game.size)
    return {
        "tables": rng.integers(-150, 150, shapes["tables"]).astype(np.int16),
        "bias": rng.integers(-150, 150, shapes["bias"]).astype(np.int16),
        "width": rng.uniform(1, 6, shapes["width"]).astype(np.float32),
        "temperature": rng.uniform(1, 6, shapes["temperature"]).astype(np.float32),
    }


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


def planes_of(game: Game, count: int, seed: int = 0) -> torch.Tensor:
    own, opp = positions(game, count, seed)
    planes = np.zeros((count, PLANES, game.size, game.size), np.float32)
    write_planes(game.id, own, opp, planes)
    return torch.from_numpy(planes)
