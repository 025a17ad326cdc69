from __future__ import annotations

import numpy as np
import pytest

from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.apv_mcts import Search
from reversi.search.signature import HashEvaluator
from tests.configs import search_config
from tests.reversi.search.stubs import CountingHashEvaluator, TableEvaluator, random_positions

GAME = GAMES["reversi6"]


def test_the_report_agrees_with_the_result() -> None:
    own, opp = random_positions(GAME, 30, 5, plies=9)
    search = Search(GAME, search_config(simulations=100, leaves=4), HashEvaluator(GAME), 30)
    result = search.run(own, opp)
    for b in range(30):
        found, position = search.report(b), Position(GAME, int(own[b]), int(opp[b]))
        assert sorted(each.action for each in found) == position.legal_actions()
        assert found[0].action == result.action[b]
        assert [each.visits for each in found] == sorted((each.visits for each in found), reverse=True)
        for each in found:
            assert each.visits == result.visits[b, each.action]
            assert each.line[0] == each.action
            after = position
            for action in each.line:
                after = after.play(action)
        values = sum(each.visits * (each.value or 0) for each in found)
        root = HashEvaluator(GAME)(own[b : b + 1], opp[b : b + 1])[1][0]
        assert (values + root) / 101 == pytest.approx(result.value[b], abs=1e-5)


def test_a_line_follows_the_most_visited_replies() -> None:
    start = Position.start(GAME)
    after = start.play("c2")
    priors = {"c2": 0.97, "b3": 0.01, "e4": 0.01, "d5": 0.01}
    evaluate = TableEvaluator(GAME, {start: (priors, 0), after: ({"b2": 0.98, "d2": 0.01, "b4": 0.01}, 0)})
    search = Search(GAME, search_config(simulations=20), evaluate, 1)
    search.run(np.array([start.own], np.uint64), np.array([start.opp], np.uint64))
    best = search.report(0)[0]
    assert [action_name(GAME, action) for action in best.line[:2]] == ["c2", "b2"]


def test_a_finished_game_has_no_actions() -> None:
    search = Search(GAME, search_config(simulations=4), HashEvaluator(GAME), 1)
    search.run(np.array([1], np.uint64), np.array([0], np.uint64))
    assert search.report(0) == []


@pytest.mark.parametrize("leaves", [1, 8])
@pytest.mark.parametrize("batches", [0, 1, 5])
def test_a_search_ends_when_it_is_told_to(leaves: int, batches: int) -> None:
    own, opp = random_positions(GAME, 1, 5, plies=9)
    left = iter([False] * batches + [True])
    evaluate = CountingHashEvaluator(GAME)
    search = Search(GAME, search_config(simulations=1000, leaves=leaves), evaluate, 1)
    result = search.run(own, opp, stop=lambda: next(left))
    assert len(evaluate.batches) == batches + 1  # the root's own evaluation always happens
    assert result.visits.sum() == sum(evaluate.batches) - 1


def test_a_stopped_search_has_done_what_a_shorter_one_does() -> None:
    own, opp = random_positions(GAME, 1, 5, plies=9)
    left = iter([False] * 37 + [True])
    stopped = Search(GAME, search_config(simulations=1000), HashEvaluator(GAME), 1)
    result = stopped.run(own, opp, stop=lambda: next(left))
    shorter = Search(GAME, search_config(simulations=37), HashEvaluator(GAME), 1)
    np.testing.assert_array_equal(result.visits, shorter.run(own, opp).visits)
    assert stopped.run(own, opp).visits.sum() == 1000
