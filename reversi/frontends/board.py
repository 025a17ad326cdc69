"""A position as a terminal shows it: in letters, or in colours of its own.

Colours are a green board with black and white discs, the same on a dark background and on a light one (256 colours of
xterm); discs in the terminal's own two colours would look inverted on one of them.  Below the board words say how it
stands, which copied text keeps.
"""

from __future__ import annotations

from typing import Literal

from reversi.games.notation import PASS
from reversi.games.position import BLACK, EMPTY, WHITE, Position

Style = Literal["letters", "colours"]

_BOARD, _RESET = "\x1b[48;5;28m", "\x1b[0m"
_INK = {BLACK: 16, WHITE: 231, EMPTY: 34, "*": 120, "[": 226, "]": 226}
_COLOURS = str.maketrans(
    {letter: f"\x1b[38;5;{ink}m{'●' if letter in (BLACK, WHITE) else letter}" for letter, ink in _INK.items()}
    | {EMPTY: f"\x1b[38;5;{_INK[EMPTY]}m·"}
)


def draw(position: Position, style: Style, last: str | None = None, *, marks: bool = True) -> str:
    """Return the board in lines and, below it, the side to move or the result.

    last   the move that led here, marked by brackets
    marks  whether * marks the legal moves
    """
    header, *rows, _ = position.drawing(last, marks=marks).splitlines()
    if style == "colours":
        header = f" {header}"
        rows = [f"{row[0]} {_BOARD}{row[1:].translate(_COLOURS)} {_RESET}" for row in rows]
    return "\n".join((header, *rows, _standing(position, style)))


def side(*, black: bool, style: Style) -> str:
    """Return the name of a side with its disc, such as `Black (X)`."""
    disc = BLACK if black else WHITE
    if style == "colours":
        disc = f"{_BOARD}\x1b[38;5;{_INK[disc]}m ● {_RESET}"
    return f"{'Black' if black else 'White'} ({disc})"


def _standing(position: Position, style: Style) -> str:
    """Return the side to move and the number of discs, or the result."""
    black, white, counts = position.black.bit_count(), position.white.bit_count(), position.game.counts_discs
    if not position.is_over:
        does = "must pass" if position.legal_moves() == [PASS] else "to move"
        discs = f": {side(black=True, style=style)} {black}, {side(black=False, style=style)} {white}"
        return f"{'Black' if position.black_to_move else 'White'} {does}{discs if counts else ''}"
    score = f" {max(black, white)}-{min(black, white)}" if counts else ""
    if position.black_margin == 0:
        return f"Draw{score}."
    return f"{'Black' if position.black_margin > 0 else 'White'} wins{score}."
