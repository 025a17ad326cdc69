"""Alpha-beta for front ends: values of all moves, limits, stops, and a clock."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

import pytest

from reversi.alphabeta.alphabeta import AlphaBeta
from reversi.analysis.alphabeta import AlphaBetaAnalyzer
from reversi.analysis.analyzer import Analysis, Analyzer, Limit, deepening
from reversi.analysis.solver import SolverAnalyzer
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.gtp import Gtp
from reversi.games.position import Position
from reversi.games.rules import game_named
from reversi.solver.solver import Solver
from tests.reversi.alphabeta.negamax import positions, tables_for
from tests.reversi.analysis.endgames import never
from tests.reversi.frontends.stubs import lines_of

MIDDLE = next(p for p in positions("reversi8", 20, seed=1) if 40 < p.empties < 50)


@functools.cache
def analyzer(name: str = "reversi8") -> AlphaBetaAnalyzer:
    return AlphaBetaAnalyzer("m", AlphaBeta(game_named(name), tables_for(name)), 0.1)


def test_every_move_has_a_value_a_margin_and_a_line() -> None:
    analysis = analyzer().analyse(MIDDLE, Limit(simulations=500), never)
    assert sorted(move.action for move in analysis.moves) == MIDDLE.legal_actions()
    discs = [move.discs or 0.0 for move in analysis.moves]
    assert discs == sorted(discs, reverse=True)
    for move in analysis.moves:
        assert move.value is not None
        assert -1 <= move.value <= 1
        assert move.value * (move.discs or 0.0) >= 0
        assert move.visits > 0
        assert move.line[0] == move.action
        assert move.margin(MIDDLE.game) == move.discs
    assert analysis.best.judgement(MIDDLE.game) == f"{discs[0]:+.1f} discs"
    assert not analysis.proven


def test_an_analysis_does_not_depend_on_those_before_and_grows_with_its_limit() -> None:
    first = analyzer().analyse(MIDDLE, Limit(simulations=200), never)
    analyzer().choose(MIDDLE, Limit(simulations=5000), never)
    again = analyzer().analyse(MIDDLE, Limit(simulations=200), never)
    assert first.moves == again.moves
    steps = list(deepening(analyzer(), MIDDLE, (64, 256, 1024), lambda done: False))
    assert [each.visits for each in steps] == sorted({each.visits for each in steps})
    assert len(steps) == 3


def test_the_end_is_exact() -> None:
    solver = Solver("reversi6")
    for position in (p for p in positions("reversi6", 40, seed=2) if p.empties <= 12):
        analysis = analyzer("reversi6").choose(position, Limit(seconds=5.0), never)
        assert analysis.best.score == solver.solve(position.own, position.opp).score
        assert analysis.proven
        assert analysis.best.certain


@pytest.mark.parametrize("every", [True, False])
def test_a_limit_of_time_and_a_stop_end_a_search_that_would_take_hours(every: bool) -> None:
    think = analyzer().analyse if every else analyzer().choose
    for limit in (Limit(), Limit(seconds=0.05), Limit(seconds=0.0)):
        assert think(MIDDLE, limit, never).best.action in MIDDLE.legal_actions()
    stopped = threading.Event()
    threading.Timer(0.1, stopped.set).start()
    assert think(MIDDLE, Limit(seconds=3600.0), stopped.is_set).best.action in MIDDLE.legal_actions()


class Noting:
    """An analyzer that notes the limits that it is given."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.name, self.game, self.uses_limit = analyzer.name, analyzer.game, analyzer.uses_limit
        self._analyzer, self.seconds = analyzer, list[float]()

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Analyse as the other does."""
        return self._analyzer.analyse(position, limit, stop)

    def choose(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Choose as the other does."""
        assert limit.seconds is not None
        self.seconds.append(limit.seconds)
        return self._analyzer.choose(position, limit, stop)


def test_a_game_over_gtp_divides_the_clock() -> None:
    """Both sides have 2.5 seconds for a game of 6x6, of which the engine is told nothing further."""
    noting = Noting(SolverAnalyzer(analyzer("reversi6"), 14))
    session = EngineSession(game_named("reversi6"), lambda game: noting, Limit())
    session.choose(never, Limit(seconds=0.01))
    noting.seconds.clear()
    gtp = Gtp(session, lines_of(""), lambda text: None)
    gtp._answer("", ["time_settings", "2.5", "0", "0"])
    moves = 0
    while not session.position.is_over:
        gtp._answer("", ["genmove", "black" if session.position.black_to_move else "white"])
        moves += 1
    assert moves > 20
    assert len(noting.seconds) > 15  # passes and single replies need no search
    assert 0 < noting.seconds[0] < 2.5 / 10  # an equal share for each move to come
    assert max(noting.seconds) < 2.5 / 2
