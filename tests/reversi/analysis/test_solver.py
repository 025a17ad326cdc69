from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from reversi.analysis.analyzer import Limit, SearchAnalyzer, deepening
from reversi.analysis.solver import SolverAnalyzer
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.signature import HashEvaluator
from tests.reversi.analysis.endgames import empties, near_the_end, never
from tests.reversi.frontends.stubs import FirstMove

LIMIT = Limit(64, 20.0)


@cache
def minimax(position: Position, winner_takes_empties: bool = True) -> int:
    """Return the margin of perfect play by looking at everything."""
    if position.is_over:
        margin = position.margin
        return margin + int(np.sign(margin)) * empties(position) * winner_takes_empties
    return max(-minimax(position.play(action), winner_takes_empties) for action in position.legal_actions())


@pytest.mark.parametrize("name", ["reversi4", "reversi6", "reversi8"])
@pytest.mark.parametrize("seed", range(6))
def test_near_the_end_every_move_has_its_exact_score(name: str, seed: int) -> None:
    position = near_the_end(GAMES[name], 6, seed)
    analyzer = FirstMove(position.game)
    analysis = SolverAnalyzer(analyzer, 6).analyse(position, LIMIT, never)
    assert {move.action: move.score for move in analysis.moves} == {
        action: -minimax(position.play(action)) for action in position.legal_actions()
    }
    assert analysis.best.score == minimax(position)
    assert (analysis.value, analysis.proven, analysis.complete) == (np.sign(minimax(position)), True, True)
    assert analyzer.limits == []
    for move in analysis.moves:
        assert move.score is not None
        assert (move.value, move.certain, move.line[0]) == (np.sign(move.score), True, move.action)
        end = position
        for action in move.line:
            end = end.play(action)
        assert end.is_over
        assert (1 if end.black_to_move == position.black_to_move else -1) * minimax(end) == move.score


def test_choosing_a_move_has_its_own_number_of_empty_squares_and_one_line() -> None:
    position = near_the_end(GAMES["reversi6"], 7, 0)
    analyzer = FirstMove(position.game)
    solving = SolverAnalyzer(analyzer, 7, choose_empties=6)
    assert solving.analyse(position, LIMIT, never).best.score == minimax(position)
    assert analyzer.limits == []
    assert solving.choose(position, LIMIT, never).best.score is None
    assert analyzer.limits == [LIMIT]
    chosen = SolverAnalyzer(analyzer, 7).choose(position, LIMIT, never)
    assert chosen.best.score == minimax(position)
    assert [len(move.line) > 1 for move in chosen.moves] == [move is chosen.best for move in chosen.moves]


def test_empty_squares_may_be_nobodys() -> None:
    position = Position.parse("XXXXX-XXXXXO-OOXOOOOOOOOX-OOOO--OOOO O")
    one, other = (
        SolverAnalyzer(FirstMove(position.game), 6, winner_takes_empties=winner)
        .analyse(position, LIMIT, never)
        .best.score
        for winner in (True, False)
    )
    assert (one, other) == (minimax(position), minimax(position, False)) == (8, 7)


def test_with_more_empty_squares_the_other_mind_is_asked() -> None:
    position = near_the_end(GAMES["reversi6"], 7, 0)
    analyzer = FirstMove(position.game)
    assert SolverAnalyzer(analyzer, 6).analyse(position, LIMIT, never) == FirstMove(position.game).analyse(
        position, LIMIT, never
    )
    assert analyzer.limits == [LIMIT]


def test_what_is_not_solved_in_half_of_the_time_is_left_to_the_other_mind() -> None:
    position = near_the_end(GAMES["reversi8"], 24, 0)
    analyzer = FirstMove(position.game)
    analysis = SolverAnalyzer(analyzer, 30).analyse(position, Limit(7, 0.2), never)
    assert all(move.score is None for move in analysis.moves)
    assert (analysis.nodes, analysis.proven) == (20, False)  # what the solver got through depends on the machine
    (limit,) = analyzer.limits
    assert limit.simulations == 7
    assert limit.seconds is not None
    assert 0 <= limit.seconds <= 0.1  # less where other work delays the solver


