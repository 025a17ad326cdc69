"""What holds of trees whatever the rule: kernels that count no references leave none behind and take none away."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from reversi.games.rules import GAMES, play_batch
from reversi.search.apv_mcts import Search
from reversi.search.config import SearchConfig
from reversi.search.signature import HashEvaluator
from reversi.search.tree import tree_of

from .stubs import random_positions


@pytest.mark.parametrize("method", ["puct", "gumbel"])
@pytest.mark.parametrize("leaves", [1, 4])
def test_a_search_leaves_the_references_to_its_arrays_as_they_were(method: str, leaves: int) -> None:
    game = GAMES["reversi6"]
    own, opp = random_positions(game, 8, 3, plies=6)
    config = SearchConfig(simulations=20, method=method, leaves=leaves, keep_subtree=method == "puct")  # type: ignore[arg-type]
    search = Search(game, config, HashEvaluator(game), 8, np.random.default_rng(0))
    arrays = [*search._trees, *search._leaves, own, opp]
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(5):
        result = search.run(own, opp, noise=True)
        search.advance(result.action)
        play_batch(game.id, own, opp, result.action)
    assert [sys.getrefcount(array) for array in arrays] == before


def test_a_tree_is_a_view_of_its_row() -> None:
    game = GAMES["reversi6"]
    search = Search(game, SearchConfig(simulations=4), HashEvaluator(game), 3, np.random.default_rng(0))
    search.run(*random_positions(game, 3, 3, plies=6))
    for g in range(3):
        for whole, row in zip(search._trees, tree_of(search._trees, g), strict=True):
            assert (row.ctypes.data, row.shape) == (whole[g].ctypes.data, whole[g].shape)
