from __future__ import annotations

import json
import random
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.symmetry import SYMMETRIES, transform_masks
from reversi.model.evaluate import open_evaluator
from reversi.model.lookup import load_model
from reversi.model.registry import Registry
from tests.reversi.model.samples import weights
from tests.scripts.conftest import Reversi

START = "--------------OX----XO-------------- X"
FULL = "X" * 36 + " O"
PASS = "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXO- X"


def analyzed(reversi: Reversi, registry: Path, lines: list[str], simulations: int = 16) -> list[dict[str, Any]]:
    answer = reversi(
        "analyze", "--registry", registry, "--simulations", simulations, "--json", stdin="\n".join(lines) + "\n"
    )
    assert answer.code == 0
    return [json.loads(line) for line in answer.out.splitlines()]


def random_positions(count: int, name: str = "reversi6", plies: range = range(30)) -> list[str]:
    """Return positions after random moves, as many as drawn from `plies` while the game goes on."""
    rng = random.Random(0)
    positions: list[str] = []
    while len(positions) < count:
        position = Position.start(name)
        for _ in range(rng.choice(plies)):
            if not position.is_over:
                position = position.play(rng.choice(position.legal_moves()))
        positions.append(str(position))
    return positions


def test_a_position_gets_move_value_policy_and_visits(reversi: Reversi, registry: Path) -> None:
    (found,) = analyzed(reversi, registry, [START], simulations=40)
    exact = ["score", "certain", "line"]
    assert list(found) == ["position", "game", "move", "value", "policy", "visits", *exact, "moves"]
    assert found["moves"][0] == {"value": found["moves"][0]["value"], "prior": found["moves"][0]["prior"]} | {
        name: found[name] for name in ("move", *exact)
    } | {"discs": None, "visits": found["visits"][found["move"]], "same_as": None}
    assert {each["move"]: each["visits"] for each in found["moves"]} == found["visits"]
    assert sum(each["prior"] for each in found["moves"]) == pytest.approx(1, abs=1e-5)
    assert found["line"][0] == found["move"]
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
    images = [[transform_masks(position.game.id, side, s) for side in position.as_batch()] for s in range(SYMMETRIES)]
    values = [float(evaluate(*image)[1][0]) for image in images]
    assert found["value"] == pytest.approx(np.mean(values), abs=0.01)
    assert set(found["policy"].values()) == {0.25}
    assert set(found["visits"].values()) == {0}
    assert found["move"] == max(found["policy"], key=lambda move: found["policy"][move])
    assert [each["value"] for each in found["moves"]] == [None] * 4


def test_a_pass_and_a_finished_game(reversi: Reversi, registry: Path) -> None:
    opponent_moves = PASS[:-1] + "O"
    passing, over, moving = analyzed(reversi, registry, [opponent_moves, FULL, PASS], simulations=8)
    assert (passing["move"], passing["policy"], passing["visits"]) == ("pass", {"pass": 1}, {"pass": 0})  # solved
    assert (passing["score"], passing["line"]) == (-36, ["pass", "f6"])
    assert (over["move"], over["value"], over["policy"], over["visits"]) == (None, -1, {}, {})
    assert (over["score"], over["certain"], over["line"], over["moves"]) == (-36, True, [], [])
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
    assert illegal["error"].startswith("reversi6: expected a legal move at ply 2, got 'f6'")
    assert illegal["line"] == 5
    assert other["line"] == 6
    assert (
        reversi(*common, tmp_path / "none").err
        == f"error: {tmp_path}/none: expected a file of positions, but it does not exist\n"
    )


def test_a_game_may_hold_a_number_sign_and_follow_a_byte_order_mark(reversi: Reversi, registry: Path) -> None:
    games = ["\ufeff1 (;GM[2]SZ[6]PB[a#1];B[c2];W[d2])", "(;GM[2]SZ[6]PW[#];B[c2];W[d2]) # the same"]
    after = str(Position.parse(START).play("c2").play("d2"))
    assert [found["position"] for found in analyzed(reversi, registry, games, 4)] == [after, after]
    assert [found["position"] for found in analyzed(reversi, registry, [f"\ufeff{START}"], 4)] == [START]


