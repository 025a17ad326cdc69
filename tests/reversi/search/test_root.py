"""Subtrees that are kept, and noise at the root: the kernels that self-play is made of, one tree at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.games.position import Position
from reversi.games.rng import stream
from reversi.games.rules import GAMES, Game, play, play_batch
from reversi.search.apv_mcts import Search
from reversi.search.evaluate import Evaluate, UniformEvaluate
from reversi.search.params import params_of
from reversi.search.root import draw_root_noise, has_room, has_root, keep_subtree, mix_root_noise, root_action, set_root
from reversi.search.signature import HashEvaluator
from reversi.search.tree import NODES, PENDING, TERMINAL, UNVISITED, Tree, tree_of
from tests.configs import search_config
from tests.reversi.search.stubs import CountingHashEvaluator, grow, make_tree, random_positions, root_edges

REVERSI6 = GAMES["reversi6"]
PARAMS = params_of(search_config())
SIMULATIONS = 60
SEED = np.uint64(3)


def check_tree(game: Game, tree: Tree) -> None:
    """Assert everything that holds between nodes, edges and counts of one tree."""
    used_nodes, used_edges = tree.used
    nodes, edges = tree.nodes, tree.edges
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


def tree_with_root(game: Game, own: np.uint64, opp: np.uint64) -> Tree:
    """Return a tree with room for 60 simulations whose root waits to be judged."""
    tree = make_tree(game, SIMULATIONS)
    set_root(tree, game.id, PARAMS, own, opp)
    return tree


def grown(own: np.uint64, opp: np.uint64, evaluate: Evaluate, simulations: int = SIMULATIONS) -> Tree:
    """Return a tree of a 6x6 position after so many simulations."""
    tree = tree_with_root(REVERSI6, own, opp)
    grow(tree, REVERSI6, PARAMS, simulations, evaluate)
    return tree


def keep(tree: Tree, action: int) -> None:
    keep_subtree(tree, action, np.empty(len(tree.nodes), np.bool_))


def keep_best(game: Game, tree: Tree) -> tuple[np.uint64, np.uint64]:
    """Play the tree's move, keep what is below it, and return the position that it leads to."""
    action, root = root_action(tree, PARAMS), tree.nodes[0]
    own, opp = play(game.id, root["own"], root["opp"], action)
    keep(tree, action)
    return np.uint64(own), np.uint64(opp)


def visits_of(tree: Tree) -> dict[int, int]:
    edges = root_edges(tree)
    return dict(zip(edges["action"].tolist(), edges["visits"].tolist(), strict=True))


@pytest.mark.parametrize("name", GAMES)
def test_a_kept_tree_holds_together_through_a_whole_game(name: str) -> None:
    game, evaluate = GAMES[name], CountingHashEvaluator(GAMES[name])
    kept = plies = 0
    for own, opp in zip(*random_positions(game, 3, 5, plies=2), strict=True):
        tree = tree_with_root(game, own, opp)
        while tree.nodes[0]["degree"] != TERMINAL:
            grow(tree, game, PARAMS, SIMULATIONS, evaluate)
            check_tree(game, tree)
            assert sum(visits_of(tree).values()) == SIMULATIONS
            own, opp = keep_best(game, tree)
            if has_root(tree, own, opp):
                check_tree(game, tree)
                kept += 1
            else:
                set_root(tree, game.id, PARAMS, own, opp)
            plies += 1
        assert Position(game, int(own), int(opp)).is_over
    assert kept > plies // 2
    assert 0 < len(evaluate.batches) < plies * (1 + SIMULATIONS)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("leaves", [1, 5])
def test_trees_hold_together_whatever_the_leaves_and_so_does_what_is_kept_of_them(name: str, leaves: int) -> None:
    game = GAMES[name]
    own, opp = random_positions(game, 12, 5, plies=2)
    search = Search(game, search_config(simulations=SIMULATIONS, leaves=leaves), HashEvaluator(game), len(own))
    for _ in range(game.max_plies):
        result = search.run(own, opp)
        going = result.action >= 0
        np.testing.assert_array_equal(result.visits.sum(axis=1), np.where(going, SIMULATIONS, 0))
        for g in range(len(own)):
            tree = tree_of(search._trees, g)
            check_tree(game, tree)
            if going[g]:
                after = keep_best(game, tree)
                if has_root(tree, *after):
                    check_tree(game, tree)
        if not going.any():
            break
        after_own, after_opp = own[going], opp[going]
        play_batch(game.id, after_own, after_opp, result.action[going])
        own[going], opp[going] = after_own, after_opp
    assert not going.any()


