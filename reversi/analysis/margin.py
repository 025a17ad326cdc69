"""The margin that follows from a value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # command lines read the review before they need it
    from reversi.games.rules import Game

SUREST = 0.99
"""Values beyond it are clipped before the conversion to discs: a won game says nothing about the margin."""


def discs_of(game: Game, value: float) -> float:
    """Convert a value of -1 to 1 to discs, by a logistic model of winning.

    The model: a player ahead by d discs wins with probability 1 / (1 + exp(-d / s)), s = N*N / 16 discs, which is 4 on
    8x8; `value` is twice that probability minus 1.  Increases with the value up to `SUREST`, where it is 21 on 8x8; 0
    for 0.
    """
    return game.squares / 8 * math.atanh(max(-SUREST, min(SUREST, value)))