def test_nothing_in_is_nothing_out(reversi: Reversi, registry: Path) -> None:
    answer = reversi("analyze", "--registry", registry, "--json", stdin="")
    assert (answer.code, answer.out) == (0, "")


def test_people_read_a_line_for_each_move(reversi: Reversi, registry: Path) -> None:
    answer = reversi("analyze", "--registry", registry, "--simulations", 8, stdin=f"{START}\n{FULL}\nbad\n")
    first, second, third = answer.out.split("\n\n")
    position, *moves = first.splitlines()
    assert position == START
    assert {move.split()[0] for move in moves} == set(Position.parse(START).legal_moves())
    assert all(re.search(r"[+-]\d+\.\d discs, \d visits? +[a-f][1-6]", move) for move in moves)
    assert second == f"{FULL}\ngame over, -36 discs"
    assert third.startswith("error: ")


def test_a_position_of_another_board_names_its_size(reversi: Reversi, registry: Path) -> None:
    answer = reversi("analyze", "--registry", registry, stdin=f"{'-' * 27}OX------XO{'-' * 27} X\nf5d6\nz9\n")
    first, second, third = answer.out.splitlines()
    assert first.endswith("; on reversi8 it can be read: give --size 8")
    assert second.endswith("; on reversi8 it can be read: give --size 8")
    assert "--size" not in third


def test_visits_are_those_of_each_move(reversi: Reversi, registry: Path) -> None:
    (found,) = analyzed(reversi, registry, [str(Position.parse(START).play("c2"))], simulations=40)
    assert sum(found["visits"].values()) == 40
    assert len(set(found["visits"].values())) > 1


ENDGAME = "X--O--XXOO--XXXO--OOXO--OO-OX-O--O-- X"
SCORES = {"c1": 8, "e6": 8, "c5": 4, "e4": 2, "b6": -4, "e3": -6, "e2": -14, "e1": -16}
"""Its 16 empty squares, solved."""


def test_the_solver_scores_every_move_and_gives_perfect_play(reversi: Reversi, registry: Path) -> None:
    (found,) = analyzed(reversi, registry, [ENDGAME])
    assert {each["move"]: each["score"] for each in found["moves"]} == SCORES
    assert (found["score"], found["certain"], found["value"]) == (8, True, 1)
    assert (found["policy"]["c1"], found["policy"]["e6"]) == (0.5, 0.5)
    for each in found["moves"]:
        assert (each["certain"], each["visits"], each["prior"]) == (True, 0, None)
        assert each["value"] == (1 if each["score"] > 0 else -1)
        position = Position.parse(ENDGAME)
        for move in each["line"]:
            position = position.play(move)
        assert (position.is_over, position.black_margin) == (True, each["score"])
    text = reversi("analyze", "--registry", registry, stdin=ENDGAME).out
    position_line, *moves = text.splitlines()
    assert position_line == ENDGAME
    assert [move.split()[:4] for move in moves if move] == [
        [move, f"{score:+d}", "discs,", "exact"] for move, score in SCORES.items()
    ]
    assert moves[0].split()[4:] == found["line"]


@pytest.mark.parametrize(
    "options",
    [
        ("--solve", 15),
        ("--solve", 0),
        ("--simulations", 0),
        ("--simulations", 0, "--solve", 15),
        ("--simulations", 0, "--seconds", 20),
        ("--simulations", 9, "--seconds", 20, "--solve", 15),
    ],
)
def test_the_solver_may_be_told_to_come_later_or_not_at_all(
    reversi: Reversi, registry: Path, options: tuple[object, ...]
) -> None:
    answer = reversi("analyze", "--registry", registry, "--json", *options, stdin=ENDGAME)
    found = json.loads(answer.out)
    assert (found["score"], [each["score"] for each in found["moves"]]) == (None, [None] * 8)


