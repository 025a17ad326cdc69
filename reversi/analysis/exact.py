"""`exact_moves`: the exact score of every move of a position, with the line of perfect play after it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from reversi.analysis.analyzer import MoveAnalysis, with_images
from reversi.games.position import Position
from reversi.solver.solver import Solution, Solver


def exact_moves(
    solver: Solver, position: Position, *, nodes: int | None = None, seconds: float | None = None, lines: bool = True
) -> tuple[tuple[MoveAnalysis, ...], int]:
    """Return the moves of an unfinished position, best first, and the positions searched; no moves if not solved.

    nodes, seconds  the limits of the solve, as for `Solver.solve`; lines are shorter if it leaves no seconds for them
    lines           whether every move has its line; otherwise only the best move has
    """
    start_s = time.perf_counter()
    solution = solver.solve_moves(position.own, position.opp, nodes=nodes, seconds=seconds)
    if not solution.solved:
        return (), solution.nodes
    end_s = None if seconds is None else start_s + seconds
    return with_images(position, _moves(solver, position, solution, end_s, lines)), solution.nodes


def _moves(
    solver: Solver, position: Position, solution: Solution, end_s: float | None, lines: bool
) -> Iterator[MoveAnalysis]:
    for action, score in sorted(solution.moves.items(), key=lambda move: (-move[1], move[0] != solution.best)):
        line: tuple[int, ...] = ()
        if lines or action == solution.best:
            after = position.play(action)
            left_s = None if end_s is None else max(0.0, end_s - time.perf_counter())
            line = solver.line(after.own, after.opp, -score, seconds=left_s)
        result = float((score > 0) - (score < 0))
        yield MoveAnalysis(action, result, line=(action, *line), score=score, certain=True)
