"""Whoever can turn every disc of the other side has won: the search knows without asking the network."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.apv_mcts import Search
from reversi.search.bounds import propagate_bounds
from reversi.search.params import params_of
from reversi.search.root import set_root
from reversi.search.simulation import expand
from reversi.search.tree import PENDING, TERMINAL, add_node
from tests.configs import search_config
from tests.reversi.search.stubs import CountingHashEvaluator, TableEvaluator, arrays, make_tree

REVERSI6 = GAMES["reversi6"]

TRAP = Position.parse("------OXO----O---------------------- X")
"""X has b2, O has a2, c2 and b3.  d2 turns c2, whereupon e2 turns b2, c2 and d2, all that X has; after b4, which turns
b3, no reply turns all of b2, b3 and b4."""

WON = TRAP.play("d2")
"""O wins at once by e2, with all six discs then on the board; b1 and d1 turn one disc."""


def test_the_positions_are_what_they_are_said_to_be() -> None:
    assert TRAP.legal_moves() == ["d2", "b4"]
    assert {move: WON.play(move).is_over for move in WON.legal_moves()} == {"b1": False, "d1": False, "e2": True}
    assert WON.play("e2").black_margin == -6
    safe = TRAP.play("b4")
    assert not any(safe.play(move).is_over for move in safe.legal_moves())


@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_a_win_at_once_is_played_and_nothing_asked(method: str) -> None:
    asked = CountingHashEvaluator(REVERSI6)
    found = Search(REVERSI6, search_config(simulations=20, method=method, wipeouts=True), asked, 1).run(*arrays(WON))
    assert asked.batches == []
    assert found.value[0] == 1
    assert WON.play(int(found.action[0])).is_over
    assert np.flatnonzero(found.policy[0]).tolist() == [found.action[0]]
    assert found.policy[0].sum() == 1


@pytest.mark.parametrize("margin_weight", [0.0, 0.5])
@pytest.mark.parametrize("bounds", [False, True])
def test_a_move_that_lets_the_other_side_turn_everything_is_not_played(bounds: bool, margin_weight: float) -> None:
    """The network loves it: nearly all of the prior, and a reply that looks lost."""
    answers = {TRAP: ({"d2": 0.8, "b4": 0.2}, 0.9), WON: (dict.fromkeys(WON.legal_moves(), 1.0), -0.9)}
    config = search_config(simulations=40, bounds=bounds, margin_weight=margin_weight, wipeouts=True)
    evaluate = TableEvaluator(REVERSI6, answers)
    found = Search(REVERSI6, config, evaluate, 1).run(*arrays(TRAP))
    assert TRAP.play(int(found.action[0])) == TRAP.play("b4")
    asked = {position for batch in evaluate.asked for position in batch}
    assert ((WON.own, WON.opp) in asked) == (margin_weight > 0), "where margins count, there may be more to win"


def test_where_margins_count_it_is_a_lower_bound_that_searching_on_does_not_lower() -> None:
    params, tree = params_of(search_config(bounds=True, margin_weight=0.5, wipeouts=True)), make_tree(REVERSI6, 20)
    set_root(tree, REVERSI6.id, params, np.uint64(WON.own), np.uint64(WON.opp))
    sure = 0.5 + 0.5 * 6 / 36
    assert tree.nodes["degree"][0] == PENDING
    assert (tree.nodes["lower"][0], tree.nodes["upper"][0]) == (pytest.approx(sure), 1)
    expand(tree, REVERSI6.id, params, 0, np.zeros(REVERSI6.actions, np.float32))
    below = WON.play(int(tree.edges["action"][1]))
    child = add_node(tree, REVERSI6.id, params, 0, 1, np.uint64(below.own), np.uint64(below.opp))
    tree.nodes["lower"][child] = tree.nodes["upper"][child] = 0.75
    propagate_bounds(tree, child)
    assert tree.nodes["lower"][0] == pytest.approx(sure)


@pytest.mark.parametrize("bounds", [False, True])
def test_where_margins_count_one_that_fills_the_board_ends_the_search(bounds: bool) -> None:
    """Nothing is better, so its move is known although no edge below the root has been searched."""
    last = Position.parse("XOOOO-" + "X" * 30 + " X")
    config, tree = search_config(simulations=8, bounds=bounds, margin_weight=0.1, wipeouts=True), make_tree(REVERSI6, 8)
    set_root(tree, REVERSI6.id, params_of(config), np.uint64(last.own), np.uint64(last.opp))
    assert (tree.nodes["degree"][0], tree.nodes["value"][0]) == (TERMINAL, 1)
    asked = CountingHashEvaluator(REVERSI6)
    found = Search(REVERSI6, config, asked, 1).run(*arrays(last))
    assert (last.play(int(found.action[0])).black_margin, found.value[0], asked.batches) == (36, 1, [])


def test_where_only_winning_counts_the_node_is_over() -> None:
    params, tree = params_of(search_config(wipeouts=True)), make_tree(REVERSI6, 20)
    set_root(tree, REVERSI6.id, params, np.uint64(WON.own), np.uint64(WON.opp))
    node = tree.nodes[0]
    assert (node["degree"], node["value"], node["lower"], node["upper"]) == (TERMINAL, 1, 1, 1)