def test_a_kept_subtree_is_exactly_what_was_below_the_action() -> None:
    evaluate = CountingHashEvaluator(REVERSI6)
    for own, opp in zip(*random_positions(REVERSI6, 20, 1, plies=8), strict=True):
        tree = grown(own, opp, evaluate)
        edges = root_edges(tree)
        best = edges[edges["action"] == root_action(tree, PARAMS)][0]
        visits, total = int(best["visits"]), np.float32(best["total"])
        asked = len(evaluate.batches)
        after = keep_best(REVERSI6, tree)
        assert has_root(tree, *after)
        grow(tree, REVERSI6, PARAMS, 0, evaluate)
        assert len(evaluate.batches) == asked  # nothing to evaluate
        assert sum(visits_of(tree).values()) == visits - 1  # the root's own evaluation is one of its visits
        assert (tree.edges[0]["visits"], tree.edges[0]["total"]) == (visits, total)


def test_kept_visits_save_evaluations_and_count_as_simulations() -> None:
    (own,), (opp,) = random_positions(REVERSI6, 1, 2, plies=8)
    evaluate = CountingHashEvaluator(REVERSI6)
    tree = grown(own, opp, evaluate)
    assert len(evaluate.batches) == 61
    most = max(visits_of(tree).values())
    assert has_root(tree, *keep_best(REVERSI6, tree))
    grow(tree, REVERSI6, PARAMS, SIMULATIONS, evaluate)
    assert sum(visits_of(tree).values()) == 60
    assert len(evaluate.batches) == 61 + 60 - (most - 1)


def test_a_kept_tree_has_room_while_its_nodes_and_the_visits_to_come_fit() -> None:
    (own,), (opp,) = random_positions(REVERSI6, 1, 2, plies=8)
    tree = grown(own, opp, HashEvaluator(REVERSI6))
    kept = max(visits_of(tree).values()) - 1
    keep_best(REVERSI6, tree)
    assert has_room(tree, SIMULATIONS)
    tree.used[NODES] = len(tree.nodes) - (SIMULATIONS - kept)
    assert has_room(tree, SIMULATIONS)
    tree.used[NODES] += 1
    assert not has_room(tree, SIMULATIONS)


def test_two_plies_can_be_kept_one_after_the_other() -> None:
    (own,), (opp,) = random_positions(REVERSI6, 1, 2, plies=8)
    tree = grown(own, opp, HashEvaluator(REVERSI6))
    keep_best(REVERSI6, tree)
    visits = max(visits_of(tree).values())
    assert has_root(tree, *keep_best(REVERSI6, tree))
    assert tree.edges[0]["visits"] == visits > 1
    check_tree(REVERSI6, tree)


def test_after_an_action_without_a_node_the_tree_is_empty_and_grows_like_a_fresh_one() -> None:
    (own,), (opp,) = random_positions(REVERSI6, 1, 2, plies=8)
    evaluate = HashEvaluator(REVERSI6)
    tree, fresh = grown(own, opp, evaluate), grown(own, opp, evaluate)
    keep_best(REVERSI6, tree)
    keep(tree, -1)
    assert tree.used[NODES] == 0
    keep(tree, 0)  # nor is there anything below it
    assert tree.used[NODES] == 0
    assert not has_root(tree, own, opp)
    set_root(tree, REVERSI6.id, PARAMS, own, opp)
    grow(tree, REVERSI6, PARAMS, SIMULATIONS, evaluate)
    assert visits_of(tree) == visits_of(fresh)


def test_another_position_than_the_one_kept_is_no_root_and_gets_a_fresh_tree() -> None:
    evaluate = HashEvaluator(REVERSI6)
    positions, others = random_positions(REVERSI6, 2, 2, plies=8), random_positions(REVERSI6, 2, 9, plies=5)
    for own, opp, other_own, other_opp in zip(*positions, *others, strict=True):
        tree = grown(own, opp, evaluate)
        assert has_root(tree, own, opp)
        after = keep_best(REVERSI6, tree)
        assert has_root(tree, *after)
        assert not has_root(tree, own, opp)
        assert not has_root(tree, other_own, other_opp)
        set_root(tree, REVERSI6.id, PARAMS, other_own, other_opp)
        assert not has_root(tree, other_own, other_opp)  # not yet judged
        grow(tree, REVERSI6, PARAMS, SIMULATIONS, evaluate)
        assert visits_of(tree) == visits_of(grown(other_own, other_opp, evaluate))


