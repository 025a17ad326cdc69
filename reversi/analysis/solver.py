"""`SolverAnalyzer`: exact scores where few squares are empty, another analyzer elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from reversi.analysis.analyzer import Analysis, Analyzer, Limit, MoveAnalysis
from reversi.analysis.exact import exact_moves
from reversi.analysis.stoppable import until_stopped
from reversi.games.position import Position
from reversi.solver.solver import Solver

MOST_S = 2.0
"""Longest time for a solve; half of the limit's seconds if that is less.  An unsolved position is searched."""

REMEMBERED = 256
"""Most unsolved positions that are remembered, the newest: those of several games."""


class SolverAnalyzer:
    """Scores every move exactly if at most `empties` squares are empty and the time suffices, else uses `analyzer`.

    Scores are for the side to move.  A position that was not solved in a time is not tried again in as much or less:
    a front end that asks for ever deeper analyses of it loses that time once.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        empties: int,
        *,
        choose_empties: int | None = None,
        winner_takes_empties: bool = True,
        nodes: int | None = None,
    ) -> None:
        """Solve from `empties` empty squares on in `analyse`.

        choose_empties        the same for `choose`; None is `empties`
        winner_takes_empties  gives the squares left empty to the winner, as is usual in Othello programs; without it
                              they count for nobody
        nodes                 most positions that the solver searches for one, in place of a time limit, so that what is
                              solved does not depend on the machine
        """
        self.name, self.game, self.uses_limit = analyzer.name, analyzer.game, analyzer.uses_limit
        self._analyzer, self._empties, self._nodes = analyzer, empties, nodes
        self._choose_empties = empties if choose_empties is None else choose_empties
        self._solver = Solver(analyzer.game, winner_takes_empties=winner_takes_empties)
        self._unsolved: dict[Position, float] = {}
        """The seconds that did not suffice, oldest first."""

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Solve the position, or use the rest of the limit for the other analyzer."""
        if position.empties > self._empties:
            return self._analyzer.analyse(position, limit, stop)
        return self._solved(position, limit, stop, self._analyzer.analyse, lines=True)

    def choose(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Do as `analyse`; only the best move has its line of perfect play."""
        if position.empties > self._choose_empties:
            return self._analyzer.choose(position, limit, stop)
        return self._solved(position, limit, stop, self._analyzer.choose, lines=False)

    def _solved(
        self,
        position: Position,
        limit: Limit,
        stop: Callable[[], bool],
        otherwise: Callable[[Position, Limit, Callable[[], bool]], Analysis],
        lines: bool,
    ) -> Analysis:
        position.expect_game(self.game)
        start_s = time.monotonic()
        most_s = math.inf if self._nodes else MOST_S if limit.seconds is None else min(MOST_S, limit.seconds / 2)
        if most_s <= self._unsolved.get(position, -1.0):
            return otherwise(position, limit, stop)
        moves, nodes = self._solve(position, most_s, stop, lines)
        spent_s = time.monotonic() - start_s
        if moves:
            return Analysis(moves, nodes, spent_s, moves[0].value, proven=True)
        if spent_s >= most_s:  # else it was stopped
            self._remember(position, most_s)
        left_s = None if limit.seconds is None else max(0.0, limit.seconds - spent_s)
        analysis = otherwise(position, Limit(limit.simulations, left_s), stop)
        return replace(analysis, seconds=spent_s + analysis.seconds)

    def _remember(self, position: Position, seconds: float) -> None:
        """Note that the position was not solved in so many seconds."""
        self._unsolved.pop(position, None)
        self._unsolved[position] = seconds
        if len(self._unsolved) > REMEMBERED:
            del self._unsolved[next(iter(self._unsolved))]

    def _solve(
        self, position: Position, most_s: float, stop: Callable[[], bool], lines: bool
    ) -> tuple[tuple[MoveAnalysis, ...], int]:
        return until_stopped(
            lambda: exact_moves(
                self._solver, position, nodes=self._nodes, seconds=None if self._nodes else most_s, lines=lines
            ),
            stop,
            self._solver.stop,
        )
