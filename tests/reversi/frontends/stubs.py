"""What the tests of the protocols talk to: analyzers whose moves are known, and input that is given at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from reversi.analysis.analyzer import Analysis, Analyzer, Limit, MoveAnalysis, SearchAnalyzer
from reversi.analysis.solver import SolverAnalyzer
from reversi.errors import IncompatibleModelError
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.input_lines import InputLines
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.search.signature import HashEvaluator


class FirstMove:
    """Plays the first legal move and likes every other a bit less; keeps what it was allowed to spend."""

    name = "first"
    uses_limit = True

    def __init__(self, game: Game) -> None:
        self.game = game
        self.limits: list[Limit] = []
        self._analyses: dict[Position, Analysis] = {}

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        self.limits.append(limit)
        if position not in self._analyses:
            self._analyses[position] = self._analysis(position)
        return self._analyses[position]

    def choose(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        return self.analyse(position, limit, stop)

    def _analysis(self, position: Position) -> Analysis:
        moves = []
        for number, action in enumerate(position.legal_actions()):
            reply = position.play(action).legal_actions()[:1]
            moves.append(MoveAnalysis(action, 0.5 - number / 4, 10 - number, (action, *reply)))
        return Analysis(tuple(moves), 20, 0.25)


class ThinksUntilStopped(FirstMove):
    """Thinks until it is stopped, or says after ten seconds that it was not."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.begun, self.stopped = threading.Event(), False

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        self.begun.set()
        for _ in range(10_000):
            if stop():
                self.stopped = True
                break
            threading.Event().wait(0.001)
        return super().analyse(position, limit, stop)


def session_of(
    name: str = "reversi4", analyzer: Callable[[Game], Analyzer] = FirstMove, limit: Limit | None = None
) -> EngineSession:
    """Return a session on one board; there is no analyzer for 8x8."""

    def analyzer_of(game: Game) -> Analyzer:
        if game.size == 8:
            raise IncompatibleModelError("expected a smaller board, got reversi8")
        return analyzer(game)

    return EngineSession(game_named(name), analyzer_of, limit or Limit())


def model_session(solve: int, limit: Limit) -> EngineSession:
    """Return a 6x6 session as a model's: a search, and from so many empty squares on the solver before it."""

    def analyzer_of(game: Game) -> Analyzer:
        analyzer = SearchAnalyzer("hash", game, HashEvaluator(game), 20)
        return SolverAnalyzer(analyzer, solve) if solve else analyzer

    return EngineSession(game_named("reversi6"), analyzer_of, limit)


def lines_of(text: str | bytes | Iterable[bytes]) -> InputLines:
    """Return input that arrives as it is given, and then ends."""
    if isinstance(text, str):
        text = text.encode()
    parts = iter([text] if isinstance(text, bytes) else text)
    return InputLines(lambda: next(parts, b""))
