"""Gumbel search: a slow reference in step with the kernels, and the laws of the paper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rng import stream
from reversi.games.rules import GAMES, Game, legal_actions_mask, play
from reversi.search.apv_mcts import Search
from reversi.search.config import SearchConfig
from reversi.search.gumbel import considered_visits
from reversi.search.params import params_of
from reversi.search.root import draw_root_noise, root_action, root_policy, root_value, set_root
from reversi.search.signature import HashEvaluator
from reversi.search.simulation import expand, select_leaf
from reversi.search.tree import TERMINAL, Tree, back_up
from tests.configs import search_config
from tests.reversi.search.gumbel_reference import Node, schedule
from tests.reversi.search.stubs import TableEvaluator, arrays, grow, make_tree, random_positions, root_edges

REVERSI4, REVERSI6 = GAMES["reversi4"], GAMES["reversi6"]
PARAMS = params_of(search_config(method="gumbel"))


def test_the_schedule_can_be_kept_whatever_the_numbers() -> None:
    """There is always an action with the visits considered, if each simulation adds one to such an action."""
    for considered in range(1, 35):
        for simulations in (0, 1, 2, 3, 7, 16, 33, 64, 200):
            expected = schedule(considered, simulations)
            assert [considered_visits(considered, simulations, i) for i in range(simulations)] == expected
            visits = [0] * considered
            for count in expected:
                visits[visits.index(count)] += 1


# The reference, in step.


def step(tree: Tree, game: Game, root: Node, path: list[int], evaluate: HashEvaluator, node: int) -> None:
    """Add what a simulation found to both trees."""
    upper = root
    for action in path[:-1]:
        if action not in upper.child:  # new and not the last: walked through, because it has one reply
            upper.child[action] = Node.forced(upper.position.play(action))
        upper = upper.child[action]
    position = upper.position.play(path[-1])
    leaf = upper.child.get(path[-1]) or Node.judged(position, evaluate)
    upper.child[path[-1]] = leaf
    if tree.nodes[node]["degree"] == TERMINAL:
        back_up(tree, PARAMS, node, tree.nodes[node]["value"], 0)
    else:
        logits, judged = evaluate(*arrays(position))
        expand(tree, game.id, PARAMS, node, logits[0])
        back_up(tree, PARAMS, node, judged[0], 0)
    value, walked = leaf.value, [root]
    for action in path[:-1]:
        walked.append(walked[-1].child[action])
    for above, action in zip(reversed(walked), reversed(path), strict=True):
        value = -value
        above.visits[action] += 1
        above.total[action] += value


def path_to(tree: Tree, node: int) -> list[int]:
    path = []
    while node:
        path.append(int(tree.edges[tree.nodes[node]["entry"]]["action"]))
        node = int(tree.nodes[node]["parent"])
    return path[::-1]


def is_best(scores: dict[int, float], action: int) -> bool:
    """Assert that the action's score is the best one but for rounding; return whether none other comes near."""
    close = [a for a in scores if scores[a] > max(scores.values()) - 1e-4]
    assert action in close, (scores, action)
    return len(close) == 1


@pytest.mark.parametrize("name", ["reversi4", "tictactoe", "reversi6"])
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize(("simulations", "considered"), [(1, 16), (5, 2), (16, 4), (33, 16), (50, 1), (80, 64)])
def test_every_choice_is_the_references(name: str, noisy: bool, simulations: int, considered: int) -> None:
    game, evaluate = GAMES[name], HashEvaluator(GAMES[name])
    config = search_config(method="gumbel", considered=considered, c_visit=10, c_scale=0.5)
    params, rng = params_of(config), np.random.default_rng(simulations)
    clear = []
    for own, opp in zip(*random_positions(game, 12, simulations), strict=True):
        position = Position(game, int(own), int(opp))
        if position.is_over:
            continue
        root, legal = Node.judged(position, evaluate), position.legal_actions()
        tree = make_tree(game, simulations)
        set_root(tree, game.id, params, own, opp)
        grow(tree, game, params, 0, evaluate)
        tree.gumbels[:] = rng.gumbel(size=game.actions) if noisy else 0
        gumbel = {action: float(tree.gumbels[action]) for action in legal}
        for visits in schedule(min(considered, len(legal)), simulations):
            node = select_leaf(tree, game.id, params, simulations)
            path = path_to(tree, node)
            clear.append(is_best(root.root_scores(config, gumbel, visits), path[0]))
            below = root
            for action, following in pairwise(path):
                if action not in below.child:
                    break
                below = below.child[action]
                clear.append(is_best(below.interior_scores(config), following))
            step(tree, game, root, path, evaluate, node)
        policy = np.zeros(game.actions, np.float32)
        root_policy(tree, params, policy)
        improved = root.improved(config)
        np.testing.assert_allclose([policy[action] for action in legal], [improved[a] for a in legal], atol=2e-5)
        assert np.count_nonzero(policy) <= len(legal)
        assert (
            is_best(root.root_scores(config, gumbel, max(root.visits.values())), root_action(tree, params)) is not None
        )
        assert root_value(tree) == pytest.approx((root.value + sum(root.total.values())) / (1 + simulations), abs=1e-5)
    assert np.mean(clear) > 0.95


