"""Analyses before and after a move, and what it lost by them: the same for Python's review and the page's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Before = Sequence[tuple[str, float | None, int | None]]
"""Moves, best first, with value and score."""


@dataclass(frozen=True)
class Grading:
    """The grading of the move c2 of 6x6's start."""

    before: Before
    after: Before | None
    """Of the position after c2; None if it was not analysed."""
    result: float | None
    """What was lost of the expected result; None if that is not known."""
    discs: int | None = None
    best: str | None = None
    mark: str = ""
    certain: Sequence[str] = ()
    """Moves before whose values are proven."""


AFTER = "d2"
"""A move after c2."""

GRADINGS = (
    Grading([("b3", None, 4), ("c2", None, -6)], None, 2, 10, "b3", "??"),
    Grading([("b3", 1, 4), ("c2", -1, -6)], None, 2, 10, "b3", "??"),
    Grading([("b3", 1, 4), ("c2", 0, 0)], None, 1, 4, "b3", "?"),
    Grading([("b3", 1, 14), ("c2", 1, 4)], None, 0, 10, "b3", "?!"),
    Grading([("b3", 1, 12), ("c2", 1, 4)], None, 0, 8, "b3", ""),
    Grading([("b3", 1, 4), ("c2", 1, 4)], None, 0, 0, None, ""),
    Grading([("b3", 0.75, None), ("c2", 0.5, None)], [(AFTER, 1, 2)], 1.75, None, "b3", "??"),
    Grading([("b3", 0.5, None), ("c2", 0.5, None)], [(AFTER, 0.25, None)], 0.75, None, "b3", "?"),
    Grading([("b3", 0.25, None), ("c2", 0.5, None)], [(AFTER, 0.125, None)], 0.375, None, "b3", ""),
    Grading([("b3", 0.25, None), ("c2", 0.5, None)], [(AFTER, -0.5, None)], 0, None, "b3", ""),
    Grading([("c2", 0.5, None)], [(AFTER, 1, 2)], 0, None, None, ""),
    Grading([("b3", 0.5, None), ("c2", 0.5, None)], None, None),
    Grading([("b3", 1, None), ("c2", -1, None)], None, 2, None, "b3", "??", certain=("b3", "c2")),
    Grading([("b3", 1, None), ("c2", 0, None)], [(AFTER, 0.5, None)], 1, None, "b3", "?", certain=("b3", "c2")),
    Grading([("b3", 0, None), ("c2", 0, None)], [(AFTER, 0.5, None)], 0, None, None, "", certain=("b3", "c2")),
    Grading([("b3", 1, None), ("c2", 0.75, None)], [(AFTER, -0.75, None)], 0.25, None, "b3", "", certain=("b3",)),
)
