"""The margin that a move can be expected to lead to: exact, a model's own, or one that follows from its value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # command lines read the review before they need any of these
    from reversi.analysis.analyzer import MoveAnalysis
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


def margin_of(game: Game, move: MoveAnalysis) -> float | None:
    """Return a move's margin in discs for the side to move, exact if it is solved; None if nothing is known."""
    if move.score is not None:
        return float(move.score)
    if move.discs is not None:
        return move.discs
    return None if move.value is None else discs_of(game, move.value)
