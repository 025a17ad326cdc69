from __future__ import annotations

import re
from collections.abc import Iterator

from reversi.frontends.board import Style, draw
from reversi.frontends.stepper import HELP, Stepper
from reversi.games.position import Position

START = "-XOXOOOO-XOOXOOO X"
"""Black passes, White plays a1, Black passes, White plays a3."""


def stepped(lines: list[str], *, ply: int = 0, style: Style = "letters") -> list[str]:
    """Return what was said while a person typed `lines` and then closed the input."""
    moves = ["pass", "a1", "pass", "a3"]
    positions = [Position.parse(START)]
    for move in moves:
        positions.append(positions[-1].play(move))
    said: list[str] = []
    typed: Iterator[str] = iter(lines)

    def ask(prompt: str) -> str:
        for line in typed:
            return line
        raise EOFError

    Stepper(positions, moves, ask=ask, say=said.append, style=style).step(ply)
    return said


def heads(said: list[str]) -> list[str]:
    """Return the line above each picture, or what was said instead of one."""
    return [text.strip("\n").splitlines()[0] if text else "" for text in said]


def test_enter_goes_on_b_goes_back_and_g_goes_anywhere() -> None:
    assert heads(stepped(["", "n", "b", "g 4", "B", "go 0", "q", "never asked"])) == [
        "The start",
        "Ply 1 of 4: Black (X) passes",
        "Ply 2 of 4: White (O) plays a1",
        "Ply 1 of 4: Black (X) passes",
        "Ply 4 of 4: White (O) plays a3",
        "Ply 3 of 4: Black (X) passes",
        "The start",
    ]


def test_it_begins_where_asked_and_stays_within_the_game() -> None:
    said = stepped(["n", "g 5", "g -1", "g x", "g", "b"], ply=4)
    refused = "The game has plies 0 to 4."
    assert heads(said) == [
        "Ply 4 of 4: White (O) plays a3",
        refused,
        refused,
        refused,
        refused,
        refused,
        "Ply 3 of 4: Black (X) passes",
        "",
    ]


def test_anything_else_prints_what_can_be_typed_and_moves_the_transcript() -> None:
    said = stepped(["what", "moves"])
    assert said[1:3] == [HELP, "a1a3"]


def test_the_picture_is_the_position() -> None:
    (shown,) = stepped(["q"], ply=2)
    assert shown.endswith(draw(Position.parse(START).play("pass").play("a1"), "letters", "a1"))
    (drawn,) = stepped(["q"], ply=2, style="colours")
    assert re.sub(r"\x1b\[[0-9;]*m", "", drawn).splitlines()[1] == "Ply 2 of 4: White ( ● ) plays a1"