# Laws.


@pytest.mark.parametrize("c_scale", [0.1, 1.0, 10.0])
def test_with_exact_values_the_improved_policy_is_never_worse_than_the_prior(c_scale: float) -> None:
    """The paper's policy improvement, section 4: every action visited once, so that q is exact."""
    game, evaluate = GAMES["reversi8"], HashEvaluator(GAMES["reversi8"])
    own, opp = random_positions(game, 200, 3)
    legal = np.zeros((200, game.actions), np.uint8)
    legal_actions_mask(game.id, own, opp, legal)
    gains = []
    for b in np.flatnonzero(legal.any(axis=1)):
        moves = np.flatnonzero(legal[b])
        config = search_config(method="gumbel", simulations=len(moves), considered=64, c_scale=c_scale)
        found = Search(game, config, evaluate, 1).run(own[b : b + 1], opp[b : b + 1])
        assert (found.visits[0, moves] == 1).all()
        after = [play(game.id, own[b], opp[b], int(move)) for move in moves]
        values = [Node.judged(Position(game, int(mover), int(other)), evaluate).value for mover, other in after]
        gains.append(-np.array(values) @ (found.policy[0, moves] - found.prior[0, moves]))
    assert min(gains) > -1e-6
    assert np.mean(gains) > 0.05


def draw_noise(tree: Tree, config: SearchConfig, number: int) -> None:
    """Give the root Gumbel noise from stream `number`."""
    start, scratch = np.uint64(stream(np.uint64(5), number)), np.empty(len(tree.logits), np.float32)
    draw_root_noise(tree, params_of(config), start, config.dirichlet_alpha, config.dirichlet_weight, scratch)


def test_noise_draws_the_first_action_by_its_prior() -> None:
    """The largest of gumbel + logit is a draw from the softmax (the paper's section 2)."""
    count, start = 4000, Position.start(REVERSI4)
    config = search_config(method="gumbel", simulations=1, considered=1)
    tree, params = make_tree(REVERSI4, 1), params_of(config)
    evaluate = TableEvaluator(REVERSI4, {start: ({"b1": 0.4, "a2": 0.3, "d3": 0.2, "c4": 0.1}, 0.5)})
    visits = np.zeros((count, 4), np.int32)
    for number in range(count):
        set_root(tree, REVERSI4.id, params, np.uint64(start.own), np.uint64(start.opp))
        grow(tree, REVERSI4, params, 0, evaluate)
        draw_noise(tree, config, number)
        grow(tree, REVERSI4, params, 1, evaluate)
        edges = root_edges(tree)
        visits[number] = edges["visits"]
        assert root_action(tree, params) == edges["action"][visits[number].argmax()]
    np.testing.assert_array_equal(visits.sum(axis=1), 1)
    np.testing.assert_allclose(visits.mean(axis=0), [0.4, 0.3, 0.2, 0.1], atol=4.5 * 0.5 / np.sqrt(count))


def test_noise_draws_actions_without_replacement_and_is_drawn_anew() -> None:
    config = search_config(method="gumbel", simulations=3, considered=3)
    params, evaluate, tree = params_of(config), HashEvaluator(REVERSI6), make_tree(REVERSI6, 3)
    own, opp = random_positions(REVERSI6, 30, 4, plies=10)

    def visits(g: int, number: int | None) -> list[int]:
        """Return those of position g's actions, with the noise of stream `number`."""
        set_root(tree, REVERSI6.id, params, own[g], opp[g])
        grow(tree, REVERSI6, params, 0, evaluate)
        if number is not None:
            draw_noise(tree, config, number)
        grow(tree, REVERSI6, params, 3, evaluate)
        found = root_edges(tree)["visits"].tolist()
        assert np.count_nonzero(found) == min(len(found), 3)
        return [int(each) for each in found]

    bare, first, second = ([visits(g, number) for g in range(30)] for number in (None, 1, 2))
    assert bare != first
    assert first != second
    assert [visits(g, 1) for g in range(30)] == first
    assert [visits(g, None) for g in range(30)] == bare  # and gone when none is asked for
