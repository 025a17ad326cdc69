from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scripts.conftest import Reversi


def test_a_match_prints_its_statistics(reversi: Reversi) -> None:
    answer = reversi("match", "--a", "flat-mc:20", "--b", "random", "--size", 6, "--games", 40, "--json")
    found = json.loads(answer.out)
    assert answer.code == 0
    assert found["games"] == found["wins"] + found["draws"] + found["losses"] == 40
    assert found["score"] == pytest.approx((found["wins"] + found["draws"] / 2) / 40)
    assert found["interval"][0] < found["score"] <= found["interval"][1]
    assert found["elo_interval"][0] < found["elo"] <= found["elo_interval"][1]
    assert found["score"] > 0.6
    assert (found["a"], found["b"]) == ("flat-mc:20", "random")


def test_the_seed_decides_everything(reversi: Reversi) -> None:
    def played(seed: int) -> str:
        return reversi("match", "--a", "random", "--b", "greedy", "--games", 60, "--seed", seed, "--json").out

    assert played(1) == played(1)
    assert json.loads(played(1))["wins"] != json.loads(played(3))["wins"]


def test_the_same_model_on_both_sides_is_level(reversi: Reversi, registry: Path) -> None:
    common = ["--registry", registry, "--games", 20, "--simulations", 4, "--json"]
    found = json.loads(reversi("match", "--a", "gated", "--b", "mcts:3:4", *common).out)
    assert found["score"] == 0.5


def test_openings_come_from_a_file(reversi: Reversi, tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("c2b2  # diagonal\n\nc2b4\n")
    answer = reversi("match", "--a", "random", "--b", "greedy", "--games", 4, "--openings", file)
    assert answer.code == 0
    assert answer.out.startswith("random against greedy, reversi6, 4 games: ")
    assert reversi("match", "--a", "random", "--b", "greedy", "--games", 6, "--openings", file).code == 2
