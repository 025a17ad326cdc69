from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from reversi.frontends.analysis import Limit
from reversi.frontends.solver_analysis import SolverAnalyzer
from reversi.games.position import Position
from reversi.games.rules import GAMES
from tests.reversi.frontends.endgames import empties, near_the_end, never
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
    assert analysis.value == np.sign(minimax(position))
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
    assert analysis.nodes >= 20  # those of the stub, and what the solver got through
    (limit,) = analyzer.limits
    assert limit.simulations == 7
    assert limit.seconds is not None
    assert 0 <= limit.seconds <= 0.1


def test_a_solution_stops_when_it_is_told_to() -> None:
    position = near_the_end(GAMES["reversi8"], 24, 0)
    begun_s = time.monotonic()
    stop_s = begun_s + 0.1
    analysis = SolverAnalyzer(FirstMove(position.game), 30).analyse(
        position, Limit(), lambda: time.monotonic() > stop_s
    )
    assert time.monotonic() - begun_s < 1.5
    assert analysis.best.score is None


def test_half_of_the_time_is_left_to_the_search() -> None:
    analyzer = FirstMove(GAMES["reversi8"])
    SolverAnalyzer(analyzer, 30).analyse(near_the_end(GAMES["reversi8"], 24, 0), Limit(7, 1.0), never)
    (limit,) = analyzer.limits
    assert limit.seconds is not None
    assert 0.1 < limit.seconds <= 0.5
