from __future__ import annotations

import pytest

from reversi.errors import IllegalMoveError
from reversi.games.notation import action_name, parse_action
from reversi.games.passes import plies_of
from reversi.games.position import Position

START = Position.start("reversi4")
BLACK_MUST_PASS = Position.parse("-XOXOOOO-XOOXOOO X")
"""White may then play a1 or a3."""
OVER = Position.parse("XXXXXXXXOOOOOOOO X")


def plies(position: Position, move: str, black: bool | None = None) -> list[str]:
    game = position.game
    return [action_name(game, action) for action in plies_of(position, parse_action(game, move), black)]


@pytest.mark.parametrize(
    ("position", "move", "black", "expected"),
    [
        (START, "b1", None, ["b1"]),
        (START, "b1", True, ["b1"]),
        (BLACK_MUST_PASS, "pass", None, ["pass"]),
        (BLACK_MUST_PASS, "pass", True, ["pass"]),
        (BLACK_MUST_PASS, "a1", False, ["pass", "a1"]),
        (BLACK_MUST_PASS, "a1", None, ["pass", "a1"]),
        (OVER, "pass", None, []),
        (OVER, "pass", False, []),
    ],
)
def test_a_pass_may_be_said_or_implied(position: Position, move: str, black: bool | None, expected: list[str]) -> None:
    assert plies(position, move, black) == expected


@pytest.mark.parametrize(
    ("position", "move", "black", "says"),
    [
        (START, "a1", True, "expected one of b1, a2, d3, c4; got 'a1'"),
        (START, "pass", True, "got 'pass'"),
        (START, "pass", None, "got 'pass'"),
        (START, "b1", False, "expected a move of black, one of b1, a2, d3, c4; got 'b1' of the other side"),
        (START, "pass", False, "got 'pass' of the other side"),
        (BLACK_MUST_PASS, "a1", True, "expected one of pass; got 'a1'"),
        (BLACK_MUST_PASS, "b1", False, "expected one of a1, a3; got 'b1'"),
        (BLACK_MUST_PASS, "pass", False, "got 'pass'"),
        (OVER, "a1", True, "the game is over; got 'a1'"),
        (OVER, "a1", False, "no move any more"),
    ],
)
def test_what_the_rules_refuse_is_refused(position: Position, move: str, black: bool | None, says: str) -> None:
    with pytest.raises(IllegalMoveError, match=says):
        plies(position, move, black)
