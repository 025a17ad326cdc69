"""Games of the page: what it may send, and what it gets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reversi.analysis.analyzer import Analysis, MoveAnalysis
from reversi.analysis.margin import discs_of
from reversi.errors import IllegalMoveError, NotationError
from reversi.formats.ggf import GgfGame, GgfMove
from reversi.frontends.web.game import MOST_TEXT, OtherBoardError, WebGame, analysis_json
from reversi.games.position import Position
from reversi.games.rules import GAMES

GAME = GAMES["reversi4"]
BLACK_MUST_PASS = "-XOXOOOO-XOOXOOO X"


def test_a_game_has_every_position_with_its_moves() -> None:
    read = WebGame.from_json({"start": None, "moves": ["b1", "a1"]}, GAME).as_json()
    assert json.loads(json.dumps(read)) == read
    assert read["start"] is None
    assert read["moves"] == ["b1", "a1"]
    assert read["transcript"] == "b1a1"
    start, after, now = read["positions"]
    assert start == {
        "board": "-----OX--XO-----",
        "side": "X",
        "legal": ["b1", "a2", "d3", "c4"],
        "black": 2,
        "white": 2,
        "margin": 0,
        "over": False,
    }
    assert (after["side"], after["black"], after["white"], after["margin"]) == ("O", 4, 1, 3)
    assert (now["side"], now["board"]) == ("X", str(Position.start(GAME).play("b1").play("a1")).split(" ")[0])


def test_a_game_may_begin_anywhere_and_passes_are_plies() -> None:
    read = WebGame.from_json({"start": BLACK_MUST_PASS, "moves": ["pass", "a1", "pass", "a3"]}, GAME).as_json()
    assert read["start"] == BLACK_MUST_PASS
    assert read["positions"][0]["legal"] == ["pass"]
    assert read["transcript"] == "a1a3"
    assert WebGame.from_text(read["ggf"], GAME) == WebGame.from_json(read, GAME)
    last = read["positions"][-1]
    assert (last["over"], last["legal"], last["black"], last["white"], last["margin"]) == (True, [], 2, 14, -12)


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        ({"start": 5}, NotationError, "expected a position or null as the start, got int"),
        ({"text": 5}, NotationError, "expected the text of a game, got int"),
        ({"start": "XO"}, NotationError, "expected 16 squares"),
        ({"moves": "b1"}, NotationError, "expected a list of moves"),
        ({"moves": [1]}, NotationError, "expected a list of moves"),
        ({"moves": ["b1"] * 25}, NotationError, "expected at most 24 moves, got 25"),
        ({"moves": ["z9"]}, NotationError, "expected a square from a1 to d4"),
        ({"moves": ["a1"]}, IllegalMoveError, "expected one of b1, a2, d3, c4"),
    ],
)
def test_a_wrong_game_is_refused(request_: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        WebGame.from_json(request_, GAME)


def test_text_may_be_a_transcript_a_position_ggf_or_sgf() -> None:
    played = WebGame.from_json({"moves": ["b1", "a1"]}, GAME)
    assert WebGame.from_text(" B1 a1\n", GAME) == played
    assert WebGame.from_text("b1,a1", GAME) == WebGame.from_text("1. b1 a1", GAME) == played
    assert WebGame.from_text("", GAME).positions == (Position.start(GAME),)
    assert WebGame.from_text(BLACK_MUST_PASS.lower(), GAME).position == Position.parse(BLACK_MUST_PASS)
    start = Position.start(GAME)
    moves = tuple(GgfMove(action) for action in (1, 0))
    assert WebGame.from_text(str(GgfGame(start, moves)), GAME) == played
    assert WebGame.from_text(str(GgfGame(start, moves)).replace("GM[Othello]", "gm [othello]"), GAME) == played
    assert WebGame.from_text("(;GM[2]SZ[4];B[b1];W[a1])", GAME) == played
    assert WebGame.from_text(f"{start}; B1:+4; a2:-2;", GAME) == WebGame.of(start, ())


def test_only_reversi_has_ggf() -> None:
    assert WebGame.from_json({"moves": ["b2"]}, GAMES["tictactoe"]).as_json()["ggf"] is None


def test_moves_get_the_names_of_the_rules() -> None:
    read = WebGame.from_json({"start": BLACK_MUST_PASS, "moves": ["PASS", " A1 "]}, GAME).as_json()
    assert (read["moves"], read["transcript"]) == (["pass", "a1"], "a1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "expected a position, moves like f5d6c3, or a game in GGF or SGF, got 'hello'"),
        ("b1b1", "expected a legal move at ply 2"),
        ("x" * (MOST_TEXT + 1), "expected at most"),
        ("(;GM[2]SZ[6];B[c2])", "expected a game on reversi4, got one on reversi6"),
        ("(;", "expected"),
        ("X-O", "expected 16 squares"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises((NotationError, IllegalMoveError), match=message):
        WebGame.from_text(text, GAME)


def test_an_analysis_keeps_what_is_known_of_each_move() -> None:
    moves = (
        MoveAnalysis(1, 0.123456, 7, (1, 0), prior=0.25),
        MoveAnalysis(GAME.pass_action, score=-3),
        MoveAnalysis(4, 1.0, certain=True),
    )
    unasked = {"prior": None, "line": list[str](), "discs": None, "same_as": None}
    margins = [pytest.approx(discs_of(GAME, 0.123456), abs=0.01), -3, pytest.approx(discs_of(GAME, 1), abs=0.01)]
    assert analysis_json(GAME, Analysis(moves, 9, 0.12345, proven=True)) == {
        "moves": [
            {"move": "b1", "value": 0.1235, "score": None, "visits": 7, "certain": False}
            | {"prior": 0.25, "line": ["b1", "a1"], "discs": None, "same_as": None, "margin": margins[0]},
            {"move": "pass", "value": None, "score": -3, "visits": 0, "certain": False, "margin": margins[1]} | unasked,
            {"move": "a2", "value": 1.0, "score": None, "visits": 0, "certain": True, "margin": margins[2]} | unasked,
        ],
        "nodes": 9,
        "seconds": 0.123,
        "proven": True,
    }


@pytest.mark.parametrize(
    "request_",
    [
        {"text": "f5d6c3"},
        {"text": f"{'-' * 27}OX------XO{'-' * 27} X"},
        {"text": "(;GM[Othello]TY[8]BO[8 ---------------------------O*------*O--------------------------- *]B[F5];)"},
        {"start": f"{'-' * 27}OX------XO{'-' * 27} X"},
        {"moves": ["f5", "d6"]},
    ],
)
def test_a_game_of_another_board_says_which(request_: dict[str, object]) -> None:
    with pytest.raises(OtherBoardError, match="this is a game of 8x8; this page plays 4x4") as found:
        WebGame.from_json(request_, GAME)
    assert found.value.game is GAMES["reversi8"]