def draw_noise(tree: Tree, number: int, weight: float) -> NDArray[np.float32]:
    """Give the root Dirichlet noise from stream `number`, and return its priors."""
    start, scratch = np.uint64(stream(SEED, number)), np.empty(len(tree.logits), np.float32)
    draw_root_noise(tree, PARAMS, start, search_config().dirichlet_alpha, weight, scratch)
    priors: NDArray[np.float32] = root_edges(tree)["prior"].copy()
    return priors


def test_noise_touches_legal_actions_only_and_priors_still_sum_to_one() -> None:
    evaluate, moved = HashEvaluator(REVERSI6), 0
    for number, (own, opp) in enumerate(zip(*random_positions(REVERSI6, 50, 4, plies=12), strict=True)):
        tree = grown(own, opp, evaluate, 0)
        pure = root_edges(tree)["prior"].copy()
        mixed = draw_noise(tree, number, 0.5)
        assert mixed.sum() == pytest.approx(1, abs=1e-5)
        assert (mixed >= 0.5 * pure - 1e-6).all()
        if len(pure) > 1:
            assert np.abs(mixed - pure).max() > 1e-4
        grow(tree, REVERSI6, PARAMS, SIMULATIONS, evaluate)
        assert sorted(visits_of(tree)) == Position(REVERSI6, int(own), int(opp)).legal_actions()
        assert sum(visits_of(tree).values()) == SIMULATIONS
        moved += visits_of(tree) != visits_of(grown(own, opp, evaluate))
    assert moved > 25


def test_noise_is_dirichlet_with_the_concentration_shared_among_legal_actions() -> None:
    # Of alpha = 10/n each among n actions, a share has mean 1/n and variance (n - 1) / (n**2 * (10 + 1)).
    start, evaluate = (np.uint64(REVERSI6.start_own), np.uint64(REVERSI6.start_opp)), UniformEvaluate(REVERSI6, 1)
    tree = grown(*start, evaluate, 0)  # of weight 1, noise leaves nothing of what was there
    shares = np.array([draw_noise(tree, number, 1.0) for number in range(4000)])
    assert shares.shape == (4000, 4)
    np.testing.assert_allclose(shares.mean(axis=0), 1 / 4, atol=0.01)
    np.testing.assert_allclose(shares.var(axis=0), 3 / (16 * 11), rtol=0.1)


def test_noise_at_a_kept_root_counts_the_priors_of_visited_actions_anew() -> None:
    evaluate, part = HashEvaluator(REVERSI6), 0
    for number, (own, opp) in enumerate(zip(*random_positions(REVERSI6, 20, 1, plies=8), strict=True)):
        tree = grown(own, opp, evaluate)
        assert has_root(tree, *keep_best(REVERSI6, tree))
        before = float(tree.nodes[0]["explored"])
        draw_noise(tree, number, 0.25)
        edges, explored = root_edges(tree), float(tree.nodes[0]["explored"])
        visited = edges["visits"] > 0
        assert explored == pytest.approx(edges["prior"][visited].sum(), abs=1e-6)
        if not visited.all():
            assert abs(explored - before) > 1e-4
            part += 1
        grow(tree, REVERSI6, PARAMS, SIMULATIONS, evaluate)
        check_tree(REVERSI6, tree)
    assert part > 10


def test_noise_that_is_all_zero_leaves_the_priors_alone() -> None:
    for own, opp in zip(*random_positions(REVERSI6, 3, 1, plies=8), strict=True):
        tree = grown(own, opp, HashEvaluator(REVERSI6), 0)
        before = root_edges(tree)["prior"].copy()
        mix_root_noise(tree, np.zeros(REVERSI6.actions), 0.25)
        np.testing.assert_array_equal(root_edges(tree)["prior"], before)


def test_noise_is_that_of_its_stream() -> None:
    evaluate = HashEvaluator(REVERSI6)
    for own, opp in zip(*random_positions(REVERSI6, 10, 4, plies=6), strict=True):
        first, again, other = (draw_noise(grown(own, opp, evaluate, 0), number, 0.25) for number in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert len(first) == 1 or (first != other).all()
