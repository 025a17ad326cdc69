"""What the tests of the gate share: settings as in `conf/gate/default.yaml`, models, a store, matches to a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from evaluator.config import GateConfig
from evaluator.gate import Gate
from evaluator.gate_report import GateReport
from reversi.games.rules import GAMES, Game
from reversi.model.config import ResNetConfig
from reversi.model.registry import Registry
from reversi.model.weights import Weights, array_shapes, version_of

FILE = Path(__file__).parents[2] / "conf" / "gate" / "default.yaml"


def gate_config(**changes: Any) -> GateConfig:
    """Return the settings of `FILE` but for `changes`."""
    return GateConfig(**{**yaml.safe_load(FILE.read_text()), **changes})


GAME = GAMES["reversi6"]
CONFIG = gate_config(games=40, wins=22, simulations=2, games_at_once=8, truth_positions=0, opponents=())
NETWORK = ResNetConfig(blocks=1, channels=2, policy_channels=1, value_channels=1, value_hidden=2)


def weights(version: int, game: Game = GAME) -> Weights:
    rng = np.random.default_rng(version)
    shapes = array_shapes(NETWORK, game.size)
    arrays = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    return Weights(game.name, NETWORK, version, arrays)


class Store:
    """A `CandidateSource` and `ChampionSink` that keeps what it is told."""

    def __init__(self) -> None:
        self.queue: list[bytes] = []
        self.champions: list[int] = []

    def candidate(self) -> bytes | None:
        return self.queue.pop() if self.queue else None

    def promoted(self, data: bytes) -> None:
        self.champions.append(version_of(data, "test"))


def make(registry: Registry, store: Store, config: GateConfig = CONFIG, **settings: Any) -> Gate:
    return Gate(config, GAME, registry, source=store, sink=store, seed=1, **settings)


def until_verdict(gate: Gate) -> GateReport:
    for _ in range(1000):
        report = gate.round(1.0)
        if report.verdict is not None:
            return report
    raise AssertionError("no verdict")


def judge(gate: Gate, *versions: int) -> list[GateReport]:
    reports = []
    for version in versions:
        gate.offer(weights(version).to_bytes())
        reports.append(until_verdict(gate))
    return reports
