"""Every format of a single game says the same, and the board of moves is the one on which most can be played."""

from __future__ import annotations

import pytest

from reversi.errors import IllegalMoveError, NotationError
from reversi.formats.text import BOARDS, REVERSI, in_brackets, parse_game
from reversi.games.position import Position
from reversi.games.rules import GAMES

START = str(Position.start("reversi4"))
PLAYED = Position.start("reversi4").play("b1").play("a1")


@pytest.mark.parametrize(
    "text",
    [
        "b1a1",
        " B1 a1\n",
        "1. b1 a1",
        "(;GM[2]SZ[4];B[b1];W[a1])",
        f"(;GM[Othello]PB[me]BO[4 {START.replace('X', '*')}]B[B1]W[A1];)",
        f"1 (;GM[Othello]PB[me]BO[4 {START.replace('X', '*')}]B[B1]W[A1];)",
        "  12  (;GM[2]SZ[4];B[b1];W[a1])",
        "\ufeffb1a1",
        "\ufeff(;GM[2]SZ[4];B[b1];W[a1])",
    ],
)
def test_moves_are_read_in_every_format(text: str) -> None:
    found = parse_game(text, REVERSI)
    assert (found.start, found.moves, found.end) == (Position.start("reversi4"), ["b1", "a1"], PLAYED)


def test_a_number_is_passed_over_only_before_a_game_in_brackets() -> None:
    assert in_brackets(" 2 (;GM[2])") == in_brackets("(;GM[2])") == "(;GM[2])"
    assert [in_brackets(text) for text in ("", "1", "1. f5", "2 (copy).ggf", "x (;GM[2])")] == [None] * 5


def test_a_position_has_no_moves_and_may_have_scores() -> None:
    assert parse_game(str(PLAYED).lower()).end == PLAYED
    found = parse_game(f"{START}; B1:+4; a2:-2;")
    assert (str(found.start), found.moves, list(found.scores.values())) == (START, [], [4, -2])


@pytest.mark.parametrize(
    ("text", "board"),
    [("f5", "reversi8"), ("d3", "reversi8"), ("c2", "reversi6"), ("b1", "reversi4"), ("a1", "tictactoe")],
)
def test_moves_are_on_the_first_board_that_has_them_all(text: str, board: str) -> None:
    assert parse_game(text).start == Position.start(board)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("b1a1d4", IllegalMoveError, "reversi4: expected a legal move at ply 3, got 'd4'"),
        ("c2b4zz", NotationError, "reversi6: expected a move like d3 at ply 3, got 'zz'"),
        ("a1", IllegalMoveError, "expected a legal move at ply 1, got 'a1'"),
        ("hello", NotationError, "expected a position, moves like f5d6c3, or a game in GGF or SGF, got 'hello'"),
        ("hello a9", NotationError, "got 'hello a9'"),
        ("h9 a1", NotationError, "expected a move like d3 at ply 1, got 'h9 a1'"),
        ("--------- X", NotationError, "expected a game on reversi8 or reversi6 or reversi4, got one on tictactoe"),
        ("(;GM[2]SZ[4];B[b1];W[b1])", IllegalMoveError, "expected one of a1"),
    ],
)
def test_a_fault_is_that_of_the_board_on_which_most_can_be_played(
    text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        parse_game(text, REVERSI)
    assert message in str(caught.value)


def test_a_text_is_on_one_of_the_boards_asked_for() -> None:
    for text in ("(;GM[2]SZ[6];B[c2])", str(Position.start("reversi6"))):
        assert parse_game(text, BOARDS).start.game is GAMES["reversi6"]
        with pytest.raises(NotationError, match="expected "):
            parse_game(text, [GAMES["reversi4"]])
    with pytest.raises(NotationError, match="reversi6: expected a square from a1 to f6 or pass, got 'h8'"):
        parse_game("h8", [GAMES["reversi6"]])
