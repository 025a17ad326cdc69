"""What a page can select: opponents and an analyzer, those of the newest champion, and of those it replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reversi.analysis.analyzer import Analyzer, Limit
from reversi.analysis.review import Reviewer
from reversi.errors import UsageError
from reversi.games.rules import Game

KEPT = 3
"""Selections that are kept, the newest included: games that began against an older model go on against it."""


@dataclass(frozen=True)
class Opponent:
    """An opponent that the page offers."""

    name: str
    """How the page asks for it."""
    label: str
    """How the page shows it."""
    analyzer: Analyzer
    limit: Limit
    model: int | None = None
    """The version of its model, None for a player without one."""

    def as_json(self) -> dict[str, Any]:
        """Return the opponent as the page gets it."""
        return {"name": self.name, "label": self.label, "model": self.model}


@dataclass(frozen=True)
class Selection:
    """The opponents and the analyzer that a page can use at one time."""

    opponents: Sequence[Opponent]
    default: str
    """The opponent that the page selects first."""
    name: str
    """What the page says that plays."""
    analyzer: Analyzer | None = None
    """Without one nothing can be analysed."""
    reviewer: Reviewer | None = None
    """Without one no game can be reviewed."""

    def __post_init__(self) -> None:
        assert self.find(self.default) is not None

    @property
    def game(self) -> Game:
        """The game that is played."""
        return self.opponents[0].analyzer.game

    def find(self, name: str) -> Opponent | None:
        """Return the opponent of that name, if it is offered."""
        return next((opponent for opponent in self.opponents if opponent.name == name), None)


class Selections:
    """The current selection, and the last ones before it."""

    def __init__(self, selection: Selection) -> None:
        self._selections = [selection]

    @property
    def current(self) -> Selection:
        """The newest selection."""
        return self._selections[0]

    def replace(self, selection: Selection) -> None:
        """Make another selection the current one."""
        self._selections = [selection, *self._selections][:KEPT]

    def opponent(self, name: str, model: int | None) -> Opponent:
        """Return an opponent with that version of its model, or, if it is None or no longer kept, with the newest.

        Raises UsageError if no such opponent is offered.
        """
        newest = self.current.find(name)
        if newest is None:
            names = ", ".join(opponent.name for opponent in self.current.opponents)
            raise UsageError(f"expected one of {names}, got {name!r}")
        opponents = (selection.find(name) for selection in self._selections)
        return next((each for each in opponents if each is not None and each.model == model), newest)
