"""Subtrees that are kept, and noise at the root."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.games.rules import GAMES, Game, play, play_batch
from reversi.search.apv_mcts import Search
from reversi.search.config import SearchConfig
from reversi.search.evaluate import UniformEvaluate
from reversi.search.root import mix_root_noise
from reversi.search.tree import PENDING, TERMINAL, UNVISITED, Trees, tree_of

from .stubs import CountingHashEvaluator, TableEvaluator, random_positions

REVERSI6 = GAMES["reversi6"]


def check_tree(game: Game, trees: Trees, g: int) -> None:
    """Assert everything that holds between nodes, edges and counts of one tree."""
    used_nodes, used_edges = trees.used[g]
    nodes, edges = trees.nodes[g], trees.edges[g]
    next_edge = 1
    seen = {0}
    for i in range(used_nodes):
        node = nodes[i]
        assert node["degree"] != PENDING
        if node["degree"] == TERMINAL:
            continue
        assert node["first"] == next_edge, "edges lie side by side in the order of their nodes"
        next_edge += node["degree"]
        own_edges = edges[node["first"] : next_edge]
        # A node with one reply may have been walked through at once, without a visit that ended there.
        own_visits = edges[node["entry"]]["visits"] - own_edges["visits"].sum()
        assert own_visits == 1 or (own_visits == 0 and node["degree"] == 1 and i > 0)
        assert node["explored"] == pytest.approx(own_edges["prior"][own_edges["visits"] > 0].sum(), abs=1e-5)
        assert own_edges["prior"].sum() == pytest.approx(1, abs=1e-5)
        assert not own_edges["pending"].any()
        for offset in np.flatnonzero(own_edges["child"] != UNVISITED):
            child = int(own_edges["child"][offset])
            assert child > i
            seen.add(child)
            assert nodes[child]["parent"] == i
            assert nodes[child]["entry"] == node["first"] + offset
            after = play(game.id, node["own"], node["opp"], int(own_edges["action"][offset]))
            assert (nodes[child]["own"], nodes[child]["opp"]) == after
        unvisited = own_edges[own_edges["child"] == UNVISITED]
        assert not unvisited["visits"].any()
        assert not unvisited["total"].any()
    assert next_edge == used_edges
    assert seen == set(range(used_nodes))


def some_search(game: Game, count: int, **config: object) -> tuple[Search, CountingHashEvaluator]:
    evaluate = CountingHashEvaluator(game)
    settings = SearchConfig(**{"simulations": 60, **config})  # type: ignore[arg-type]
    return Search(game, settings, evaluate, count, np.random.default_rng(3)), evaluate


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("leaves", [1, 5])
def test_trees_hold_together_through_a_whole_game(name: str, leaves: int) -> None:
    game = GAMES[name]
    own, opp = random_positions(game, 12, 5, plies=2)
    search, evaluate = some_search(game, len(own), leaves=leaves, keep_subtree=True)
    for _ in range(game.max_plies):
        result = search.run(own, opp)
        for g in range(len(own)):
            check_tree(game, search._trees, g)
        going = result.prior.any(axis=1)
        np.testing.assert_array_equal(result.visits.sum(axis=1), np.where(going, 60, 0))
        if not going.any():
            break
        actions = np.where(going, result.visits.argmax(axis=1), 0).astype(np.int32)
        after_own, after_opp = own[going], opp[going]
        play_batch(game.id, after_own, after_opp, actions[going])
        own[going], opp[going] = after_own, after_opp
        search.advance(actions)
    assert not going.any()
    assert sum(evaluate.batches) > 0


def test_a_kept_subtree_is_exactly_what_was_below_the_action() -> None:
    own, opp = random_positions(REVERSI6, 20, 1, plies=8)
    search, evaluate = some_search(REVERSI6, 20, keep_subtree=True)
    before = search.run(own, opp)
    actions = before.visits.argmax(axis=1).astype(np.int32)
    visits = before.visits.max(axis=1)
    totals = [edge_total(search._trees, g, int(action)) for g, action in enumerate(actions)]
    calls = len(evaluate.batches)
    search.advance(actions)
    play_batch(REVERSI6.id, own, opp, actions)
    kept = search.run(own, opp, simulations=0)
    assert len(evaluate.batches) == calls  # nothing to evaluate
    np.testing.assert_array_equal(kept.visits.sum(axis=1), visits - 1)  # the root's own evaluation is one of its visits
    np.testing.assert_array_equal(kept.value, [-total / np.float32(n) for total, n in zip(totals, visits, strict=True)])


def edge_total(trees: Trees, g: int, action: int) -> np.float32:
    root = trees.nodes[g, 0]
    edges = trees.edges[g, root["first"] : root["first"] + root["degree"]]
    return np.float32(edges["total"][edges["action"] == action][0])


def test_kept_visits_save_evaluations_and_count_as_simulations() -> None:
    own, opp = random_positions(REVERSI6, 1, 2, plies=8)
    search, evaluate = some_search(REVERSI6, 1, keep_subtree=True)
    first = search.run(own, opp)
    assert sum(evaluate.batches) == 61
    actions = first.visits.argmax(axis=1).astype(np.int32)
    search.advance(actions)
    play_batch(REVERSI6.id, own, opp, actions)
    second = search.run(own, opp)
    assert second.visits.sum() == 60
    assert sum(evaluate.batches) == 61 + 60 - (first.visits.max() - 1)


def test_two_plies_can_be_told_and_an_unvisited_one_gives_a_fresh_tree() -> None:
    own, opp = random_positions(REVERSI6, 1, 2, plies=8)
    search, _ = some_search(REVERSI6, 1, keep_subtree=True)
    fresh, _ = some_search(REVERSI6, 1)
    for actions in (search.run(own, opp).visits.argmax(axis=1), np.array([-1])):
        search.advance(actions.astype(np.int32))
    np.testing.assert_array_equal(search.run(own, opp).visits, fresh.run(own, opp).visits)


def test_another_position_than_the_one_told_gives_a_fresh_tree() -> None:
    own, opp = random_positions(REVERSI6, 2, 2, plies=8)
    search, _ = some_search(REVERSI6, 2, keep_subtree=True)
    fresh, _ = some_search(REVERSI6, 2)
    search.advance(search.run(own, opp).visits.argmax(axis=1).astype(np.int32))
    other_own, other_opp = random_positions(REVERSI6, 2, 9, plies=5)
    np.testing.assert_array_equal(search.run(other_own, other_opp).visits, fresh.run(other_own, other_opp).visits)


def test_without_keep_subtree_every_run_is_fresh() -> None:
    own, opp = random_positions(REVERSI6, 2, 2, plies=8)
    search, evaluate = some_search(REVERSI6, 2)
    first = search.run(own, opp)
    search.advance(first.visits.argmax(axis=1).astype(np.int32))
    np.testing.assert_array_equal(search.run(own, opp).visits, first.visits)
    assert sum(evaluate.batches) == 2 * 2 * 61


def noisy_priors(search: Search, own: NDArray[np.uint64], opp: NDArray[np.uint64]) -> list[NDArray[np.float32]]:
    search.run(own, opp, noise=True, simulations=0)
    roots = search._trees.nodes[:, 0]
    return [search._trees.edges[g, n["first"] : n["first"] + n["degree"]]["prior"].copy() for g, n in enumerate(roots)]


def test_noise_touches_legal_actions_only_and_priors_still_sum_to_one() -> None:
    own, opp = random_positions(REVERSI6, 50, 4, plies=12)
    search, _ = some_search(REVERSI6, 50, dirichlet_weight=0.5)
    bare = search.run(own, opp, simulations=0)
    mixed = noisy_priors(search, own, opp)
    for g, priors in enumerate(mixed):
        pure = bare.prior[g][bare.prior[g] > 0]
        assert priors.sum() == pytest.approx(1, abs=1e-5)
        assert (priors >= 0.5 * pure - 1e-6).all()
        if len(pure) > 1:
            assert np.abs(priors - pure).max() > 1e-4
    result = search.run(own, opp, noise=True)
    assert not result.visits[bare.prior == 0].any()
    np.testing.assert_array_equal(result.prior, bare.prior)  # the network's, whatever the noise


def test_noise_is_dirichlet_with_the_concentration_shared_among_legal_actions() -> None:
    # Of alpha = 10/n each among n actions, a share has mean 1/n and variance (n - 1) / (n**2 * (10 + 1)).
    own, opp = np.full(4000, REVERSI6.start_own, np.uint64), np.full(4000, REVERSI6.start_opp, np.uint64)
    search = Search(
        REVERSI6, SearchConfig(dirichlet_weight=1.0), UniformEvaluate(REVERSI6, 4000), 4000, np.random.default_rng(8)
    )
    shares = np.array(noisy_priors(search, own, opp))
    assert shares.shape == (4000, 4)
    np.testing.assert_allclose(shares.mean(axis=0), 1 / 4, atol=0.01)
    np.testing.assert_allclose(shares.var(axis=0), 3 / (16 * 11), rtol=0.1)


def test_noise_at_a_kept_root_counts_the_priors_of_visited_actions_anew() -> None:
    own, opp = random_positions(REVERSI6, 20, 1, plies=8)
    search, _ = some_search(REVERSI6, 20, keep_subtree=True)
    actions = search.run(own, opp).visits.argmax(axis=1).astype(np.int32)
    search.advance(actions)
    play_batch(REVERSI6.id, own, opp, actions)
    search.run(own, opp, noise=True)
    for g in range(20):
        check_tree(REVERSI6, search._trees, g)


def test_noise_that_is_all_zero_leaves_the_priors_alone() -> None:
    own, opp = random_positions(REVERSI6, 3, 1, plies=8)
    search = Search(REVERSI6, SearchConfig(), TableEvaluator(REVERSI6), 3, np.random.default_rng(0))
    search.run(own, opp, simulations=0)
    before = search._trees.edges["prior"][:, 1].copy()
    for g in range(3):
        mix_root_noise(tree_of(search._trees, g), np.zeros(REVERSI6.actions), 0.25)
    np.testing.assert_array_equal(search._trees.edges["prior"][:, 1], before)


def test_the_same_seed_gives_the_same_noise() -> None:
    own, opp = random_positions(REVERSI6, 10, 4, plies=12)
    first, second = (some_search(REVERSI6, 10)[0].run(own, opp, noise=True) for _ in range(2))
    np.testing.assert_array_equal(first.visits, second.visits)
