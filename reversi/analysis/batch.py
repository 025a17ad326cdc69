"""`BatchAnalyzer`: analyses many positions at a time, for throughput."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue

import numpy as np

from reversi.analysis.analyzer import Analysis, analysis_of
from reversi.analysis.exact import exact_moves
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.players.model import batch_of, playing_config
from reversi.search.apv_mcts import Search
from reversi.search.evaluate import Evaluate
from reversi.solver.solver import Solver

SHARED_NODES = 40_000_000
"""Positions that the solver may search for all positions of a call together, 0.8 s on one thread.  Those with the
fewest empty squares are solved first; those with as many share half of what is left, the last ones all of it, and once
less than half of them are solved, the rest is not tried.  Not a time limit: answers do not depend on the machine.

2,000 positions of 6x6 games, 64 simulations: 7.9 s of CPU time instead of 4.1 s without the solver, start included,
and 1,095 are solved; of 8x8 games, with a network of 6 blocks x 96 channels, 59 instead of 56 s."""


class BatchAnalyzer:
    """Scores every move exactly where few squares are empty, and searches the other positions in lockstep.

    Scores are for the side to move; squares left empty count for nobody.
    """

    def __init__(
        self, game: Game | str, evaluate: Evaluate, simulations: int, empties: int, *, threads: int = 1
    ) -> None:
        """Search with so many simulations, and solve from `empties` empty squares on; with 0 nothing is solved.

        threads  that solve at the same time
        """
        self.game = game_named(game)
        self.batch = batch_of(simulations)
        """Most positions of a call."""
        self._search = Search(
            self.game, playing_config(simulations), evaluate, self.batch, every_move=True, symmetric=True
        )
        self._empties, self._threads = empties, threads
        self._solvers: SimpleQueue[Solver] = SimpleQueue()
        for _ in range(threads if empties else 0):
            self._solvers.put(Solver(self.game))

    def analyse(self, positions: Sequence[Position]) -> list[Analysis]:
        """Return the analyses of at most `batch` unfinished positions."""
        few = [each for each in range(len(positions)) if self._empties and positions[each].empties <= self._empties]
        solved = self._solve(positions, few) if few else {}
        left = [each for each in range(len(positions)) if each not in solved]
        if left:
            solved |= self._searched(positions, left)
        return [solved[each] for each in range(len(positions))]

    def _solve(self, positions: Sequence[Position], few: list[int]) -> dict[int, Analysis]:
        """Return the analyses of those of the positions `few` that are solved, as far as SHARED_NODES suffice."""
        solved: dict[int, Analysis] = {}
        nodes = SHARED_NODES
        with ThreadPoolExecutor(self._threads, "solve") as pool:
            for empties, alike in (levels := _by_empties(positions, few)).items():
                share = nodes if empties == max(levels) else nodes // 2
                solve = partial(self._solved, nodes=share // len(alike))
                answers = list(pool.map(solve, [positions[each] for each in alike]))
                solved |= {each: answer for each, (answer, _) in zip(alike, answers, strict=True) if answer is not None}
                if sum(answer is not None for answer, _ in answers) < len(alike) / 2:
                    break
                nodes -= sum(searched for _, searched in answers)
        return solved

    def _solved(self, position: Position, nodes: int) -> tuple[Analysis | None, int]:
        """Return the analysis of a position, None if it takes more than so many nodes, and the nodes searched."""
        solver, start_s = self._solvers.get(), time.monotonic()
        try:
            moves, searched = exact_moves(solver, position, nodes=nodes)
        finally:
            self._solvers.put(solver)
        seconds = time.monotonic() - start_s
        return Analysis(moves, searched, seconds, moves[0].value, proven=True) if moves else None, searched

    def _searched(self, positions: Sequence[Position], left: list[int]) -> dict[int, Analysis]:
        start_s = time.monotonic()
        own, opp = (np.array([getattr(positions[each], side) for each in left], np.uint64) for side in ("own", "opp"))
        result = self._search.run(own, opp)
        seconds = time.monotonic() - start_s
        return {each: analysis_of(positions[each], self._search, result, b, seconds) for b, each in enumerate(left)}


def _by_empties(positions: Sequence[Position], few: list[int]) -> dict[int, list[int]]:
    """Return the indices `few` by the number of empty squares, the fewest first."""
    levels: dict[int, list[int]] = {}
    for each in sorted(few, key=lambda each: positions[each].empties):
        levels.setdefault(positions[each].empties, []).append(each)
    return levels
