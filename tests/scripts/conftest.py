"""A command line to call, a registry to call it with, and a driver without Ray."""

from __future__ import annotations

import dataclasses
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reversi.model.margin_errors import Band, MarginErrors
from reversi.model.registry import Registry
from reversi.model.training import Spent, Training
from scripts import cli
from scripts.bench.setup import Settings, random_weights

if TYPE_CHECKING:
    from tests.scripts.ray.driver_scene import Clock, Scene

TINY = Settings(size=6, blocks=1, channels=16)


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


Reversi = Callable[..., Answer]


@pytest.fixture
def reversi(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Reversi:
    """Return a function that runs `reversi` with these arguments and this standard input, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, stdin: str = "") -> Answer:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a registry of 6x6 models: version 0 without a match, 3 promoted, 4 rejected."""
    path = tmp_path_factory.mktemp("registry")
    how = {"run": "night", "algorithm": "alphazero", "program": "p", "machine": "m", "cores": 2}
    training = Training(**how, configuration="game: 6\n")  # type: ignore[arg-type]
    weights, made = random_weights(TINY), Registry(str(path), create=True, training=training)
    made.publish(weights, "first", None)
    won = {"wins": 230, "draws": 10, "losses": 160, "opponent_version": 0}
    spent = Spent(seconds=90.0, games=1200, positions=40_000)
    errors = MarginErrors(simulations=64, solved=16, bands=(Band(fewest=21, most=24, positions=50, discs=4.0),))
    made.publish(dataclasses.replace(weights, version=3), "promoted", won, spent, errors)
    lost = {"wins": 100, "draws": 20, "losses": 280, "opponent_version": 3}
    made.publish(dataclasses.replace(weights, version=4), "rejected", lost)
    return path


@pytest.fixture
def clock() -> Clock:
    """Return the clock of a driver without Ray."""
    from tests.scripts.ray.driver_scene import Clock

    return Clock()


@pytest.fixture
def scene(tmp_path: Path, clock: Clock) -> Scene:
    """Return a driver without Ray whose training has begun."""
    from tests.scripts.ray.driver_scene import Scene

    return Scene(tmp_path, clock).begin()
