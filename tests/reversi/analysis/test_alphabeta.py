"""Alpha-beta for front ends: values of all moves, limits, stops, and a clock."""

from __future__ import annotations

import functools
import threading
import time

import pytest

from reversi.alphabeta.alphabeta import AlphaBeta
from reversi.analysis.alphabeta import AlphaBetaAnalyzer
from reversi.analysis.analyzer import Limit, deepening
from reversi.analysis.solver import SolverAnalyzer
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.gtp import Gtp
from reversi.frontends.nboard import _discs
from reversi.games.rules import Game, game_named
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
        assert _discs(MIDDLE.game, move) == move.discs
    assert analysis.best.judgement == f"value {analysis.value:+.3f}, {discs[0]:+.1f} discs"
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
def test_a_limit_of_time_and_a_stop_are_kept(every: bool) -> None:
    think = analyzer().analyse if every else analyzer().choose
    for limit, most_s in ((Limit(), 0.1), (Limit(seconds=0.05), 0.05), (Limit(seconds=0.0), 0.0)):
        begin_s = time.monotonic()
        assert think(MIDDLE, limit, never).best.action in MIDDLE.legal_actions()
        assert time.monotonic() - begin_s < most_s + 0.1
    stopped = threading.Event()
    threading.Timer(0.1, stopped.set).start()
    begin_s = time.monotonic()
    assert think(MIDDLE, Limit(seconds=60.0), stopped.is_set).best.action in MIDDLE.legal_actions()
    assert time.monotonic() - begin_s < 0.4


def test_a_game_over_gtp_keeps_to_the_clock() -> None:
    """Both sides have 2.5 seconds for a game of 6x6, of which the engine is told nothing further."""

    def analyzer_of(game: Game) -> SolverAnalyzer:
        return SolverAnalyzer(analyzer(game.name), 14)

    session = EngineSession(game_named("reversi6"), analyzer_of, Limit())
    session.choose(never, Limit(seconds=0.01))
    spent_s, said = {True: 0.0, False: 0.0}, list[str]()
    gtp = Gtp(session, lines_of(""), said.append)
    gtp._answer("", ["time_settings", "2.5", "0", "0"])
    while not session.position.is_over:
        black, begin_s = session.position.black_to_move, time.monotonic()
        gtp._answer("", ["genmove", "black" if black else "white"])
        spent_s[black] += time.monotonic() - begin_s
    assert max(spent_s.values()) < 2.5
    assert min(spent_s.values()) > 0.5
