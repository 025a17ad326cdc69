"""A position as a terminal shows it: in letters, in symbols, or in colours of its own.

Symbols take the terminal's two colours, so that on a dark background ● is the bright disc.  Colours are a green board
with black and white discs, the same on a dark background and on a light one (256 colours of xterm).
"""

from __future__ import annotations

from typing import Literal

from reversi.games.position import BLACK, EMPTY, WHITE, Position

Style = Literal["letters", "symbols", "colours"]

_SYMBOLS = str.maketrans({BLACK: "●", WHITE: "○", EMPTY: "·"})
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
    header, *rows, summary = position.drawing(last, marks=marks).splitlines()
    if style == "colours":
        rows = [f"{row[0]} {_BOARD}{row[1:].translate(_COLOURS)} {_RESET}" for row in rows]
        return "\n".join((f" {header}", *rows, _discs(summary, style)))
    return "\n".join((header, *(_discs(row, style) for row in rows), _discs(summary, style)))


def disc(*, black: bool, style: Style) -> str:
    """Return the disc of a side, for use in a line of text."""
    return _discs(BLACK if black else WHITE, style)


def _discs(text: str, style: Style) -> str:
    """Return `text` with the letters X, O and - drawn."""
    if style == "letters":
        return text
    if style == "symbols":
        return text.translate(_SYMBOLS)
    for letter in (BLACK, WHITE):
        text = text.replace(letter, f"{_BOARD}\x1b[38;5;{_INK[letter]}m ● {_RESET}")
    return text
