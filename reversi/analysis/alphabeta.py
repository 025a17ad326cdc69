"""`AlphaBetaAnalyzer`: alpha-beta over a model's margin, for front ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reversi.alphabeta.alphabeta import AlphaBeta, Found
from reversi.analysis.analyzer import UNLIMITED, Analysis, Limit, MoveAnalysis, with_images
from reversi.analysis.stoppable import until_stopped
from reversi.games.position import Position
from reversi.games.symmetry import are_first
from reversi.patterns.tables import DISC
from reversi.players import NODES_PER_SIMULATION


class AlphaBetaAnalyzer:
    """Searches with alpha-beta; can be stopped at any time."""

    uses_limit = True

    def __init__(self, name: str, search: AlphaBeta, seconds: float) -> None:
        """`seconds` are the default without a limit."""
        self.name, self.game = name, search.game
        self._search, self._seconds = search, seconds

    def analyse(
        self, position: Position, limit: Limit = UNLIMITED, stop: Callable[[], bool] = lambda: False, /
    ) -> Analysis:
        """Search every move until the limit is reached or `stop` is true; earlier searches have no influence."""
        return self._analyse(True, position, limit, stop)

    def choose(
        self, position: Position, limit: Limit = UNLIMITED, stop: Callable[[], bool] = lambda: False, /
    ) -> Analysis:
        """Search for the best move, the only one of the result, with what the moves before have left in the table."""
        return self._analyse(False, position, limit, stop)

    def _analyse(self, every: bool, position: Position, limit: Limit, stop: Callable[[], bool]) -> Analysis:
        position.expect_game(self.game)
        search, own, opp = self._search, position.own, position.opp
        seconds = self._seconds if limit == UNLIMITED else limit.seconds
        nodes = None if limit.simulations is None else NODES_PER_SIMULATION * limit.simulations

        def work() -> Found:
            first = are_first(position.game, own, opp)
            actions = [action for action in position.legal_actions() if first[action] or not every]
            return search.run(own, opp, nodes=nodes, seconds=seconds, every=every, actions=actions, fresh=every)

        found = until_stopped(work, stop, search.stop)
        moves = with_images(position, self._moves(position, found)) if every else (next(self._moves(position, found)),)
        return Analysis(moves, found.nodes, found.seconds, moves[0].value, proven=found.exact)

    def _moves(self, position: Position, found: Found) -> Iterator[MoveAnalysis]:
        """Yield the moves that were searched, best first; without `every` only the first has a value."""
        search, own, opp = self._search, position.own, position.opp
        for i, action in enumerate(found.actions):
            value, visits, line = found.values[i], found.nodes_after[i], search.line(own, opp, action)
            if found.exact:
                score = value // DISC
                result = float((score > 0) - (score < 0))
                yield MoveAnalysis(action, result, visits, line, score=score, certain=True)
            else:
                result = search.expected_result(own, opp, value)
                yield MoveAnalysis(action, result, visits, line, discs=value / DISC)
