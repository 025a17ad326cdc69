"""A search whose leaves are evaluated inside the kernel is the search that asks for the same evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.games.rules import game_named
from reversi.model.evaluate import open_evaluator
from reversi.search.apv_mcts import SLICE, Search
from tests.configs import search_config
from tests.reversi.model.samples import PATTERNS, weights
from tests.reversi.search.stubs import random_positions

FIELDS = ("visits", "value", "policy", "prior", "action")


@pytest.mark.parametrize(
    "options",
    [
        {"method": "puct", "simulations": 3 * SLICE + 5, "bounds": True, "wipeouts": True, "solve_empties": 4},
        {"method": "puct", "simulations": 60, "backup_temperature": 0.2},
        {"method": "gumbel", "simulations": 32},
        {"method": "puct", "simulations": 0},
        {"method": "puct", "simulations": 1, "margin_weight": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["reversi4", "reversi6"])
def test_the_result_is_that_of_asking_for_every_leaf(name: str, options: dict[str, object]) -> None:
    game, config = game_named(name), search_config(**options)
    own, opp = random_positions(game, 20, 5)
    model = open_evaluator(weights(game, config=PATTERNS), margin_weight=config.margin_weight)
    inside = Search(game, config, model, 20).run(own, opp)
    asked = Search(game, config, lambda own, opp: model(own, opp), 20).run(own, opp)
    for field in FIELDS:
        np.testing.assert_allclose(getattr(inside, field), getattr(asked, field), rtol=0, atol=2e-6)
    assert (inside.visits == asked.visits).all()


def test_a_search_stops_between_slices() -> None:
    game = game_named("reversi6")
    looks = 0

    def third_look() -> bool:
        nonlocal looks
        looks += 1
        return looks > 2

    search = Search(game, search_config(simulations=100_000), open_evaluator(weights(game, config=PATTERNS)), 1)
    start = np.array([game.start_own], np.uint64), np.array([game.start_opp], np.uint64)
    assert search.run(*start, stop=third_look).visits.sum() == 2 * SLICE


def test_newer_weights_are_searched_with_once_they_are_taken() -> None:
    game = game_named("reversi4")
    model = open_evaluator(weights(game, seed=1, config=PATTERNS))
    search = Search(game, search_config(simulations=50), model, 20)
    positions = random_positions(game, 20, 5)
    search.run(*positions)
    model.load(weights(game, 1, seed=2, config=PATTERNS))
    fresh = Search(game, search_config(simulations=50), open_evaluator(weights(game, seed=2, config=PATTERNS)), 20)
    assert (search.run(*positions).visits == fresh.run(*positions).visits).all()
