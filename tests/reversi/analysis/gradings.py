"""Analyses before and after a move, and what it lost by them: for the review of a game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reversi.analysis.margin import discs_of
from reversi.games.rules import GAMES

GAME = GAMES["reversi6"]

Before = Sequence[tuple[str, float | None, int | None]]
"""Moves, best first, with value and score."""


@dataclass(frozen=True)
class Grading:
    """The grading of the move c2 of 6x6's start."""

    before: Before
    after: Before | None
    """Of the position after c2; None if it was not analysed."""
    result: float | None
    """What was lost of the expected result; None if nothing is known."""
    discs: float | None = None
    best: str | None = None
    mark: str = ""
    certain: Sequence[str] = ()
    """Moves before whose values are proven."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """Margins that the search expects."""


AFTER = "d2"
"""A move after c2."""


def estimate(*values: float) -> float:
    """Return the sum of the margins that follow from values."""
    return sum(discs_of(GAME, value) for value in values)


GRADINGS = (
    Grading([("b3", None, 4), ("c2", None, -6)], None, 2, 10, "b3", "??"),
    Grading([("b3", 1, 4), ("c2", -1, -6)], None, 2, 10, "b3", "??"),
    Grading([("b3", 1, 4), ("c2", 0, 0)], None, 1, 4, "b3", "?"),
    Grading([("b3", 1, 16), ("c2", 1, 4)], None, 0, 12, "b3", "??"),
    Grading([("b3", -1, -4), ("c2", -1, -15)], None, 0, 11, "b3", "?"),
    Grading([("b3", -1, -4), ("c2", -1, -10)], None, 0, 6, "b3", "?"),
    Grading([("b3", -1, -4), ("c2", -1, -7)], None, 0, 3, "b3", "?!"),
    Grading([("b3", 1, 6), ("c2", 1, 4)], None, 0, 2, "b3", ""),
    Grading([("b3", 1, 4), ("c2", 1, 4)], None, 0, 0, None, ""),
    Grading([("b3", 0.5, None), ("c2", -0.25, None)], None, 0.75, 9.5, "b3", "?", margins={"b3": 6, "c2": -3.5}),
    Grading([("b3", 0.5, None), ("c2", -1, None)], None, 1.5, 2.5, "b3", "", margins={"b3": 1, "c2": -1.5}),
    Grading([("c2", 0.5, None), ("b3", 0.25, None)], None, 0, 0, None, "", margins={"c2": 6, "b3": -3.5}),
    Grading([("b3", 0.75, None), ("c2", 0.5, None)], [(AFTER, 1, 2)], 1.75, estimate(0.75) + 2, "b3", "?"),
    Grading([("b3", 0.5, None), ("c2", 0.5, None)], [(AFTER, 0.25, None)], 0.75, estimate(0.5, 0.25), "b3", "?!"),
    Grading([("b3", 0.25, None), ("c2", 0.5, None)], [(AFTER, 0.125, None)], 0.375, estimate(0.25, 0.125), "b3", ""),
    Grading([("b3", 0.25, None), ("c2", 0.5, None)], [(AFTER, -0.5, None)], 0, 0, "b3", ""),
    Grading([("c2", 0.5, None)], [(AFTER, 1, 2)], 0, 0, None, ""),
    Grading([("b3", 0.5, None), ("c2", 0.5, None)], None, None),
    Grading([("b3", 1, None), ("c2", -1, None)], None, 2, None, "b3", "??", certain=("b3", "c2")),
    Grading([("b3", 1, None), ("c2", 0, None)], [(AFTER, 0.5, None)], 1, None, "b3", "?", certain=("b3", "c2")),
    Grading([("b3", 0, None), ("c2", 0, None)], [(AFTER, 0.5, None)], 0, None, None, "", certain=("b3", "c2")),
    Grading([("b3", 1, None), ("c2", 0.75, None)], [(AFTER, -0.75, None)], 0.25, None, "b3", "", certain=("b3",)),
)
