"""`SolvingMind`: another mind, but where few squares are empty the exact solver takes its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from reversi.frontends.mind import Budget, Judgement, Mind, Thought
from reversi.games.position import Position
from reversi.search.endgame import Solution, Solver

MOST_S = 2.0
"""Time that is given to a solution at most; half of the budget's, if that is less.  What is not solved is searched."""

POLL_S = 0.002
"""How often a solution that is under way is asked whether it is still wanted."""


class SolvingMind:
    """Scores every move exactly if no more than `empties` squares are empty and there is time, else asks `mind`.

    Scores are for the side to move; the winner takes the squares that stay empty, as Othello programs count.
    """

    def __init__(self, mind: Mind, empties: int) -> None:
        self.name, self.game, self.heeds_budget = mind.name, mind.game, mind.heeds_budget
        self._mind, self._empties = mind, empties
        self._solver = Solver(mind.game, winner_takes_empties=True)

    def think(self, position: Position, budget: Budget, stop: Callable[[], bool], /) -> Thought:
        """Solve the position; or spend what is left of the budget on the other mind's thoughts."""
        if position.game.squares - (position.own | position.opp).bit_count() > self._empties:
            return self._mind.think(position, budget, stop)
        start_s = time.monotonic()
        end_s = start_s + (MOST_S if budget.seconds is None else min(MOST_S, budget.seconds / 2))
        found = self._solve(position, True, end_s, stop)
        if found.solved:
            line = tuple(self._line(position, found, end_s, stop))
            moves = sorted(found.moves.items(), key=lambda move: (-move[1], move[0] != found.best))
            judged = (Judgement(a, None, 0, line if a == found.best else (a,), score) for a, score in moves)
            return Thought(tuple(judged), found.nodes, time.monotonic() - start_s)
        spent_s = time.monotonic() - start_s
        left_s = None if budget.seconds is None else max(0.0, budget.seconds - spent_s)
        thought = self._mind.think(position, Budget(budget.simulations, left_s), stop)
        return Thought(thought.moves, found.nodes + thought.nodes, spent_s + thought.seconds)

    def _line(self, position: Position, found: Solution, end_s: float, stop: Callable[[], bool]) -> list[int]:
        """Return perfect play for both sides, as far as there is time to find it."""
        line = []
        while found.best is not None:
            line.append(found.best)
            position = position.play(found.best)
            found = self._solve(position, False, end_s, stop)
        return line

    def _solve(self, position: Position, every: bool, end_s: float, stop: Callable[[], bool]) -> Solution:
        """Solve in a thread, which ends within milliseconds of `end_s`, of `stop` or of Ctrl-C."""
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
