"""Gumbel search: the schedule as mctx lists it, and golden trees whose every number is computed by hand.

Where a number is derived, c_visit is 2 and c_scale 1, so sigma(q) = (2 + most visits) * q with q = (value + 1) / 2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.gumbel import considered_visits, mixed_value
from reversi.search.params import params_of
from reversi.search.root import root_action, root_policy, root_value, set_root
from reversi.search.tree import tree_of
from tests.configs import search_config
from tests.reversi.search.stubs import Answer, TableEvaluator, arrays, grow, make_tree, root_edges

REVERSI4 = GAMES["reversi4"]
START = Position.start("reversi4")  # Black plays b1, a2, d3 or c4: actions 1, 4, 11, 14
B1, A2, D3, C4 = 1, 4, 11, 14
PASS = 16
PRIORS = {"b1": 0.4, "a2": 0.3, "d3": 0.2, "c4": 0.1}  # logits -.916, -1.204, -1.609, -2.303
GOLDEN: dict[Position, Answer] = {
    START: (PRIORS, 0.5),
    START.play("b1"): ({}, 0.6),  # good for White, so -0.6 for Black who chose it: q = .2
    START.play("a2"): ({}, -0.2),  # q = .6
    START.play("d3"): ({}, 0.0),  # q = .5
    START.play("c4"): ({}, -0.8),  # q = .9
}
GUMBEL = search_config(method="gumbel", considered=4, c_visit=2, c_scale=1)


def search(position: Position, answers: dict[Position, Answer], **config: float) -> tuple[Search, TableEvaluator]:
    evaluate = TableEvaluator(position.game, answers)
    settings = replace(GUMBEL, **config)  # type: ignore[arg-type]
    return Search(position.game, settings, evaluate, 1), evaluate


def found(position: Position, simulations: int, answers: dict[Position, Answer], **config: float) -> SearchResult:
    return search(position, answers, simulations=simulations, **config)[0].run(*arrays(position))


def visits_of(result: SearchResult) -> dict[int, int]:
    return {int(a): int(result.visits[0, a]) for a in np.flatnonzero(result.visits[0])}


# The schedule: the sequences that mctx's tests list (mctx/_src/tests/seq_halving_test.py).


@pytest.mark.parametrize(
    ("considered", "simulations", "expected"),
    [
        (8, 24, [0] * 8 + [1] * 4 + [2] * 4 + [3, 3, 4, 4, 5, 5, 6, 6]),
        (8, 47, [0] * 8 + [1] * 4 + [2] * 4 + [3] * 4 + [n for n in range(4, 17) for _ in range(2)] + [17]),
        (8, 2, [0, 0]),
        (8, 13, [0] * 8 + [1] * 4 + [2]),
        (7, 24, [0] * 7 + [1] * 3 + [2] * 3 + [n for n in range(3, 8) for _ in range(2)] + [8]),
        (1, 16, list(range(16))),
        (0, 16, list(range(16))),
        (2, 5, [0, 0, 1, 1, 2]),
        (3, 8, [0, 0, 0, 1, 1, 2, 2, 3]),
    ],
)
def test_the_schedule_is_that_of_sequential_halving(considered: int, simulations: int, expected: list[int]) -> None:
    assert [considered_visits(considered, simulations, index) for index in range(simulations)] == expected


# Golden trees.


@pytest.mark.parametrize(
    ("simulations", "visits", "action"),
    [
        # 4 considered: 4 simulations at 0 visits, by logit.  Fewer than that see the likeliest actions only.
        (1, {B1: 1}, B1),
        # Most visits 1, so 3q: b1 -.916 + .6 = -.316; a2 -1.204 + 1.8 = .596: a2.
        (2, {B1: 1, A2: 1}, A2),
        # d3 -1.609 + 1.5 = -.109.
        (3, {B1: 1, A2: 1, D3: 1}, A2),
        # c4 -2.303 + 2.7 = .397.
        (4, {B1: 1, A2: 1, D3: 1, C4: 1}, A2),
        # The budget of 8 makes two phases: one visit for each of 4, then two more for each of the best 2.
        # 5: at 1 visit, the scores above: a2, now worth (.2 + 0) / 2, q = .55.
        # 6: at 1 visit, most 2, so 4q: b1 -.116; d3 .391; c4 -2.303 + 3.6 = 1.297: c4, now (.8 + 0) / 2, q = .7.
        # 7: at 2 visits: a2 -1.204 + 2.2 = .996; c4 -2.303 + 2.8 = .497: a2, .2 / 3, q = .5333.
        # 8: at 2 visits: c4 alone, .8 / 3, q = .6333.
        # The move, at 3 visits, 5q: a2 -1.204 + 2.667 = 1.463; c4 -2.303 + 3.167 = .864: a2.
        (8, {B1: 1, A2: 3, D3: 1, C4: 3}, A2),
    ],
)
def test_the_root_is_halved_by_logit_and_value(simulations: int, visits: dict[int, int], action: int) -> None:
    result = found(START, simulations, GOLDEN)
    assert visits_of(result) == visits
    assert result.action.tolist() == [action]


def test_the_improved_policy_and_the_value_of_a_root_with_all_actions_visited() -> None:
    # The tree of 8 simulations above; 5q: exp(-.916 + 1) = 1.0873, exp(-1.204 + 2.6667) = 4.3176,
    # exp(-1.609 + 2.5) = 2.4365, exp(-2.303 + 3.1667) = 2.3729, which sum to 10.2143.
    searched, _ = search(START, GOLDEN, simulations=8)
    result = searched.run(*arrays(START))
    np.testing.assert_allclose(result.policy[0, [B1, A2, D3, C4]], [0.1064, 0.4227, 0.2385, 0.2323], atol=1e-4)
    assert result.policy.sum() == pytest.approx(1, abs=1e-6)
    # Value: the mean by the improved policy, .1064 * -.6 + .4227 * .2 / 3 + .2385 * 0 + .2323 * .8 / 3.
    assert result.value[0] == pytest.approx(0.0263, abs=1e-4)
    # The mean of all that was backed up is (.5 - .6 + .2 + 0 + .8) / 9.
    assert root_value(tree_of(searched._trees, 0)) == pytest.approx(0.1, abs=1e-6)


def test_unvisited_actions_are_completed_by_the_mixed_value() -> None:
    # Two simulations: b1 (prior .4, q .2) and a2 (.3, .6); the network says .5, so .75 from 0 to 1.
    # Mean by prior (.08 + .18) / .7 = .37143; mix (.75 + 2 * .37143) / 3 = .49762.
    # 3q: exp(-.3163) = .72884, exp(.5960) = 1.81490, d3 exp(-1.6094 + 1.4929) = .88996, c4 exp(-.8097) = .44498;
    # they sum to 3.87868.
    searched, _ = search(START, GOLDEN, simulations=2)
    result = searched.run(*arrays(START))
    assert mixed_value(tree_of(searched._trees, 0)) == pytest.approx(0.49762, abs=1e-5)
    np.testing.assert_allclose(result.policy[0, [B1, A2, D3, C4]], [0.18791, 0.46792, 0.22945, 0.11472], atol=1e-5)
    # Value: .18791 * .2 + .46792 * .6 + (.22945 + .11472) * .49762 = .48960, from 0 to 1.
    assert result.value[0] == pytest.approx(2 * 0.48960 - 1, abs=2e-5)


def test_the_move_is_a_visited_one_even_where_the_improved_policy_prefers_another() -> None:
    # One action is considered, b1: q .2.  Mix (.75 + .2) / 2 = .475: b1 -.916 + .6 = -.316; a2 -1.204 + 1.425 = .221.
    result = found(START, 1, GOLDEN, considered=1)
    assert (result.action[0], result.policy[0].argmax()) == (B1, A2)
    assert visits_of(found(START, 5, GOLDEN, considered=1)) == {B1: 5}


def test_a_larger_scale_follows_the_values() -> None:
    # At 4 simulations with c_scale 2, 6q: a2 -1.204 + 3.6 = 2.396; c4 -2.303 + 5.4 = 3.097.
    assert found(START, 4, GOLDEN, c_scale=2).action.tolist() == [C4]
    # With c_visit 5, 6q too; with c_visit 3, 4q: a2 1.196, c4 1.297; with 2.5, 3.5q: .896, .847.
    assert [int(found(START, 4, GOLDEN, c_visit=c).action[0]) for c in (5, 3, 2.5)] == [C4, C4, A2]


def test_noise_decides_what_is_considered_and_played_but_not_what_is_learned() -> None:
    # g + l: b1 -.916, a2 -1.204, d3 -1.609 + 3 = 1.391, c4 -2.303 + 1 = -1.303; two are considered: d3 and b1.
    # 3q: d3 1.391 + 1.5 = 2.891, b1 -.316; third simulation: d3.
    tree, params = make_tree(REVERSI4, 3), params_of(replace(GUMBEL, considered=2))
    set_root(tree, REVERSI4.id, params, np.uint64(START.own), np.uint64(START.opp))
    tree.gumbels[[D3, C4]] = 3, 1
    grow(tree, REVERSI4, params, 3, TableEvaluator(REVERSI4, GOLDEN))
    edges = root_edges(tree)
    assert dict(zip(edges["action"].tolist(), edges["visits"].tolist(), strict=True)) == {B1: 1, A2: 0, D3: 2, C4: 0}
    assert root_action(tree, params) == D3
    # Most visits 2, so 4q; d3 (0 + 0) / 2, q .5.  Mean by prior (.08 + .1) / .6 = .3; mix (.75 + 3 * .3) / 4 = .4125.
    # exp(-.916 + .8) = .8902, a2 exp(-1.204 + 1.65) = 1.5621, exp(-1.609 + 2) = 1.4778, c4 exp(-.653) = .5207: 4.4508.
    policy = np.zeros(REVERSI4.actions, np.float32)
    root_policy(tree, params, policy)
    np.testing.assert_allclose(policy[[B1, A2, D3, C4]], [0.2000, 0.3510, 0.3320, 0.1170], atol=1e-4)
    set_root(tree, REVERSI4.id, params, np.uint64(START.own), np.uint64(START.opp))
    assert not tree.gumbels.any()


# White must pass; then Black has c1 or c3.  Black's node is node 1, the one action of the root.
PASSING = Position.parse("XO------XO------ O")
BLACK = PASSING.play("pass")


def interior_visits(simulations: int, answers: dict[Position, Answer], **config: float) -> list[int]:
    """Return the visits of c1 and c3 at Black's node."""
    searched, _ = search(PASSING, answers, simulations=simulations, **config)
    assert visits_of(searched.run(*arrays(PASSING))) == {PASS: simulations}
    node = searched._trees.nodes[0, 1]
    return [int(n) for n in searched._trees.edges[0, node["first"] : node["first"] + 2]["visits"]]