def test_a_solution_stops_when_it_is_told_to() -> None:
    position = near_the_end(GAMES["reversi8"], 24, 0)
    stop_s = time.monotonic() + 0.1
    analysis = SolverAnalyzer(FirstMove(position.game), 30).analyse(
        position, Limit(seconds=600.0), lambda: time.monotonic() > stop_s
    )
    assert time.monotonic() - stop_s < 60
    assert analysis.best.score is None


def test_a_position_that_was_not_solved_is_tried_again_only_with_more_time() -> None:
    position, other = (near_the_end(GAMES["reversi8"], 24, seed) for seed in (0, 1))
    analyzer = FirstMove(position.game)
    solving = SolverAnalyzer(analyzer, 30)
    for asked, seconds, tried in (
        (position, 0.2, True),
        (position, 0.2, False),
        (position, 0.1, False),
        (other, 0.2, True),
        (position, 0.2, False),  # the one before is still known
        (position, 0.4, True),
        (position, 0.4, False),
        (position, 0.3, False),
    ):
        for ask in (solving.analyse, solving.choose) if not tried else (solving.analyse,):
            ask(asked, Limit(7, seconds), never)
            left_s = analyzer.limits.pop().seconds
            assert left_s is not None
            assert left_s <= seconds / 2 if tried else left_s == seconds


def test_the_unsolved_positions_that_are_remembered_are_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reversi.analysis.solver.REMEMBERED", 2)
    positions = [near_the_end(GAMES["reversi8"], 24, seed) for seed in range(3)]
    analyzer = FirstMove(positions[0].game)
    solving = SolverAnalyzer(analyzer, 30)
    tried = []
    for number in (0, 1, 2, 2, 1, 0, 2, 1):
        solving.analyse(positions[number], Limit(7, 0.1), never)
        tried.append(analyzer.limits.pop() != Limit(7, 0.1))
    assert tried == [True, True, True, False, False, True, False, True]


def test_a_solve_that_was_stopped_is_tried_again() -> None:
    position = near_the_end(GAMES["reversi6"], 14, 0)
    analyzer = FirstMove(position.game)
    solving = SolverAnalyzer(analyzer, 14)
    solving.analyse(position, LIMIT, lambda: True)
    found = solving.analyse(position, LIMIT, never)
    assert len(analyzer.limits) <= 1
    assert found.best.score is not None


@pytest.mark.parametrize("step_s", [None, 20.0])
def test_deeper_analyses_of_an_unsolved_position_are_the_searches_alone(
    step_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solver's work, which varies, does not count: the search deepens to the last step."""
    monkeypatch.setattr("reversi.analysis.solver.MOST_S", 0.1)
    position = near_the_end(GAMES["reversi6"], 26, 0)
    search = SearchAnalyzer("hash", position.game, HashEvaluator(position.game), 20)
    solving, steps = SolverAnalyzer(search, 32), (16, 32, 64, 128)
    found, alone = (list(deepening(each, position, steps, lambda done: False, step_s)) for each in (solving, search))
    assert [(each.moves, each.nodes) for each in found] == [(each.moves, each.nodes) for each in alone]
    assert [each.visits for each in found] == list(steps)
    assert found[0].seconds >= 0.1


def test_half_of_the_time_is_left_to_the_search() -> None:
    analyzer = FirstMove(GAMES["reversi8"])
    SolverAnalyzer(analyzer, 30).analyse(near_the_end(GAMES["reversi8"], 24, 0), Limit(7, 1.0), never)
    (limit,) = analyzer.limits
    assert limit.seconds is not None
    assert 0.1 < limit.seconds <= 0.5
