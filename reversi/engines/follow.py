"""Reconstructs the moves of a game that led to a position, from the positions requested before."""

from __future__ import annotations

from reversi.errors import EngineError
from reversi.games.position import Position
from reversi.games.rules import Game

REACH = 2
"""Maximum moves between two requested positions: one of each side.  A pass gives one back: whoever asks for no move
where only a pass is legal asks again after the pass and one more move."""


class Follower:
    """Follows one game through its positions; undone moves are supported."""

    def __init__(self, game: Game) -> None:
        self._start = Position.start(game)
        self._history: list[int] = []

    def history_of(self, own: int, opp: int) -> list[int]:
        """Return actions that lead from the start to the position, through the latest earlier position possible.

        Raises EngineError if the position is further than REACH moves from all positions of the game so far.
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
    """Return actions that lead to the position (own, opp) and place at most `reach` discs, one more after each pass.

    None if there are none.
    """
    if (position.own, position.opp) == (own, opp):
        return []
    missing = (own | opp).bit_count() - (position.own | position.opp).bit_count()
    if missing < 0:
        return None
    for action in position.legal_actions():
        cost = -1 if action == position.game.pass_action else 1
        if cost < 0 or (missing and reach):
            rest = _way(position.play(action), own, opp, reach - cost)
            if rest is not None:
                return [action, *rest]
    return None
