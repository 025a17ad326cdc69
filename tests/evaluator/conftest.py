"""The registry, the store and the scripted models of the gate's tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluator import contestants as contestants_module
from reversi.games.rules import Game
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from reversi.players import FlatMonteCarloPlayer, Player, RandomPlayer
from tests.evaluator.gates import Store


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(str(tmp_path / "registry"), create=True)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models play by their version: multiples of 10 search by flat Monte Carlo, all others move at random."""

    def player(name: str, game: Game, model: Weights, *config: object, **settings: object) -> Player:
        rng = np.random.default_rng(model.version)
        return (
            FlatMonteCarloPlayer(game, 40, rng)
            if model.version % 10 == 0 and model.version
            else RandomPlayer(game, rng)
        )

    monkeypatch.setattr(contestants_module, "model_player", player)
