"""What a result is worth, and positions that the solver decides."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.apv_mcts import Search
from reversi.search.exact import is_solvable, solve_moves, utility
from reversi.search.params import params_of
from reversi.solver.search import NO_SCORE
from reversi.solver.solver import Solver, solve_batch
from tests.configs import search_config
from tests.reversi.search.stubs import CountingHashEvaluator, TableEvaluator, random_positions

REVERSI6 = GAMES["reversi6"]


@pytest.mark.parametrize(
    ("game", "margin", "weight", "expected"),
    [
        ("reversi6", 4, 0.0, 1.0),
        ("reversi6", -2, 0.0, -1.0),
        ("reversi6", 0, 0.5, 0.0),
        ("reversi6", 9, 0.5, 0.5 + 0.5 * 0.25),
        ("reversi8", -16, 0.2, -0.8 - 0.2 * 0.25),
        ("reversi4", 16, 0.3, 1.0),
        ("tictactoe", -1, 0.9, -0.1 - 0.9 / 9),
        ("reversi8", 1, 1.0, 1 / 64),
    ],
)
def test_utility_by_hand(game: str, margin: int, weight: float, expected: float) -> None:
    params = params_of(search_config(margin_weight=weight))
    assert utility(GAMES[game].id, params, margin) == pytest.approx(expected, abs=1e-7)
    assert utility(GAMES[game].id, params, -margin) == pytest.approx(-expected, abs=1e-7)


def test_near_the_end_won_games_are_won_by_more_if_margins_count() -> None:
    """Few empty squares: the whole rest of the game is in the tree, and the network says nothing."""
    own, opp = random_positions(REVERSI6, 200, 5, plies=28)
    regret = {}
    for weight in (0.0, 0.5):
        config = search_config(simulations=400, margin_weight=weight)
        search = Search(REVERSI6, config, TableEvaluator(REVERSI6), len(own))
        regret[weight] = []
        for b, action in enumerate(search.run(own, opp).action):
            position = Position(REVERSI6, int(own[b]), int(opp[b]))
            margins = {move: -_best_margin(position.play(move)) for move in position.legal_actions()}
            if len(set(margins.values())) > 1 and len({np.sign(margin) for margin in margins.values()}) == 1:
                regret[weight].append(max(margins.values()) - margins[int(action)])
    assert len(regret[0.0]) > 50
    assert np.mean(regret[0.0]) > 1.5
    assert np.mean(regret[0.5]) < 0.5


def _best_margin(position: Position) -> int:
    """Return the exact margin for the side to move, by trying everything."""
    if position.is_over:
        return position.margin
    return max(-_best_margin(position.play(action)) for action in position.legal_actions())


def test_the_moves_that_are_best_share_the_policy_equally() -> None:
    for game in (GAMES["reversi4"], REVERSI6):
        solver = Solver(game)
        own, opp = random_positions(game, 150, 3, plies=game.squares - 4 - 8)
        for b in range(len(own)):
            position = Position(game, int(own[b]), int(opp[b]))
            if position.is_over:
                continue
            policy = np.zeros(game.actions, np.float32)
            margin = solve_moves(game.id, own[b], opp[b], policy)
            scores = solver.solve_moves(position.own, position.opp).moves
            best = [action for action in scores if scores[action] == max(scores.values())]
            assert margin == max(scores.values())
            assert np.flatnonzero(policy).tolist() == sorted(best)
            np.testing.assert_allclose(policy[best], 1 / len(best))


@pytest.mark.parametrize("margin_weight", [0.0, 0.3])
@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_below_the_limit_a_search_is_exact_and_asks_nothing(method: str, margin_weight: float) -> None:
    own, opp = random_positions(REVERSI6, 60, 6, plies=24)
    config = search_config(simulations=50, method=method, solve_empties=10, margin_weight=margin_weight)
    asked = CountingHashEvaluator(REVERSI6)
    result = Search(REVERSI6, config, asked, 60).run(own, opp)
    assert asked.batches == []
    scores = solve_batch(REVERSI6, own, opp)
    for b in range(60):
        if (scores[b] == NO_SCORE).all():
            assert result.action[b] == -1
            continue
        margin = scores[b].max()
        assert scores[b, result.action[b]] == margin
        expected = (1 - margin_weight) * np.sign(margin) + margin_weight * margin / 36
        assert result.value[b] == pytest.approx(expected, abs=1e-6)
        assert (result.policy[b] > 0).tolist() == (scores[b] == margin).tolist()


def test_leaves_that_are_solved_make_one_ply_more_exact() -> None:
    """Nine empty squares, and eight are solved: every child of the root is; the network says nothing."""
    own, opp = random_positions(REVERSI6, 100, 7, plies=23)
    config = search_config(simulations=300, solve_empties=8)
    search = Search(REVERSI6, config, TableEvaluator(REVERSI6), 100)
    result = search.run(own, opp)
    scores = solve_batch(REVERSI6, own, opp)
    judged = 0
    for b in range(100):
        empties = 36 - (int(own[b]) | int(opp[b])).bit_count()
        if empties == 9 and (scores[b] != NO_SCORE).sum() > 1:
            judged += 1
            assert np.sign(scores[b, result.action[b]]) == np.sign(scores[b].max())
    assert judged > 50


def test_tic_tac_toe_is_never_solved() -> None:
    game = GAMES["tictactoe"]
    asked = CountingHashEvaluator(game)
    search = Search(game, search_config(simulations=20, solve_empties=16), asked, 1)
    assert search.run(np.zeros(1, np.uint64), np.zeros(1, np.uint64)).visits.sum() == 20
    assert asked.batches


@pytest.mark.parametrize(("name", "most"), [("reversi4", 5), ("reversi6", 12), ("reversi8", 14), ("tictactoe", -1)])
def test_no_more_than_a_third_of_the_board_is_solved(name: str, most: int) -> None:
    game, params = GAMES[name], params_of(search_config(solve_empties=14))
    squares = [1 << (8 * row + col) for row in range(game.size) for col in range(game.size)]
    for empties in range(game.squares):
        own = np.uint64(sum(squares[empties:]))
        assert is_solvable(game.id, params, own, np.uint64(0)) == (empties <= most)