def test_below_the_root_visits_follow_the_improved_policy() -> None:
    assert BLACK.legal_moves() == ["c1", "c3"]
    answers: dict[Position, Answer] = {
        BLACK: ({"c1": 0.9, "c3": 0.1}, 0.5),
        BLACK.play("c1"): ({}, 0.6),  # White's view: q = .2 for Black
    }
    # 1: Black's node.  2: no visit yet, so the priors: c1.
    # 3: 3q, mix (.75 + .2) / 2 = .475: c1 .9 * exp(.6) = 1.640, c3 .1 * exp(1.425) = .416, together 2.056;
    #    c1 .798 - 1/2 = .298; c3 .202: c1, to White's pass, worth 0: q = (-.3 + 1) / 2 = .35.
    # 4: 4q, mix (.75 + 2 * .35) / 3 = .4833: c1 .9 * exp(1.4) = 3.650, c3 .1 * exp(1.9333) = .691, together 4.341;
    #    c1 .8408 - 2/3 = .174; c3 .159: c1.
    assert [interior_visits(simulations, answers) for simulations in (2, 3, 4)] == [[1, 0], [2, 0], [3, 0]]
    # 3 with c_scale 10: 30q: c1 .9 * exp(6) = 363, c3 .1 * exp(14.25) = 154,495: c3.
    assert interior_visits(3, answers, c_scale=10) == [1, 1]


