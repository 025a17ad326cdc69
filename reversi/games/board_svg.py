"""`board_svg`: a board as a picture, which looks the same on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

SQUARE, EDGE = 44, 24
"""Pixels of a square, and of the margin with the names of rows and columns and the caption."""

FELT, GRID, FRAME, INK = "#2a8657", "#1a5a39", "#20252b", "#f3f1ec"
DISCS = {"X": ("#16181c", "#000000"), "O": ("#fbf9f4", "#8d8a82")}
"""Fill and rim of a disc by its symbol."""

DISC, DOT = 0.41 * SQUARE, 0.12 * SQUARE
"""Radii of a disc and of the dot of a legal move."""


def board_svg(squares: str, size: int, marks: Mapping[int, str], caption: str) -> str:
    """Return the picture of a board of `size` by `size`.

    squares  a symbol for each, row 1 first: X and O are discs
    marks    what stands on empty squares, by action: X and O are dots in the colour of a disc, others are text
    caption  stands below the board, and is the picture's title for those who cannot see it
    """
    side = size * SQUARE
    width = side + 2 * EDGE
    centres = [EDGE + (i + 0.5) * SQUARE for i in range(size)]
    lines = "".join(f"M{EDGE} {at}h{side}M{at} {EDGE}v{side}" for at in range(EDGE + SQUARE, EDGE + side, SQUARE))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {width}" width="{width}" height="{width}" '
        f'role="img" font-family="sans-serif" font-size="13" text-anchor="middle"><title>{escape(caption)}</title>'
        f'<rect width="{width}" height="{width}" rx="8" fill="{FRAME}"/>'
        f'<rect x="{EDGE}" y="{EDGE}" width="{side}" height="{side}" fill="{FELT}"/>'
        f'<path d="{lines}" stroke="{GRID}" stroke-width="2"/>'
    ]
    for i, at in enumerate(centres):
        parts += [_text(at, EDGE / 2, "abcdefgh"[i]), _text(EDGE / 2, at, str(i + 1))]
    for action, symbol in enumerate(squares):
        row, column = divmod(action, size)
        x, y, mark = centres[column], centres[row], marks.get(action, "")
        if symbol in DISCS:
            parts.append(_disc(x, y, DISC, symbol))
        elif mark in DISCS:
            parts.append(_disc(x, y, DOT, mark))
        elif mark:
            parts.append(_text(x, y, mark))
    fitting = min(13, 1.7 * width / len(caption))
    return "".join([*parts, _text(width / 2, width - EDGE / 2, caption, f' font-size="{fitting:.3g}"'), "</svg>"])


def _disc(x: float, y: float, radius: float, symbol: str) -> str:
    fill, rim = DISCS[symbol]
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:.3g}" fill="{fill}" stroke="{rim}"/>'


def _text(x: float, y: float, text: str, more: str = "") -> str:
    """Return text whose middle is at (x, y); `dominant-baseline`, which would do that, is not known everywhere."""
    return f'<text x="{x:g}" y="{y + 4.5:g}" fill="{INK}"{more}>{escape(text)}</text>'
