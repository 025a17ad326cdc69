"""What a file tells of its games: players, place and result, in one line."""

from __future__ import annotations

import math

from reversi.formats.ggf import ENDINGS as GGF_ENDINGS
from reversi.formats.ggf import GgfResult
from reversi.formats.sgf import ENDINGS as SGF_ENDINGS
from reversi.formats.sgf import SgfResult

LONGEST_NAME = 80
"""Characters of a name that are shown."""


def title_of(black: str, white: str, place: str, result: str) -> str:
    """Return the players, the place and the result, as far as they are known."""
    black, white, place, result = map(shown, (black, white, place, result))
    players = f"{black or '?'} - {white or '?'}" if black or white else ""
    return ", ".join(part for part in (players, place, result) if part)


def shown(name: str) -> str:
    """Return the beginning of a name, without what a terminal would obey."""
    printable = "".join(letter if letter.isprintable() else " " for letter in name[:LONGEST_NAME])
    return " ".join(printable.split())


def described(result: GgfResult | SgfResult | None) -> str:
    """Describe the result of a game that was not played to its end."""
    if result is None:
        return ""
    margin = result.black_margin
    winner = "a draw" if margin == 0 else f"{'Black' if margin > 0 else 'White'} wins"
    by = f" by {abs(margin):g}" if margin and math.isfinite(margin) else ""
    loser = "they" if result.how == "s" or margin == 0 else "White" if margin > 0 else "Black"
    return f"{winner}{by}" + (f": {loser} {(GGF_ENDINGS | SGF_ENDINGS)[result.how]}" if result.how else "")
