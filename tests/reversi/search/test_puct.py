"""Golden trees: small searches whose every number is computed by hand in the comments."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.kernels.exponential import exponential
from reversi.search.apv_mcts import Search
from reversi.search.params import params_of
from reversi.search.root import root_value, set_root, set_roots
from reversi.search.simulation import expand, expand_leaves, select_leaf, select_leaves
from reversi.search.tree import back_up, make_leaves, make_trees, tree_of
from tests.configs import search_config
from tests.reversi.search.stubs import Answer, TableEvaluator, arrays, random_positions

REVERSI4 = GAMES["reversi4"]
START = Position.start("reversi4")  # Black plays b1, a2, d3 or c4: actions 1, 4, 11, 14
B1, A2, D3, C4 = 1, 4, 11, 14
PASS = 16
PRIORS = {"b1": 0.4, "a2": 0.3, "d3": 0.2, "c4": 0.1}


def search(position: Position, answers: dict[Position, Answer], **config: float) -> tuple[Search, TableEvaluator]:
    evaluate = TableEvaluator(position.game, answers)
    settings = search_config(**{"c_puct": 1.0, "fpu_reduction": 0.0, **config})
    return Search(position.game, settings, evaluate, 1), evaluate


def one_tree(
    position: Position, simulations: int, answers: dict[Position, Answer], **config: float
) -> dict[str, object]:
    found, _ = search(position, answers, simulations=simulations, **config)
    result = found.run(*arrays(position))
    return {
        "visits": {int(a): int(result.visits[0, a]) for a in np.flatnonzero(result.visits[0])},
        "value": result.value[0],
    }


GOLDEN: dict[Position, Answer] = {
    START: (PRIORS, 0.5),
    START.play("b1"): ({}, 0.6),  # good for White, so -0.6 for Black who chose it
    START.play("a2"): ({}, -0.2),
    START.play("d3"): ({}, 0.0),
}


@pytest.mark.parametrize(
    ("simulations", "visits", "value"),
    [
        # N = 1, mean .5.  Unvisited: Q = .5.  b1 .5 + .4, a2 .5 + .3, ...: b1, worth -.6.
        (1, {B1: 1}, (0.5 - 0.6) / 2),
        # N = 2, mean -.05, sqrt 1.4142.  b1 -.6 + .4*1.4142/2 = -.317; a2 -.05 + .3*1.4142 = .374; d3 .233: a2, worth
        # .2.
        (2, {B1: 1, A2: 1}, (0.5 - 0.6 + 0.2) / 3),
        # N = 3, mean .0333, sqrt 1.7321.  b1 -.6 + .346 = -.254; a2 .2 + .3*1.7321/2 = .460; d3 .0333 + .346 = .380: a2
        # again, now to a grandchild, which is new and worth 0.
        (3, {B1: 1, A2: 2}, (0.5 - 0.6 + 0.2 + 0) / 4),
        # N = 4, mean .025, sqrt 2.  b1 -.6 + .4 = -.2; a2 .1 + .3*2/3 = .3; d3 .025 + .4 = .425; c4 .225: d3, worth 0.
        (4, {B1: 1, A2: 2, D3: 1}, 0.1 / 5),
        # N = 5, mean .02, sqrt 2.2361.  b1 -.153; a2 .1 + .2236 = .324; d3 0 + .2236; c4 .02 + .2236 = .244: a2, worth
        # 0.
        (5, {B1: 1, A2: 3, D3: 1}, 0.1 / 6),
    ],
)
def test_puct_visits_what_the_formula_says(simulations: int, visits: dict[int, int], value: float) -> None:
    found = one_tree(START, simulations, GOLDEN)
    assert found["visits"] == visits
    assert found["value"] == pytest.approx(value, abs=1e-6)


def test_first_play_urgency_falls_with_the_priors_already_visited() -> None:
    # After one simulation: N = 2, mean (0.5 - 0.1) / 2 = .2, explored .4.
    # b1 -.1 + .4*1.4142/2 = .183; a2 .2 + .424 - reduction * sqrt(.4) = .624 - .632 * reduction.
    # So a2 is next while the reduction is below .698.
    answers: dict[Position, Answer] = {START: (PRIORS, 0.5), START.play("b1"): ({}, 0.1)}
    assert one_tree(START, 2, answers, fpu_reduction=0.69)["visits"] == {B1: 1, A2: 1}
    assert one_tree(START, 2, answers, fpu_reduction=0.71)["visits"] == {B1: 2}


def test_a_larger_c_puct_follows_the_prior() -> None:
    # N = 2, mean -.25, sqrt 1.4142, priors .7 and .1: b1 -1 + c*.7*.7071 = -1 + .495c; others -.25 + .1414c.
    # b1 is next if .3536c > .75, that is c > 2.12.
    answers: dict[Position, Answer] = {
        START: ({"b1": 0.7, "a2": 0.1, "d3": 0.1, "c4": 0.1}, 0.5),
        START.play("b1"): ({}, 1.0),
    }
    assert one_tree(START, 2, answers, c_puct=2.1)["visits"] == {B1: 1, A2: 1}
    assert one_tree(START, 2, answers, c_puct=2.2)["visits"] == {B1: 2}


def test_a_temperature_flattens_the_priors_that_are_searched_and_not_those_reported() -> None:
    # Priors .7 and three times .1, to the power 1/2 and scaled: .4686 and .1771.  As above, b1 is worth -1:
    # b1 -1 + c*.4686*.7071 = -1 + .3314c; others -.25 + c*.1771*1.4142 = -.25 + .2505c: b1 is next if c > 9.27.
    answers: dict[Position, Answer] = {
        START: ({"b1": 0.7, "a2": 0.1, "d3": 0.1, "c4": 0.1}, 0.5),
        START.play("b1"): ({}, 1.0),
    }
    assert one_tree(START, 2, answers, c_puct=9.2, policy_temperature=2)["visits"] == {B1: 1, A2: 1}
    assert one_tree(START, 2, answers, c_puct=9.4, policy_temperature=2)["visits"] == {B1: 2}
    found, _ = search(START, answers, simulations=2, policy_temperature=2)
    np.testing.assert_allclose(found.run(*arrays(START)).prior[0][[B1, A2, D3, C4]], [0.7, 0.1, 0.1, 0.1], rtol=1e-6)


def test_the_best_value_is_played_among_those_with_their_share_of_the_most_visits() -> None:
    # b1 is worth -.2, then 0 three times below: four visits, -.05.  Then it has -.05 + .7*2/5 = .23; a2, whose urgency
    # is the root's mean (.5 - .2)/5 = .06, has .06 + .1*2 = .26: one visit, 0.  A quarter of b1's visits, and better.
    answers: dict[Position, Answer] = {
        START: ({"b1": 0.7, "a2": 0.1, "d3": 0.1, "c4": 0.1}, 0.5),
        START.play("b1"): ({}, 0.2),
    }
    for share, action in ((1.0, B1), (0.26, B1), (0.25, A2), (0.01, A2)):
        found, _ = search(START, answers, simulations=5, min_visit_share=share)
        result = found.run(*arrays(START))
        assert (result.visits[0, B1], result.visits[0, A2]) == (4, 1)
        assert result.action[0] == action
        assert [each.action for each in found.report(0)][:2] == [action, B1 + A2 - action], "the one to play is first"


def test_equal_scores_go_to_the_first_action() -> None:
    assert one_tree(START, 1, {})["visits"] == {B1: 1}


def test_a_pass_flips_the_sign_and_a_finished_game_counts_exactly() -> None:
    # White must pass, then Black takes all with c1.  Values of the network: .25 for White, then .5 for Black.
    # Simulation 1: the pass, worth -.5 to White.  2: pass, c1, White has lost: -1.  3: the same node again: -1.
    position = Position.parse("XO-------------- O")
    answers: dict[Position, Answer] = {position: ({}, 0.25), position.play("pass"): ({}, 0.5)}
    assert one_tree(position, 1, answers) == {"visits": {PASS: 1}, "value": np.float32((0.25 - 0.5) / 2)}
    assert one_tree(position, 2, answers) == {"visits": {PASS: 2}, "value": pytest.approx((0.25 - 0.5 - 1) / 3)}
    assert one_tree(position, 3, answers) == {"visits": {PASS: 3}, "value": pytest.approx((0.25 - 0.5 - 1 - 1) / 4)}


def test_finished_games_and_forced_replies_are_never_evaluated() -> None:
    # O passes, and X has c1 alone, which ends the game: after the root nothing is left to ask.
    position = Position.parse("XO-------------- O")
    found, evaluate = search(position, {}, simulations=20)
    result = found.run(*arrays(position))
    assert evaluate.asked == [[(position.own, position.opp)]]
    assert result.visits.sum() == 20
    assert result.value[0] == np.float32(-20 / 21)


def test_a_walk_goes_on_through_forced_replies_and_signs_flip_at_each() -> None:
    """The leaf is the first position with a choice; its value reaches the root through two forced plies."""
    game = GAMES["reversi6"]
    for own, opp in zip(*random_positions(game, 400, 2, plies=26), strict=True):
        position = Position(game, int(own), int(opp))
        for action in position.legal_actions():
            leaf, plies = position.play(action), 1
            while not leaf.is_over and len(leaf.legal_actions()) == 1:
                leaf, plies = leaf.play(leaf.legal_actions()[0]), plies + 1
            if plies < 3 or leaf.is_over:
                continue
            tree, params = tree_of(make_trees(game, 1, 32), 0), params_of(search_config())
            set_root(tree, game.id, params, own, opp)
            expand(tree, game.id, params, 0, np.where(np.arange(game.actions) == action, np.float32(5), np.float32(0)))
            back_up(tree, params, 0, np.float32(0), 0)
            node = select_leaf(tree, game.id, params, 32)
            assert (int(tree.nodes[node]["own"]), int(tree.nodes[node]["opp"])) == (leaf.own, leaf.opp)
            assert node == plies
            back_up(tree, params, node, np.float32(0.5), 0)
            assert root_value(tree) == np.float32(0.5 * (-1) ** plies / 2)
            return
    pytest.fail("no such position among these")


@pytest.mark.parametrize(
    ("text", "value"), [("XXOOXXOOXXOOXXOO X", 0), ("XXXXXXXXXXXXXXX- O", -1), ("X--------------- X", 1)]
)
def test_a_finished_root_has_its_exact_value_and_no_visits(text: str, value: int) -> None:
    assert one_tree(Position.parse(text), 10, {}) == {"visits": {}, "value": value}


def test_virtual_loss_sends_the_second_leaf_elsewhere_against_a_strong_prior() -> None:
    # b1 waits: N = 1 + 1, Q(b1) = (0 - 1)/1, so b1 -1 + .97*1.4142/2 = -.314; a2 .5 + .01*1.4142 = .514.
    # Had the loss the wrong sign, b1 would score 1.69 and the round would end with one leaf.
    priors = {"b1": 0.97, "a2": 0.01, "d3": 0.01, "c4": 0.01}
    found, evaluate = search(START, {START: (priors, 0.5)}, simulations=2, leaves=2)
    found.run(*arrays(START))
    b1, a2 = START.play("b1"), START.play("a2")
    assert evaluate.asked[1:] == [[(b1.own, b1.opp), (a2.own, a2.opp)]]


def test_virtual_loss_counts_as_visits_of_the_node_too() -> None:
    # b1 waits: N = 1 + 1, so b1 -1 + .97*1.4142/2 = -.314; a2 -.43 + .01*1.4142 = -.416: b1, which ends the round.
    # With N = 1 it would be b1 -.515 and a2 -.42.
    priors = {"b1": 0.97, "a2": 0.01, "d3": 0.01, "c4": 0.01}
    found, evaluate = search(START, {START: (priors, -0.43)}, simulations=2, leaves=2)
    found.run(*arrays(START))
    assert [len(batch) for batch in evaluate.asked] == [1, 1, 1]


def test_virtual_loss_counts_for_the_side_that_chose_the_edge_at_every_depth() -> None:
    # White must pass; then Black has c1 or c3 (priors .9, .1, its network value .5), and both leaves of the second
    # round go through the pass.  At Black's node N = 1 + 1: c1 -1 + .9*1.4142/2 = -.364; c3 .5 + .1*1.4142 = .641.
    position = Position.parse("XO------XO------ O")
    black = position.play("pass")
    assert black.legal_moves() == ["c1", "c3"]
    found, evaluate = search(position, {black: ({"c1": 0.9, "c3": 0.1}, 0.5)}, simulations=3, leaves=2)
    found.run(*arrays(position))
    c1, c3 = black.play("c1"), black.play("c3")
    assert [len(batch) for batch in evaluate.asked] == [
        1,
        1,
        2,
    ]  # root; its only child, where the round ends; both moves
    assert evaluate.asked[2] == [(c1.own, c1.opp), (c3.own, c3.opp)]


def test_virtual_loss_is_gone_when_the_leaves_are_backed_up() -> None:
    found, _ = search(START, GOLDEN, simulations=50, leaves=8, virtual_loss=3)
    result = found.run(*arrays(START))
    used = int(found._trees.used[0, 1])
    assert not found._trees.edges["pending"][0, :used].any()
    assert result.visits.sum() == 50


def test_priors_are_the_softmax_over_legal_actions_only() -> None:
    trees, leaves = make_trees(REVERSI4, 1, 1), make_leaves(1)
    params = params_of(search_config())
    assert set_roots(trees, REVERSI4.id, params, *arrays(START), leaves) == 1
    logits = np.full((1, REVERSI4.actions), 80, np.float32)  # what illegal actions say must not matter
    logits[0, [B1, A2, D3, C4]] = [-3, 0, 2, -90]
    expand_leaves(trees, REVERSI4.id, params, leaves, 1, logits, np.zeros(1, np.float32))
    edges = trees.edges[0, 1:5]
    weights = np.exp(np.array([-3, 0, 2, -90], np.float64))
    assert edges["action"].tolist() == [B1, A2, D3, C4]
    np.testing.assert_allclose(edges["prior"], weights / weights.sum(), rtol=1e-6, atol=1e-35)
    assert select_leaves(trees, REVERSI4.id, 1, 0, 1, params_of(search_config()), leaves) == 0


def test_exp_agrees_with_double_precision() -> None:
    x = np.linspace(-86, 0, 20_001, dtype=np.float32)
    found = np.array([exponential(each) for each in x])
    np.testing.assert_allclose(found, np.exp(x.astype(np.float64)), rtol=2.5e-7)
    assert exponential(np.float32(0)) == 1
    assert 0 < exponential(np.float32(-1e9)) < 1e-37
    assert 0 < exponential(np.float32(np.nan)) < 1e-37  # read 4 bytes beyond its table