def test_below_the_root_visits_are_held_against_an_action() -> None:
    # Every value is what the network said, 0, so the improved policy is the prior, .55 and .45.
    # After c1: c1 .55 - 1/2, c3 .45: c3.  Then .55 - 1/3 = .217 against .45 - 1/3 = .117: c1.
    answers: dict[Position, Answer] = {BLACK: ({"c1": 0.55, "c3": 0.45}, 0.0)}
    assert [interior_visits(simulations, answers) for simulations in (3, 4)] == [[1, 1], [2, 1]]


def test_a_pass_flips_the_sign_and_a_finished_game_counts_exactly() -> None:
    # White must pass, then Black takes all with c1, as in test_puct: -.5, -1, -1 for White.
    position = Position.parse("XO-------------- O")
    answers: dict[Position, Answer] = {position: ({}, 0.25), position.play("pass"): ({}, 0.5)}
    for simulations, value in ((1, -0.5), (2, (-0.5 - 1) / 2), (3, (-0.5 - 1 - 1) / 3)):
        searched, _ = search(position, answers, simulations=simulations)
        result = searched.run(*arrays(position))
        assert visits_of(result) == {PASS: simulations}
        assert result.value[0] == pytest.approx(value, abs=1e-6)
        assert root_value(tree_of(searched._trees, 0)) == pytest.approx(
            (0.25 + simulations * value) / (1 + simulations), abs=1e-6
        )
        assert (result.action[0], result.policy[0, PASS]) == (PASS, 1)


