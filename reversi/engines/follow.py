"""How a game came to a position, found from the positions that were asked about before."""

from __future__ import annotations

from reversi.errors import EngineError
from reversi.games.position import Position
from reversi.games.rules import Game

REACH = 2
"""Moves between two positions asked about, passes not counted: one's own and the other side's."""


class Follower:
    """Follows one game through its positions; taking moves back is allowed."""

    def __init__(self, game: Game) -> None:
        self._start = Position.start(game)
        self._history: list[int] = []

    def history_of(self, own: int, opp: int) -> list[int]:
        """Return actions that lead from the start to the position, by way of one asked about before if possible.

        Raises EngineError if it is further than REACH moves from all of them and from the start.
        """
        line = [self._start]
        for action in self._history:
            line.append(line[-1].play(action))
        for ply in range(len(self._history), -1, -1):
            rest = _way(line[ply], own, opp, REACH)
            if rest is not None:
                self._history = [*self._history[:ply], *rest]
                return list(self._history)
        raise EngineError(
            f"expected a position at most {REACH} moves after one of the same game, got "
            f"{str(Position(self._start.game, own, opp))!r} (as Black's move); such a program follows games"
        )


def _way(position: Position, own: int, opp: int, reach: int) -> list[int] | None:
    """Return actions that lead to the position (own, opp) and put at most `reach` discs down, or None."""
    if (position.own, position.opp) == (own, opp):
        return []
    missing = (own | opp).bit_count() - (position.own | position.opp).bit_count()
    if not 0 <= missing <= reach:
        return None
    for action in position.legal_actions():
        if action == position.game.pass_action or missing:
            rest = _way(position.play(action), own, opp, reach)
            if rest is not None:
                return [action, *rest]
    return None
