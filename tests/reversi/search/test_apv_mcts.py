"""The search as a whole: laws that hold for every game, and positions whose truth is known."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.signature import HashEvaluator
from tests.configs import search_config
from tests.reversi.search.stubs import CountingHashEvaluator, TableEvaluator, random_positions

METHODS = ["puct", "gumbel"]


def run(game: Game, own: np.ndarray, opp: np.ndarray, **config: object) -> SearchResult:
    settings = search_config(**config)
    return Search(game, settings, HashEvaluator(game), len(own)).run(own, opp)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("leaves", [1, 4])
def test_a_position_is_searched_the_same_alone_and_in_any_batch(name: str, method: str, leaves: int) -> None:
    game = GAMES[name]
    own, opp = random_positions(game, 40, 7)
    together = run(game, own, opp, simulations=50, method=method, leaves=leaves)
    order = np.random.default_rng(1).permutation(40)
    shuffled = run(game, own[order], opp[order], simulations=50, method=method, leaves=leaves)
    for b in range(40):
        alone = run(game, own[b : b + 1], opp[b : b + 1], simulations=50, method=method, leaves=leaves)
        for field in ("visits", "value", "policy", "prior", "action"):
            np.testing.assert_array_equal(getattr(alone, field)[0], getattr(together, field)[b])
            np.testing.assert_array_equal(getattr(shuffled, field), getattr(together, field)[order])


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("leaves", "virtual_loss"), [(1, 1), (8, 1), (8, 3), (8, 0)])
def test_every_simulation_is_a_visit_of_a_legal_action(name: str, method: str, leaves: int, virtual_loss: int) -> None:
    game = GAMES[name]
    own, opp = random_positions(game, 60, 11)
    result = run(game, own, opp, simulations=33, method=method, leaves=leaves, virtual_loss=virtual_loss)
    for b in range(60):
        position = Position(game, int(own[b]), int(opp[b]))
        legal = position.legal_actions()
        assert result.visits[b].sum() == (33 if legal else 0)
        assert result.visits[b, legal].sum() == result.visits[b].sum()
        assert result.prior[b].sum() == pytest.approx(1 if legal else 0, abs=1e-5)
        assert result.policy[b].sum() == pytest.approx(1 if legal else 0, abs=1e-5)
        assert -1 <= result.value[b] <= 1
        assert result.action[b] in (legal or [-1])
        assert not legal or result.visits[b, result.action[b]] == result.visits[b].max()
        if not legal:
            assert result.value[b] == np.sign(position.margin)


@pytest.mark.parametrize("method", METHODS)
def test_no_simulations_give_the_bare_network(method: str) -> None:
    game = GAMES["reversi6"]
    own, opp = random_positions(game, 30, 2, plies=7)
    result = run(game, own, opp, simulations=0, method=method)
    logits, value = HashEvaluator(game)(own, opp)
    for b in range(30):
        legal = Position(game, int(own[b]), int(opp[b])).legal_actions()
        weights = np.exp(logits[b, legal].astype(np.float64))
        np.testing.assert_allclose(result.prior[b, legal], weights / weights.sum(), rtol=1e-5)
    assert not result.visits.any()
    np.testing.assert_array_equal(result.policy, result.prior)
    np.testing.assert_array_equal(result.action, result.prior.argmax(axis=1))
    np.testing.assert_allclose(result.value, value, atol=1e-6)


def test_puct_plays_the_most_visited_action_and_the_first_of_equals() -> None:
    game = GAMES["reversi6"]
    own, opp = random_positions(game, 200, 2, plies=7)
    result = run(game, own, opp, simulations=12)
    np.testing.assert_array_equal(result.action, result.visits.argmax(axis=1))
    largest = result.visits.max(axis=1, keepdims=True)
    assert ((result.visits == largest).sum(axis=1) > 1).any()


def test_an_empty_batch_has_an_empty_result() -> None:
    nobody = np.empty(0, np.uint64)
    game = GAMES["reversi4"]
    result = Search(game, search_config(), TableEvaluator(game), 3).run(nobody, nobody)
    assert result.visits.shape == (0, 17)
    assert result.value.shape == result.action.shape == (0,)


def test_one_leaf_per_tree_fills_every_batch_and_asks_no_more_than_needed() -> None:
    game = GAMES["reversi8"]
    own, opp = random_positions(game, 16, 1, plies=10)
    evaluate = CountingHashEvaluator(game)
    Search(game, search_config(simulations=40), evaluate, 16).run(own, opp)
    assert evaluate.batches == [16] * 41


def test_many_leaves_of_one_tree_need_few_batches() -> None:
    game = GAMES["reversi8"]
    own, opp = random_positions(game, 1, 1, plies=10)
    evaluate = CountingHashEvaluator(game)
    Search(game, search_config(simulations=400, leaves=16), evaluate, 1).run(own, opp)
    assert sum(evaluate.batches) == 401
    assert len(evaluate.batches) <= 40  # 26 if no simulation ever ended on a waiting leaf


@pytest.mark.parametrize("method", METHODS)
def test_every_run_begins_with_fresh_trees(method: Literal["puct", "gumbel"]) -> None:
    game = GAMES["reversi6"]
    own, opp = random_positions(game, 2, 2, plies=8)
    evaluate = CountingHashEvaluator(game)
    search = Search(game, search_config(simulations=60, method=method), evaluate, 2)
    first = search.run(own, opp)
    np.testing.assert_array_equal(search.run(own, opp).visits, first.visits)
    once = len(evaluate.batches) // 2
    assert evaluate.batches[:once] == evaluate.batches[once:]
    assert method == "gumbel" or sum(evaluate.batches) == 2 * 2 * 61


@cache
def solve(position: Position) -> int:
    """Return the result under perfect play for the side to move, 1, 0 or -1, by looking at everything."""
    if position.is_over:
        return int(np.sign(position.margin))
    return max(-solve(position.play(action)) for action in position.legal_actions())


@pytest.mark.parametrize(
    ("name", "plies", "count", "simulations", "method"),
    [
        ("reversi4", 5, 40, 3000, "puct"),
        ("reversi6", 26, 25, 3000, "puct"),
        ("reversi6", 26, 25, 3000, "gumbel"),  # nearer the end: it never returns to a move that looked bad at first
    ],
)
@pytest.mark.parametrize("leaves", [1, 8])
def test_enough_simulations_find_the_best_result_without_any_knowledge(
    name: str, plies: int, count: int, simulations: int, method: Literal["puct", "gumbel"], leaves: int
) -> None:
    game = GAMES[name]
    own, opp = random_positions(game, count, 3, plies=plies)
    settings = search_config(simulations=simulations, method=method, leaves=leaves)
    result = Search(game, settings, TableEvaluator(game), count).run(own, opp)
    decided = 0
    for b in range(count):
        position = Position(game, int(own[b]), int(opp[b]))
        if position.is_over:
            continue
        best = solve(position)
        assert -solve(position.play(int(result.action[b]))) == best, str(position)
        decided += abs(best)
        if best:
            assert result.value[b] * best > 0.5, str(position)
    assert decided >= count // 2


def test_tic_tac_toe_is_a_draw_and_threats_are_seen() -> None:
    game = GAMES["tictactoe"]
    wins_now = Position.parse("XX-OO---- X")  # c1 wins; otherwise c2 loses
    must_block = Position.parse("XX--O---- O")  # only c1 does not lose at once
    start = Position.start(game)
    own = np.array([p.own for p in (start, wins_now, must_block)], np.uint64)
    opp = np.array([p.opp for p in (start, wins_now, must_block)], np.uint64)
    result = Search(game, search_config(simulations=4000), TableEvaluator(game), 3).run(own, opp)
    assert result.value[0] == pytest.approx(0, abs=0.1)
    assert result.visits[1].argmax() == 2
    assert result.value[1] > 0.9
    assert result.visits[2].argmax() == 2


def test_a_game_can_be_given_by_name() -> None:
    assert Search("reversi6", search_config(), HashEvaluator(GAMES["reversi6"]), 1).game is GAMES["reversi6"]
