"""`reversi review`: every move's loss is the solver's, sums and marks are the page's, and what is done is printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.notation import PASS, parse_action
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.model.registry import Registry
from reversi.model.weights import Weights, array_shapes
from scripts.bench.setup import Settings, random_weights
from tests.configs import resnet
from tests.scripts.commands.reviewed_game import MARKS, Judged, ending
from tests.scripts.conftest import Answer, Reversi

FOUR = "c4b4a1d2d4d3a2c1a4a3b1d1"
OPENING = "c2d2"


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the registry of a 4x4 model."""
    path = tmp_path_factory.mktemp("four")
    Registry(str(path), create=True).publish(random_weights(Settings(size=4, blocks=1, channels=8)), "promoted", None)
    return path


def objects(answer: Answer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.out.splitlines()]


def test_every_move_of_a_4x4_game_has_its_exact_loss(reversi: Reversi, four: Path) -> None:
    answer = reversi("review", FOUR, "--registry", four)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "Game 1 of 1\n"
        "ply  side   move  lost      better  with best play\n"
        "  1  Black  c4       0              -8 discs, exact\n"
        "  2  White  b4      16  ??  d4      +8 discs, exact\n"
        "  3  Black  a1      10  ??  a4      +8 discs, exact\n"
        "  4  White  d2      18  ??  d4      +2 discs, exact\n"
        "  5  Black  d4      14  ??  a4      +16 discs, exact\n"
        "  6  White  d3      13  ??  d1      -2 discs, exact\n"
        "  7  Black  a2       3  ?!  d1      +15 discs, exact\n"
        "  8  White  c1       0              -12 discs, exact\n"
        "  9  Black  a4       0              +12 discs, exact\n"
        " 10  White  a3       0              -12 discs, exact\n"
        " 11  Black  b1       0              +12 discs, exact\n"
        " 12  White  pass     0              -12 discs, exact\n"
        " 13  Black  d1       0              +12 discs, exact\n"
        "\n"
        "       ??  ?  ?!  discs\n"
        "Black   2  0   1     27\n"
        "White   3  0   0     47\n"
        "?? win to loss, or 12 discs; ? half of the result, or 6 discs; ?! 3 discs\n"
        "Decided by ply 4, White d2, better d4\n"
        "Final score: Black 14, White 2, Black wins\n"
    )


@pytest.mark.parametrize("limits", [(), ("--seconds", 5)])
def test_a_game_from_a_position_is_judged_as_the_solver_does(
    limits: tuple[object, ...], reversi: Reversi, registry: Path, tmp_path: Path
) -> None:
    game, judged = ending(15, 4)
    assert set(MARKS) <= {each.mark for each in judged}
    (tmp_path / "games.ggf").write_text(str(game))
    (found,) = objects(reversi("review", tmp_path / "games.ggf", "--registry", registry, "--json", *limits))
    assert found["moves"][0]["position"] == str(game.start)
    assert len(found["moves"]) == len(judged)
    for move, expected in zip(found["moves"], judged, strict=True):
        assert (move["side"], move["move"]) == (expected.side.lower(), expected.name)
        assert (move["lost_discs"], move["mark"] or "") == (expected.lost, expected.mark)
        assert move["better"] in expected.best if expected.lost else move["better"] is None
    for side in ("black", "white"):
        assert found[side] == sums(side, judged)
    last = Position.parse(found["moves"][-1]["position"]).play(judged[-1].name)
    assert (found["over"], found["margin"]) == (True, last.black_margin)
    assert found["margin"] == found["black_discs"] - found["white_discs"]


def sums(side: str, judged: list[Judged]) -> dict[str, Any]:
    mine = [each for each in judged if each.side.lower() == side]
    marks = {mark: sum(each.mark == mark for each in mine) for mark in ("??", "?", "?!")}
    lost = sum(each.lost for each in mine)
    return {"moves": len(mine), "judged": len(mine), "exact": len(mine), "discs": lost, "marks": marks}


def test_before_the_solver_a_loss_is_estimated_by_a_search(reversi: Reversi, registry: Path) -> None:
    common = ("review", OPENING, "--registry", registry)
    (found,) = objects(reversi(*common, "--json"))
    first, second = found["moves"]
    assert [move["exact"] for move in (first, second)] == [False, False]
    assert min(move["lost_discs"] for move in (first, second)) >= 0
    assert 0 <= first["lost_result"] <= 2
    assert second["score"] is None
    if first["better"] is not None:
        assert first["lost_result"] == pytest.approx(max(0.0, first["value"] + second["value"]), abs=2e-4)
    shown = reversi(*common).out
    assert re.search(r"^ +1  Black  c2 +\d+\.\d .* [+-]\d\.\d discs, \d+ visits$", shown, re.M)
    assert re.search(r"^Black   0  0   0  +\d+\.\d$", shown, re.M)
    assert shown.endswith("Not over: Black 3, White 3, Black to move\n")


