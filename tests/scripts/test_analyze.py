from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.model.evaluate import open_evaluator
from reversi.model.registry import load_model
from tests.scripts.conftest import Reversi

ROOT = Path(__file__).parents[2]
START = "--------------OX----XO-------------- X"
FULL = "X" * 36 + " O"
PASS = "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXO- X"


def analyzed(reversi: Reversi, registry: Path, lines: list[str], simulations: int = 16) -> list[dict[str, Any]]:
    answer = reversi(
        "analyze", "--registry", registry, "--simulations", simulations, "--json", stdin="\n".join(lines) + "\n"
    )
    assert answer.code == 0
    return [json.loads(line) for line in answer.out.splitlines()]


def random_positions(count: int) -> list[str]:
    rng = random.Random(0)
    positions: list[str] = []
    while len(positions) < count:
        position = Position.start("reversi6")
        for _ in range(rng.randrange(30)):
            if not position.is_over:
                position = position.play(rng.choice(position.legal_moves()))
        positions.append(str(position))
    return positions


def test_a_position_gets_move_value_policy_and_visits(reversi: Reversi, registry: Path) -> None:
    (found,) = analyzed(reversi, registry, [START], simulations=40)
    assert list(found) == ["position", "game", "move", "value", "policy", "visits"]
    assert found["position"] == START
    assert set(found["policy"]) == set(found["visits"]) == {"c2", "b3", "e4", "d5"}
    assert sum(found["visits"].values()) == 40
    assert sum(found["policy"].values()) == pytest.approx(1, abs=1e-5)
    assert found["visits"][found["move"]] == max(found["visits"].values())
    assert -1 <= found["value"] <= 1


def test_no_simulations_are_the_bare_network(reversi: Reversi, registry: Path) -> None:
    (found,) = analyzed(reversi, registry, [START], simulations=0)
    position = Position.parse(START)
    evaluate = open_evaluator(load_model("gated", str(registry)), batch=256)
    logits, value = evaluate(np.array([position.own], np.uint64), np.array([position.opp], np.uint64))
    weights = np.exp(logits[0, position.legal_actions()])
    assert found["value"] == pytest.approx(float(value[0]), abs=0.01)
    assert list(found["policy"].values()) == pytest.approx(list(weights / weights.sum()), abs=0.01)
    assert set(found["visits"].values()) == {0}
    assert found["move"] == max(found["policy"], key=lambda move: found["policy"][move])


def test_a_pass_and_a_finished_game(reversi: Reversi, registry: Path) -> None:
    opponent_moves = PASS[:-1] + "O"
    passing, over, moving = analyzed(reversi, registry, [opponent_moves, FULL, PASS], simulations=8)
    assert (passing["move"], passing["policy"], passing["visits"]) == ("pass", {"pass": 1}, {"pass": 0})  # solved
    assert (over["move"], over["value"], over["policy"], over["visits"]) == (None, -1, {}, {})
    assert (moving["move"], moving["value"] > 0.5) == ("f6", True)


def test_a_position_is_judged_the_same_in_any_company(reversi: Reversi, registry: Path) -> None:
    positions = random_positions(300)
    together = analyzed(reversi, registry, positions)
    assert [each["position"] for each in together] == positions
    for index in (0, 150, 299):
        (alone,) = analyzed(reversi, registry, [positions[index]])
        assert alone["move"] == together[index]["move"]
        assert alone["value"] == pytest.approx(together[index]["value"], abs=0.02)


def test_bad_lines_are_answered_in_their_place(reversi: Reversi, registry: Path) -> None:
    lines = ["nonsense", START, "", START + "X", "-" * 64 + " X", "\x00\x7f", START.lower(), START]
    answer = reversi("analyze", "--registry", registry, "--simulations", 4, "--json", stdin="\n".join(lines) + "\n")
    found = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.code == 1
    assert ["error" in each for each in found] == [True, False, True, True, True, False, False]
    assert [each["line"] for each in found if "error" in each] == [1, 4, 5, 6]
    assert answer.err == "error: 4 of 7 lines could not be parsed as positions of reversi6\n"


def test_positions_may_come_from_a_file_and_as_moves(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"# openings\n\n{START}  # the start\nc2d2\nC2 f6\nc3\n")
    common = ("analyze", "--registry", registry, "--simulations", 4, "--json")
    answer = reversi(*common, tmp_path / "list")
    start, played, illegal, other = map(json.loads, answer.out.splitlines())
    assert (start["position"], played["position"]) == (START, str(Position.parse(START).play("c2").play("d2")))
    assert illegal == {"error": "reversi6: expected a legal move at ply 2, got 'f6'", "line": 5}
    assert other["line"] == 6
    assert (
        reversi(*common, tmp_path / "none").err
        == f"error: {tmp_path}/none: expected a file of positions, but No such file or directory\n"
    )


def test_a_position_is_answered_before_the_next_one_arrives(registry: Path) -> None:
    command = [sys.executable, "-m", "scripts.cli", "analyze", "--registry", registry, "--simulations", "4", "--json"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, bufsize=1, **pipes) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for line in (START, "c2", START):
            program.stdin.write(line + "\n")
            assert "value" in json.loads(program.stdout.readline())
        assert program.communicate(timeout=30) == ("", "")


def test_nothing_in_is_nothing_out(reversi: Reversi, registry: Path) -> None:
    answer = reversi("analyze", "--registry", registry, "--json", stdin="")
    assert (answer.code, answer.out) == (0, "")


def test_people_read_shares(reversi: Reversi, registry: Path) -> None:
    answer = reversi("analyze", "--registry", registry, "--simulations", 8, stdin=f"{START}\n{FULL}\nbad\n")
    first, second, third = answer.out.splitlines()
    assert first.startswith(START)
    assert first.count("%") == 4
    assert second == f"{FULL}  game over  -1.000"
    assert third.startswith("error: ")


def test_visits_are_those_of_each_move(reversi: Reversi, registry: Path) -> None:
    (found,) = analyzed(reversi, registry, [str(Position.parse(START).play("c2"))], simulations=40)
    assert sum(found["visits"].values()) == 40
    assert len(set(found["visits"].values())) > 1
