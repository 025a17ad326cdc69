"""Which model commands take, as a user meets it: the exit code and the line on standard error."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from reversi.model import lookup as choice
from reversi.model.registry import Registry
from scripts.bench.setup import Settings, random_weights
from tests.scripts.conftest import Reversi

WON = {"wins": 230, "draws": 10, "losses": 160, "opponent_version": 0}
START6 = "--------------OX----XO-------------- X\n"


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, in which no model is shipped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(choice, "SHIPPED", tmp_path / "shipped")
    choice._say.cache_clear()
    return tmp_path / "shipped"


def registry(place: str | Path, size: int, *, promoted: bool) -> Registry:
    made, weights = Registry(str(place), create=True), random_weights(Settings(size=size, blocks=1, channels=8))
    made.publish(weights, "first", None)
    if promoted:
        made.publish(dataclasses.replace(weights, version=3), "promoted", WON)
    return made


COMMANDS = {
    "play": ("play",),
    "gtp": ("gtp",),
    "nboard": ("nboard",),
    "analyze": ("analyze",),
    "review": ("review", "c2b2"),
    "match": ("match", "--a", "gated", "--b", "random", "--games", 2, "--simulations", 1),
    "rate": ("rate", "--players", "policy:gated", "random", "--games", 2),
    "export": ("export", "-o", "out.onnx"),
    "pull": ("pull", "-o", "out"),
    "serve": ("serve", "--port", 0),
    "balanced": ("match", "--a", "random", "--b", "greedy", "--games", 2, "--balanced", "gated"),
    "train": ("train", "game=reversi6", "run.dir=here", "init=gated"),
}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "train"])
def test_a_named_registry_without_a_promoted_model_is_exit_code_4(command: str, reversi: Reversi) -> None:
    registry("here", 6, promoted=False)
    answer = reversi(*COMMANDS[command], "--registry", "here")
    assert (answer.code, answer.out) == (4, "")
    assert answer.err.startswith("error: here: no model has passed the gate yet; try again later")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_named_and_nothing_there_is_exit_code_4(command: str, reversi: Reversi) -> None:
    """A run without a promotion counts for nothing."""
    registry("runs/begun/registry", 6, promoted=False)
    answer = reversi(*COMMANDS[command])
    assert (answer.code, answer.out) == (4, "")
    assert answer.err.startswith("error: no run in runs/ has a promoted model")
    assert answer.err.count("\n") == 1


def test_the_model_that_was_taken_is_said_once(
    reversi: Reversi, shipped: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry("runs/six/registry", 6, promoted=True)
    assert reversi("play", stdin="quit\n").code == 0
    assert json.loads(reversi("analyze", "--simulations", 2, "--json", stdin=START6).out)["game"] == "reversi6"
    assert caplog.messages == ["models are those of runs/six, gated is version 3"]
    registry("eight", 8, promoted=True).pull(None, shipped / "reversi8")
    match = ("match", "--a", "gated", "--b", "random", "--games", 2, "--size", 8, "--simulations", 1, "--json")
    result = json.loads(reversi(*match).out)
    assert (result["a"], result["game"]) == ("mcts:shipped:1", "reversi8")
    assert caplog.messages[1:] == ["gated is the shipped model of reversi8, as no run in runs/ has promoted one"]
    rated = ("rate", "--size", 8, "--players", "policy:shipped", "random", "--games", 2, "--json")
    assert {each["player"] for each in json.loads(reversi(*rated).out)["players"]} == {"policy:shipped", "random"}


def test_a_ladder_of_champions_takes_the_shipped_one(reversi: Reversi, shipped: Path) -> None:
    registry("four", 4, promoted=True).pull(None, shipped / "reversi4")
    own = "size: 4\nplayers: [random]\ngames: 2\nchampions: true\n"
    Path("own.yaml").write_text(own, encoding="utf-8")
    players = json.loads(reversi("rate", "--ladder", "own.yaml", "--json").out)["players"]
    assert {each["player"] for each in players} == {"random", "policy:shipped", "mcts:shipped:64"}


def test_the_shipped_model_of_a_board_can_be_pulled_and_exported(reversi: Reversi, shipped: Path) -> None:
    registry("six", 6, promoted=True).pull(None, shipped / "reversi6")
    pulled = reversi("pull", "--model", "shipped", "--size", 6, "-o", "copy", "--json")
    assert json.loads(pulled.out)["version"] == 3
    exported = reversi("export", "--model", "shipped", "--size", 6, "-o", "out.onnx", "--json")
    assert json.loads(exported.out)["game"] == "reversi6"
    assert reversi("pull", "--model", "shipped", "-o", "other").code == 4, "8x8, where nothing says which board"
