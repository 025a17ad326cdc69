"""`Session`: one game as another program plays it with us: its plies, undo, and the mind that thinks about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reversi.frontends.mind import Budget, Judgement, Mind, Thought
from reversi.games.passes import plies_of
from reversi.games.position import Position
from reversi.games.rules import Game

MindOf = Callable[[Game], Mind]
"""Makes the mind for a game, or raises a ReversiError if there is none."""


class Session:
    """A game that can be played on, taken back and replaced, and a mind for whichever board it is played on."""

    def __init__(self, game: Game, mind_of: MindOf, budget: Budget) -> None:
        """`budget` is what every move may spend, unless `think` is told otherwise; raises what `mind_of` raises."""
        self.budget = budget
        self._mind_of = mind_of
        self._minds = {game.name: mind_of(game)}
        self.begin(Position.start(game))

    @property
    def position(self) -> Position:
        """Where the game stands."""
        return self.positions[-1]

    @property
    def mind(self) -> Mind:
        """What thinks about this game."""
        return self._minds[self.position.game.name]

    def begin(self, start: Position, actions: Iterable[int] = ()) -> None:
        """Begin a new game at `start` and play `actions`, every pass included; raises if there is no mind for it."""
        game = start.game
        if game.name not in self._minds:
            self._minds[game.name] = self._mind_of(game)
        self.positions: list[Position] = [start]
        """Every position of the game, the first and the one that stands now included."""
        self._steps: list[int] = []
        for action in actions:
            self._take([action])

    def play(self, action: int, black: bool | None = None) -> None:
        """Play a move, and before it a pass that it implies (see `plies_of`); raises IllegalMoveError."""
        self._take(plies_of(self.position, action, black))

    def undo(self) -> bool:
        """Take the last move back with the pass that it implied; False if there is none."""
        if not self._steps:
            return False
        plies = self._steps.pop()
        del self.positions[len(self.positions) - plies :]
        return True

    def think(self, stop: Callable[[], bool], budget: Budget | None = None) -> Thought:
        """Return what the mind thinks of where the game stands, which is not over."""
        return self.mind.think(self.position, budget or self.budget, stop)

    def choose(self, stop: Callable[[], bool], budget: Budget | None = None) -> Thought:
        """Return the move to play; one that is forced is not thought about, and after the end it is a pass."""
        legal = self.position.legal_actions() or [self.position.game.pass_action]
        if len(legal) == 1:
            return Thought((Judgement(legal[0], line=(legal[0],)),), 0, 0.0)
        return self.think(stop, budget)

    def _take(self, plies: list[int]) -> None:
        for action in plies:
            self.positions.append(self.position.play(action))
        self._steps.append(len(plies))