@pytest.mark.parametrize("options", [("--solve", 16), ("--solve", 16, "--seconds", 20)])
def test_the_bare_network_leaves_endings_to_a_solver_that_was_asked_for(
    reversi: Reversi, registry: Path, options: tuple[object, ...]
) -> None:
    answer = reversi("analyze", "--registry", registry, "--json", "--simulations", 0, *options, stdin=ENDGAME)
    assert {each["move"]: each["score"] for each in json.loads(answer.out)["moves"]} == SCORES


def test_every_move_is_searched_until_it_is_proven(reversi: Reversi, registry: Path) -> None:
    options = ("--solve", 0, "--simulations", 20_000)
    (found,) = map(
        json.loads, reversi("analyze", "--registry", registry, "--json", *options, stdin=ENDGAME).out.split("\n")[:-1]
    )
    assert {each["move"]: (each["value"], each["certain"]) for each in found["moves"]} == {
        move: (1 if score > 0 else -1, True) for move, score in SCORES.items()
    }
    assert {move for move, share in found["policy"].items() if share} == {"c1", "e6", "c5", "e4"}
    text = reversi("analyze", "--registry", registry, *options, stdin=ENDGAME).out
    assert (text.count("win, proven"), text.count("loss, proven")) == (4, 4)


def test_a_position_may_have_a_time(reversi: Reversi, registry: Path) -> None:
    lines = f"{START}\n{ENDGAME}\n{FULL}\nbad\n"
    answer = reversi("analyze", "--registry", registry, "--json", "--seconds", 0.3, stdin=lines)
    start, endgame, over, bad = map(json.loads, answer.out.splitlines())
    assert sum(start["visits"].values()) > 64
    assert (endgame["score"], over["score"], bad["line"]) == (8, -36, 4)
    few = reversi("analyze", "--registry", registry, "--json", "--seconds", 30, "--simulations", 7, stdin=START)
    assert sum(json.loads(few.out)["visits"].values()) == 7


@cache
def solve(position: Position) -> int:
    """Return the result of perfect play for the side to move, 1, 0 or -1, by looking at everything."""
    if position.is_over:
        return int(np.sign(position.margin))
    return max(-solve(position.play(action)) for action in position.legal_actions())


def test_a_position_is_certain_only_where_its_result_is_proven(reversi: Reversi, tmp_path: Path) -> None:
    Registry(str(tmp_path), create=True).publish(weights("tictactoe"), "promoted", None)
    positions = random_positions(1000, "tictactoe", range(3, 7))
    counts = Counter[str]()
    for found in analyzed(reversi, tmp_path, positions, simulations=24):
        if not found["moves"]:  # the game is over
            continue
        best = found["moves"][0]
        lost = {each["move"] for each in found["moves"] if each["certain"] and each["value"] == -1}
        assert sum(found["policy"].values()) == pytest.approx(1, abs=1e-5)
        if found["certain"]:
            counts["certain"] += 1
            assert found["value"] == best["value"] == solve(Position.parse(found["position"]))
            reached = {each["move"] for each in found["moves"] if each["certain"] and each["value"] == found["value"]}
            assert {move for move, share in found["policy"].items() if share} == reached
        else:
            assert not all(each["certain"] for each in found["moves"])
            assert best["move"] not in lost
            assert all(found["policy"][move] == 0 for move in lost)
            counts["some lost"] += bool(lost)
            counts["only the best is proven"] += best["certain"]
    assert counts["certain"] > 20
    assert counts["some lost"] > 20
    assert counts["only the best is proven"] > 0, counts


def test_a_model_of_tic_tac_toe_has_no_solver(reversi: Reversi, tmp_path: Path) -> None:
    Registry(str(tmp_path), create=True).publish(weights("tictactoe"), "promoted", None)
    for options in ((), ("--seconds", 0.1, "--simulations", 300)):
        answer = reversi("analyze", "--registry", tmp_path, "--json", *options, stdin="--------- X\nXX-OO---- X\n")
        start, won = map(json.loads, answer.out.splitlines())
        assert (start["score"], won["score"]) == (None, None)
        assert (won["move"], won["value"], won["certain"]) == ("c1", 1, True)
