"""What the tests of the protocols talk to: minds whose moves are known, and input that is given at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from reversi.errors import IncompatibleModelError
from reversi.frontends.lines import Lines
from reversi.frontends.mind import Budget, Judgement, Mind, SearchMind, Thought
from reversi.frontends.session import Session
from reversi.frontends.solving import SolvingMind
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.search.signature import HashEvaluator


class FirstMove:
    """Plays the first legal move and likes every other a bit less; keeps what it was allowed to spend."""

    name = "first"
    heeds_budget = True

    def __init__(self, game: Game) -> None:
        self.game = game
        self.budgets: list[Budget] = []
        self._thoughts: dict[Position, Thought] = {}

    def think(self, position: Position, budget: Budget, stop: Callable[[], bool], /) -> Thought:
        self.budgets.append(budget)
        if position not in self._thoughts:
            self._thoughts[position] = self._thought(position)
        return self._thoughts[position]

    def _thought(self, position: Position) -> Thought:
        moves = []
        for number, action in enumerate(position.legal_actions()):
            reply = position.play(action).legal_actions()[:1]
            moves.append(Judgement(action, 0.5 - number / 4, 10 - number, (action, *reply)))
        return Thought(tuple(moves), 20, 0.25)


class ThinksUntilStopped(FirstMove):
    """Thinks until it is stopped, or says after ten seconds that it was not."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.begun, self.stopped = threading.Event(), False

    def think(self, position: Position, budget: Budget, stop: Callable[[], bool], /) -> Thought:
        self.begun.set()
        for _ in range(10_000):
            if stop():
                self.stopped = True
                break
            threading.Event().wait(0.001)
        return super().think(position, budget, stop)


def session_of(
    name: str = "reversi4", mind: Callable[[Game], Mind] = FirstMove, budget: Budget | None = None
) -> Session:
    """Return a session on one board; there is no mind for 8x8."""

    def mind_of(game: Game) -> Mind:
        if game.size == 8:
            raise IncompatibleModelError("expected a smaller board, got reversi8")
        return mind(game)

    return Session(game_named(name), mind_of, budget or Budget())


def model_session(solve: int, budget: Budget) -> Session:
    """Return a 6x6 session as a model's: a search, and from so many empty squares on the solver before it."""

    def mind_of(game: Game) -> Mind:
        mind = SearchMind("hash", game, HashEvaluator(game), 20)
        return SolvingMind(mind, solve) if solve else mind

    return Session(game_named("reversi6"), mind_of, budget)


def lines_of(text: str | bytes | Iterable[bytes]) -> Lines:
    """Return input that arrives as it is given, and then ends."""
    if isinstance(text, str):
        text = text.encode()
    parts = iter([text] if isinstance(text, bytes) else text)
    return Lines(lambda: next(parts, b""))
