"""Boards in letters and in colours."""

from __future__ import annotations

import re

from reversi.frontends.board import draw, side
from reversi.games.position import Position
from reversi.games.rules import game_named

START = Position.start(game_named("reversi4"))
AFTER = START.play("b1")


def test_letters_have_the_last_move_in_brackets() -> None:
    assert draw(AFTER, "letters", "b1").splitlines() == [
        "  a b c d",
        "1 *[X]* -",
        "2 - X X -",
        "3 * X O -",
        "4 - - - -",
        "White to move: Black (X) 4, White (O) 1",
    ]
    assert "*" not in draw(AFTER, "letters", "b1", marks=False)
    assert "[" not in draw(AFTER, "letters", "pass")


def test_brackets_fit_at_both_edges() -> None:
    corner = Position.parse("X--OXXXXOXXXOOOO X")
    assert draw(corner, "letters", "a1").splitlines()[1].startswith("1[X]")
    assert draw(corner, "letters", "d1").splitlines()[1].endswith("[O]")


def test_colours_are_the_same_board_with_two_inks() -> None:
    """Both sides have the same disc, in black and in white on green, whatever the terminal's own colours are."""
    drawn = draw(AFTER, "colours", "b1")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    letters = draw(AFTER, "letters", "b1").translate(str.maketrans({"X": "●", "O": "●", "-": "·"}))
    assert [line.rstrip() for line in plain.splitlines()[:-1]] == [
        f" {line}" if line.startswith("  ") else f"{line[0]} {line[1:]}" for line in letters.splitlines()[:-1]
    ]
    row = drawn.splitlines()[3]
    assert row.count("\x1b[38;5;16m●") == 1, "Black's disc in row 3"
    assert row.count("\x1b[38;5;231m●") == 1, "White's"
    assert all(line.endswith("\x1b[0m") for line in drawn.splitlines()[1:5]), "the colours end with the board"
    assert re.sub(r"\x1b\[[0-9;]*m", "", side(black=True, style="colours")) == "Black ( ● )"
