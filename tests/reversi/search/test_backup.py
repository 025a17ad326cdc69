"""Soft backups: a golden tree by hand, and a slow reference for every node of larger ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reversi.errors import ConfigError
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.apv_mcts import Search
from reversi.search.params import params_of
from reversi.search.root import set_root
from reversi.search.signature import HashEvaluator
from reversi.search.tree import Tree
from tests.configs import search_config
from tests.reversi.search.stubs import TableEvaluator, arrays, grow, make_tree, random_positions

START = Position.start("reversi4")
B1, A2, D3 = 1, 4, 11
TEMPERATURE = 0.2


@pytest.mark.parametrize(
    ("simulations", "visits", "value"),
    [
        # b1, as without: the only move visited is the best one.
        (1, {B1: 1}, (0.5 - 0.6) / 2),
        # a2, worth .2: b1 is .8 = 4 temperatures below it, which leaves e**-4 of its visit.
        (2, {B1: 1, A2: 1}, (0.5 + 0.2 - 0.6 * math.exp(-4)) / (2 + math.exp(-4))),
        # The value is .341 and not .033, so d3 has .341 + .2*1.732 = .688 and a2 .2 + .3*1.732/2 = .460: d3, worth 0,
        # one temperature below a2.
        (3, {B1: 1, A2: 1, D3: 1}, (0.5 + 0.2 - 0.6 * math.exp(-4)) / (2 + math.exp(-1) + math.exp(-4))),
    ],
)
def test_golden_tree(simulations: int, visits: dict[int, int], value: float) -> None:
    answers = {
        START: ({"b1": 0.4, "a2": 0.3, "d3": 0.2, "c4": 0.1}, 0.5),
        START.play("b1"): ({}, 0.6),
        START.play("a2"): ({}, -0.2),
        START.play("d3"): ({}, 0.0),
    }
    config = search_config(simulations=simulations, c_puct=1, fpu_reduction=0, backup_temperature=TEMPERATURE)
    result = Search(START.game, config, TableEvaluator(START.game, answers), 1).run(*arrays(START))
    assert {int(a): int(result.visits[0, a]) for a in np.flatnonzero(result.visits[0])} == visits
    assert result.value[0] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("name", ["reversi4", "reversi6", "tictactoe"])
def test_every_node_has_the_soft_value_of_its_moves(name: str, bounds: bool) -> None:
    """Passes, forced replies, finished games and settled nodes included."""
    game = GAMES[name]
    params = params_of(search_config(simulations=150, bounds=bounds, backup_temperature=TEMPERATURE))
    checked = 0
    for own, opp in zip(*random_positions(game, 12, 3), strict=True):
        tree = make_tree(game, 150)
        set_root(tree, game.id, params, own, opp)
        grow(tree, game, params, 60, HashEvaluator(game))
        for node in range(tree.used[0]):
            checked += _check(tree, node)
    assert checked > 100


def _check(tree: Tree, index: int) -> bool:
    """Assert that a node with visited moves has their soft value; return whether it has any."""
    node = tree.nodes[index]
    edges = tree.edges[node["first"] : node["first"] + max(0, node["degree"])]
    entry, seen = tree.edges[node["entry"]], edges[edges["visits"] > 0]
    if len(seen) == 0:
        return False
    visits, values = seen["visits"].astype(float), seen["total"].astype(float) / seen["visits"]
    weights = visits * np.exp((values - values.max()) / TEMPERATURE)
    own = float(len(edges) > 1)
    expected = (own * node["value"] + (weights * values).sum()) / (own + weights.sum())
    assert -entry["total"] / entry["visits"] == pytest.approx(np.clip(expected, node["lower"], node["upper"]), abs=1e-5)
    return True


def test_gumbel_has_values_of_its_own() -> None:
    with pytest.raises(ConfigError, match=r"search\.backup_temperature must be 0 with search\.method=gumbel"):
        search_config(method="gumbel", backup_temperature=TEMPERATURE)
