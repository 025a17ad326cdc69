"""Many positions at a time: exact where the solver's share suffices, else searched, in the order given."""

from __future__ import annotations

import pytest

from reversi.analysis import batch as batch_module
from reversi.analysis.analyzer import Limit, SearchAnalyzer
from reversi.analysis.batch import BatchAnalyzer
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.signature import HashEvaluator
from reversi.solver.solver import Solver
from tests.reversi.analysis.endgames import near_the_end, never

GAME = GAMES["reversi6"]
MIXED = [near_the_end(GAME, left, left) for left in (9, 25, 13, 10, 14, 30, 9, 9)]


def batch(simulations: int, empties: int, threads: int = 1) -> BatchAnalyzer:
    return BatchAnalyzer(GAME, HashEvaluator(GAME), simulations, empties, threads=threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_few_empty_squares_are_solved_and_the_others_searched(threads: int) -> None:
    found = batch(40, 13, threads).analyse(MIXED)
    for position, analysis in zip(MIXED, found, strict=True):
        if position.empties <= 13:
            solved = Solver(GAME).solve_moves(position.own, position.opp)
            assert {move.action: move.score for move in analysis.moves} == solved.moves
            assert analysis.value == analysis.best.value
        else:
            assert all(move.score is None for move in analysis.moves)
            searched = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 40).analyse(position, Limit(), never)
            assert (analysis.moves, analysis.value) == (searched.moves, searched.value)


def test_what_is_not_solved_within_the_shared_limit_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for shared in (10**9, 200_000, 0):
        monkeypatch.setattr(batch_module, "SHARED_NODES", shared)
        found = batch(20, 16).analyse(MIXED)
        assert len(found) == len(MIXED)
        assert all(analysis.moves for analysis in found)
        counts.append([analysis.best.score is not None for analysis in found])
    generous, some, none = counts
    assert generous == [position.empties <= 16 for position in MIXED]
    assert sum(none) < sum(some) < sum(generous)
    easiest = [position.empties for position, solved in zip(MIXED, some, strict=True) if solved]
    assert max(easiest) < min(each.empties for each, solved in zip(MIXED, some, strict=True) if not solved)


def test_nothing_is_solved_if_that_is_not_wanted() -> None:
    assert all(analysis.best.score is None for analysis in batch(8, 0).analyse(MIXED))


def test_no_positions_have_no_analyses() -> None:
    assert batch(8, 12).analyse([]) == []


def test_tic_tac_toe_has_no_solver() -> None:
    game = GAMES["tictactoe"]
    (analysis,) = BatchAnalyzer(game, HashEvaluator(game), 50, 0).analyse([Position.start(game)])
    assert sum(move.visits for move in analysis.moves) == 50
