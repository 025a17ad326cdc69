"""`EngineSession`: the game that another program plays with us: moves, undo, and its analyzer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reversi.analysis.analyzer import Analysis, Analyzer, Limit
from reversi.games.passes import plies_of
from reversi.games.position import Position
from reversi.games.rules import Game

AnalyzerOf = Callable[[Game], Analyzer]
"""Returns a new analyzer for a game, or raises a ReversiError if there is none."""


class EngineSession:
    """A game with moves, undo and replacement, and an analyzer for its board size."""

    def __init__(self, game: Game, analyzer_of: AnalyzerOf, limit: Limit) -> None:
        """`limit` is the default of `analyse` and `choose`; raises what `analyzer_of` raises."""
        self.limit = limit
        self._analyzer_of = analyzer_of
        self._analyzers = {game.name: analyzer_of(game)}
        self.begin(Position.start(game))

    @property
    def position(self) -> Position:
        """The current position."""
        return self.positions[-1]

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the current game."""
        return self._analyzers[self.position.game.name]

    def begin(self, start: Position, actions: Iterable[int] = ()) -> None:
        """Begin a new game at `start` and play `actions`, passes included; raises if there is no analyzer for it."""
        game = start.game
        if game.name not in self._analyzers:
            self._analyzers[game.name] = self._analyzer_of(game)
        self.positions: list[Position] = [start]
        """Every position of the game, from the start to the current one."""
        self._steps: list[int] = []
        for action in actions:
            self._take([action])

    def play(self, action: int, black: bool | None = None, written: str | None = None) -> None:
        """Play a move, after a pass if the move implies one (see `plies_of`); raises IllegalMoveError."""
        self._take(plies_of(self.position, action, black, written))

    def undo(self) -> bool:
        """Take the last move back, with the pass that it implied; False if there is none."""
        if not self._steps:
            return False
        plies = self._steps.pop()
        del self.positions[len(self.positions) - plies :]
        return True

    def analyse(self, stop: Callable[[], bool], limit: Limit | None = None) -> Analysis:
        """Return the analysis of every move of the current position, which must not be over."""
        return self.analyzer.analyse(self.position, limit or self.limit, stop)

    def choose(self, stop: Callable[[], bool], limit: Limit | None = None) -> Analysis:
        """Return the analysis with the move to play; a forced move is not analysed, and after the end it is a pass."""
        legal = self.position.legal_actions() or [self.position.game.pass_action]
        if len(legal) == 1:
            return Analysis.of_move(legal[0])
        return self.analyzer.choose(self.position, limit or self.limit, stop)

    def _take(self, plies: list[int]) -> None:
        for action in plies:
            self.positions.append(self.position.play(action))
        self._steps.append(len(plies))
