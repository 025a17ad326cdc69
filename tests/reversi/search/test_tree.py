"""What holds of trees with any parameters: kernels that count no references leave none behind and take none away."""

from __future__ import annotations

import sys
from typing import Literal

import numpy as np
import pytest

from reversi.games.rng import stream
from reversi.games.rules import GAMES, play_batch
from reversi.search.apv_mcts import Search
from reversi.search.params import params_of
from reversi.search.root import draw_root_noise, has_root, keep_subtree, root_action, set_root
from reversi.search.signature import HashEvaluator
from reversi.search.tree import tree_of
from tests.configs import search_config
from tests.reversi.search.stubs import grow, make_tree, random_positions


@pytest.mark.parametrize("method", ["puct", "gumbel"])
@pytest.mark.parametrize("leaves", [1, 4])
def test_a_search_leaves_the_references_to_its_arrays_as_they_were(
    method: Literal["puct", "gumbel"], leaves: int
) -> None:
    game = GAMES["reversi6"]
    own, opp = random_positions(game, 8, 3, plies=6)
    config = search_config(simulations=20, method=method, leaves=leaves)
    search = Search(game, config, HashEvaluator(game), 8)
    arrays = [*search._trees, *search._leaves, own, opp]
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(5):
        result = search.run(own, opp)
        play_batch(game.id, own, opp, result.action)
    assert [sys.getrefcount(array) for array in arrays] == before


@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_noise_and_kept_subtrees_leave_them_as_they_were(method: Literal["puct", "gumbel"]) -> None:
    game, evaluate = GAMES["reversi6"], HashEvaluator(GAMES["reversi6"])
    own, opp = random_positions(game, 1, 3, plies=6)
    params, tree = params_of(search_config(method=method)), make_tree(game, 20)
    scratch, marked = np.empty(game.actions, np.float32), np.empty(len(tree.nodes), np.bool_)
    arrays = [*tree, scratch, marked]
    before = [sys.getrefcount(array) for array in arrays]
    for ply in range(5):
        if not has_root(tree, own[0], opp[0]):
            set_root(tree, game.id, params, own[0], opp[0])
        grow(tree, game, params, 0, evaluate)
        draw_root_noise(tree, params, np.uint64(stream(np.uint64(1), ply)), 10.0, 0.25, scratch)
        grow(tree, game, params, 20, evaluate)
        action = root_action(tree, params)
        keep_subtree(tree, action if method == "puct" else -1, marked)
        play_batch(game.id, own, opp, np.array([action], np.int32))
    assert [sys.getrefcount(array) for array in arrays] == before


def test_a_tree_is_a_view_of_its_row() -> None:
    game = GAMES["reversi6"]
    search = Search(game, search_config(simulations=4), HashEvaluator(game), 3)
    search.run(*random_positions(game, 3, 3, plies=6))
    for g in range(3):
        for whole, row in zip(search._trees, tree_of(search._trees, g), strict=True):
            assert (row.ctypes.data, row.shape) == (whole[g].ctypes.data, whole[g].shape)
