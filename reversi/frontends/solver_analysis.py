"""`SolverAnalyzer`: exact scores where few squares are empty, another analyzer elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from reversi.frontends.analysis import Analysis, Analyzer, Limit, MoveAnalysis
from reversi.games.position import Position
from reversi.search.endgame import Solution, Solver

MOST_S = 2.0
"""Longest time for a solve; half of the limit's seconds if that is less.  An unsolved position is searched."""

POLL_S = 0.002
"""Interval at which a running solve checks `stop`."""


class SolverAnalyzer:
    """Scores every move exactly if at most `empties` squares are empty and the time suffices, else uses `analyzer`.

    Scores are for the side to move.  `winner_takes_empties` gives the squares left empty to the winner, as is usual in
    Othello programs; without it they count for nobody.
    """

    def __init__(self, analyzer: Analyzer, empties: int, *, winner_takes_empties: bool = True) -> None:
        self.name, self.game, self.uses_limit = analyzer.name, analyzer.game, analyzer.uses_limit
        self._analyzer, self._empties = analyzer, empties
        self._solver = Solver(analyzer.game, winner_takes_empties=winner_takes_empties)

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Solve the position, or use the rest of the limit for the other analyzer."""
        if position.empties > self._empties:
            return self._analyzer.analyse(position, limit, stop)
        start_s = time.monotonic()
        end_s = start_s + (MOST_S if limit.seconds is None else min(MOST_S, limit.seconds / 2))
        found = self._solve(position, True, end_s, stop)
        if found.solved:
            line = tuple(self._line(position, found, end_s, stop))
            moves = sorted(found.moves.items(), key=lambda move: (-move[1], move[0] != found.best))
            scored = (MoveAnalysis(a, None, 0, line if a == found.best else (a,), score) for a, score in moves)
            return Analysis(tuple(scored), found.nodes, time.monotonic() - start_s)
        spent_s = time.monotonic() - start_s
        left_s = None if limit.seconds is None else max(0.0, limit.seconds - spent_s)
        analysis = self._analyzer.analyse(position, Limit(limit.simulations, left_s), stop)
        return Analysis(analysis.moves, found.nodes + analysis.nodes, spent_s + analysis.seconds)

    def _line(self, position: Position, found: Solution, end_s: float, stop: Callable[[], bool]) -> list[int]:
        """Return perfect play of both sides, as far as the time suffices."""
        line = []
        while found.best is not None:
            line.append(found.best)
            position = position.play(found.best)
            found = self._solve(position, False, end_s, stop)
        return line

    def _solve(self, position: Position, every: bool, end_s: float, stop: Callable[[], bool]) -> Solution:
        """Solve in a thread, which ends within milliseconds of `end_s`, `stop` or Ctrl-C."""
        solve = self._solver.solve_moves if every else self._solver.solve
        found: list[Solution] = []
        left_s = max(0.0, end_s - time.monotonic())
        thread = threading.Thread(
            target=lambda: found.append(solve(position.own, position.opp, seconds=left_s)), name="solver", daemon=True
        )
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_S)
                if stop():
                    self._solver.stop()
        finally:
            self._solver.stop()
            thread.join()
        return found[0]