def test_a_finished_child_is_visited_again_at_its_exact_value_and_never_evaluated() -> None:
    # c1 wins.  Five moves, equal priors, values 0: 5 simulations at 0 visits, then (8 // (3 * 2) = 1 round each) two at
    # 1 visit and one at 2.  q is 1 for c1 and .5 for the others, so c1, then the first of the others, then c1.
    position = Position.parse("XX-OO---- X")
    searched, evaluate = search(position, {}, simulations=8, considered=16)
    result = searched.run(*arrays(position))
    assert visits_of(result) == {2: 3, 5: 2, 6: 1, 7: 1, 8: 1}
    assert result.action.tolist() == [2]
    won = position.play(2)
    assert (won.own, won.opp) not in {asked for batch in evaluate.asked for asked in batch}


@pytest.mark.parametrize(
    ("text", "value"), [("XXOOXXOOXXOOXXOO X", 0), ("XXXXXXXXXXXXXXX- O", -1), ("X--------------- X", 1)]
)
def test_a_finished_root_has_its_exact_value_and_no_action(text: str, value: int) -> None:
    result = found(Position.parse(text), 10, {})
    assert (visits_of(result), result.value[0], result.action[0]) == ({}, value, -1)
    assert not result.policy.any()


def test_no_simulations_play_the_likeliest_and_teach_the_prior() -> None:
    result = found(START, 0, GOLDEN)
    assert result.action.tolist() == [B1]
    np.testing.assert_allclose(result.policy[0, [B1, A2, D3, C4]], [0.4, 0.3, 0.2, 0.1], rtol=1e-6)
    assert result.value[0] == pytest.approx(0.5, abs=1e-6)