def test_the_bare_network_judges_without_a_solver_unless_it_is_asked_for(reversi: Reversi, four: Path) -> None:
    common = ("review", FOUR, "--registry", four, "--simulations", 0, "--json")
    (network,), (solver,) = objects(reversi(*common)), objects(reversi(*common, "--solve", 4))
    assert [move["score"] for move in network["moves"]] == [None] * 13
    assert all(move["lost_result"] is not None for move in network["moves"])
    assert [move["score"] is None for move in solver["moves"]] == [True] * 8 + [False] * 5


def test_a_pass_loses_nothing_and_may_be_left_out(reversi: Reversi, four: Path) -> None:
    written = reversi("review", FOUR.replace("b1d1", "b1passd1"), "--registry", four, "--json").out
    (found,) = objects(Answer(0, written, ""))
    (move,) = [move for move in found["moves"] if move["move"] == PASS]
    assert (move["ply"], move["lost_discs"], move["better"]) == (12, 0, None)
    assert reversi("review", FOUR, "--registry", four, "--json").out == written


def test_tic_tac_toe_has_a_result_and_no_discs(reversi: Reversi, tmp_path: Path) -> None:
    config = resnet(blocks=1, channels=8)
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in array_shapes(config, 3).items()}
    Registry(str(tmp_path), create=True).publish(Weights("tictactoe", config, 0, arrays), "promoted", None)
    answer = reversi("review", "a1c1b1c2a3c3", "--registry", tmp_path, "--simulations", 2000)
    assert (answer.code, answer.err) == (0, "")
    assert "  3  Black  b1    100 %  ??  a3      win, proven\n" in answer.out
    *_, marks, black, white, meaning, decided, result = answer.out.splitlines()
    assert (marks.split(), meaning) == (["??", "?"], "?? win to loss; ? half of the result")
    assert (black, white) == ("Black   1  0", "White   0  1")
    assert decided == "Decided by ply 3, Black b1, better a3"
    assert result == "Result: White wins"
    assert "discs" not in answer.out


def test_the_score_of_an_unfilled_board_is_said_both_ways(reversi: Reversi, four: Path, tmp_path: Path) -> None:
    game = GgfGame(Position.parse("XO----------XXXX X"), (GgfMove(parse_action(GAMES["reversi4"], "c1")),))
    (tmp_path / "game.ggf").write_text(str(game))
    answer = reversi("review", tmp_path / "game.ggf", "--registry", four)
    assert answer.out.endswith("Final score: Black 7, White 0, Black wins (16 - 0 with the 9 empty squares)\n")


def test_a_fault_ends_its_game_with_the_file_and_the_place(reversi: Reversi, four: Path, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text(f"c4b4c4\nnonsense\n{FOUR}\n")
    answer = reversi("review", path, "--registry", four)
    faults = [
        f"error: {path}, game 1, ply 3: expected a legal move, got 'c4'",
        f"error: {path}, game 2, ply 1: expected a move like d3, got 'nonsense'",
    ]
    assert (answer.code, answer.err.splitlines()) == (1, faults)
    assert re.findall("^Game .*", answer.out, re.M) == ["Game 1 of 3", "Game 3 of 3"]
    assert "\n\nGame 3" in answer.out
    as_json = reversi("review", path, "--registry", four, "--json")
    assert [found["error"] for found in objects(as_json)] == [*(fault[7:] for fault in faults), None]
    assert [len(found["moves"]) for found in objects(as_json)] == [2, 0, 13]
    one = reversi("review", path, "--registry", four, "--game", 3)
    assert (one.code, one.err, one.out.splitlines()[0]) == (0, "", "Game 3 of 3")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "expected a file of games or a transcript like f5d6c3, got 'nonsense'"),
        (["none.ggf"], "none.ggf: expected a file of games, but it does not exist"),
        ([FOUR, "--game", "2"], "--game: expected a game from 1 to 1, got 2"),
        ([FOUR, "--size", "6"], "expected a model for reversi6"),
        (["(;GM[2]SZ[8];B[f5])"], "expected"),
        (["-"], "expected a file with at least one game, got nothing on standard input"),
    ],
)
def test_what_cannot_be_reviewed_is_one_line(arguments: list[str], says: str, reversi: Reversi, four: Path) -> None:
    answer = reversi("review", *arguments, "--registry", four)
    assert answer.code in (1, 2)
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_a_game_written_over_several_lines_is_reviewed_as_one(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    limits = ("--registry", registry, "--simulations", 2, "--json")
    (found,) = objects(reversi("review", "c2b2\nb3b4", *limits))
    assert [move["move"] for move in found["moves"]] == ["c2", "b2", "b3", "b4"]
    (tmp_path / "games.txt").write_text("c2b2\nb3b4\n")
    answer = reversi("review", tmp_path / "games.txt", *limits)
    assert (answer.code, answer.out) == (2, "")
    assert "these lines can be either" in answer.err
    (tmp_path / "games.txt").write_text("c2b2\nb3b4\nb3b2\n")
    assert [len(each["moves"]) for each in objects(reversi("review", tmp_path / "games.txt", *limits))] == [2, 2, 2]