def test_waiting_leaves_follow_the_schedule_and_are_no_losses_at_the_root() -> None:
    # 4 leaves a round.  Second round: all four moves.  Third: 5 at 1 visit a2 (.596); 6 at 1 visit, 4q, c4 as before.
    # 7 at 2 visits, nothing new known, 4q: a2 -1.204 + 2.4 = 1.196; c4 -2.303 + 3.6 = 1.297: c4, at White's second move
    # as the first has a visit; 8 at 2 visits: a2, the second move likewise.
    # Counted as losses, a2 -1.204 + 4 * .3 = -.004 would come before c4 -2.303 + 4 * .45 = -.503.
    searched, evaluate = search(START, GOLDEN, simulations=8, leaves=4)
    result = searched.run(*arrays(START))
    assert visits_of(result) == {B1: 1, A2: 3, D3: 1, C4: 3}
    a2, c4 = START.play("a2"), START.play("c4")
    leaves = [child.play(child.legal_actions()[n]) for child, n in ((a2, 0), (c4, 0), (c4, 1), (a2, 1))]
    assert evaluate.asked[2] == [(leaf.own, leaf.opp) for leaf in leaves]
    assert [len(batch) for batch in evaluate.asked] == [1, 4, 4]
    assert not searched._trees.edges["pending"][0, : searched._trees.used[0, 1]].any()


def test_a_round_ends_where_the_schedule_leads_to_a_waiting_move() -> None:
    searched, evaluate = search(START, GOLDEN, simulations=8, leaves=8)
    searched.run(*arrays(START))
    assert [len(batch) for batch in evaluate.asked] == [1, 4, 4]


def test_a_waiting_move_is_completed_by_the_mixed_value() -> None:
    # 3 leaves a round, equal priors.  Third round: c4, then at 1 visit b1, a2 and d3 at q .2 and c4, which waits:
    # mix (.95 + 3 * .2) / 4 = .3875, so c4, and the round ends.
    # With -.9 at the root the mix is (.05 + .6) / 4 = .1625: b1 and a2 come before it.
    children: dict[Position, Answer] = {START.play(move): ({}, 0.6) for move in ("b1", "a2", "d3")}
    for value, last in ((0.9, 1), (-0.9, 3)):
        searched, evaluate = search(START, {**children, START: ({}, value)}, simulations=8, leaves=3)
        searched.run(*arrays(START))
        assert [len(batch) for batch in evaluate.asked][:3] == [1, 3, last]


def test_waiting_leaves_below_the_root_are_visits_and_no_losses() -> None:
    # 2 leaves a round, and only the pass at the root: the second round ends at Black's waiting node.
    # Third: c1 by its prior, then, c1's value being unknown, the improved policy is the prior: c1 .9 - 1/2 = .4; c3 .1:
    # c1, which waits, so the round ends.  As a loss c1 had q 0, mix .375, and c3 .1 * exp(3 * .375) = .308 against .9:
    # .745 - 1/2 = .245 and .255.
    # Fourth: c1 as before (q .2) to White's pass; then most visits 2, so 4q, mix (.75 + .2) / 2 = .475:
    # c1 .9 * exp(.8) = 2.003, c3 .1 * exp(1.9) = .669, together 2.672; c1 .750 - 2/3 = .083; c3 .250: c3.
    answers: dict[Position, Answer] = {BLACK: ({"c1": 0.9, "c3": 0.1}, 0.5), BLACK.play("c1"): ({}, 0.6)}
    searched, evaluate = search(PASSING, answers, simulations=4, leaves=2)
    searched.run(*arrays(PASSING))
    expected = [[PASSING], [BLACK], [BLACK.play("c1")], [BLACK.play("c1").play("pass"), BLACK.play("c3")]]
    assert evaluate.asked == [[(position.own, position.opp) for position in batch] for batch in expected]
