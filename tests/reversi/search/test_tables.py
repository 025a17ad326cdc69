"""A search with tables is that of a slow twin, and but for the values of its moves the one that asks for its leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import game_named
from reversi.model.evaluate import Evaluator, open_evaluator
from reversi.patterns.evaluate import judge_positions
from reversi.search.apv_mcts import SLICE, Search
from reversi.search.config import SearchConfig
from reversi.search.params import params_of
from reversi.search.tree import nodes_for
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
def test_the_result_is_that_of_asking_for_every_leaf(
    name: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With means, which a search that asks for its leaves has; the values of all moves come below."""
    monkeypatch.setattr("reversi.search.apv_mcts.params_of", lambda config, *, tables, every_move: params_of(config))
    game, config = game_named(name), search_config(**options)
    own, opp = random_positions(game, 20, 5)
    model = open_evaluator(weights(game, config=PATTERNS), margin_weight=config.margin_weight)
    inside = Search(game, config, model, 20).run(own, opp)
    asked = Search(game, config, lambda own, opp: model(own, opp), 20).run(own, opp)
    for field in FIELDS:
        np.testing.assert_allclose(getattr(inside, field), getattr(asked, field), rtol=0, atol=2e-6)
    assert (inside.visits == asked.visits).all()


@dataclass
class Move:
    """A move of a node; its value is for the side that makes it."""

    action: int
    prior: float
    value: float
    visits: int = 0
    child: Node | None = None


class Node:
    """A position whose moves the tables have judged, all but the only one of a node with a single reply."""

    def __init__(self, position: Position, model: Evaluator, config: SearchConfig) -> None:
        self.position, self.visits, self.moves = position, 0, list[Move]()
        if not position.is_over:
            tables, game = model.tables, position.game
            actions = position.legal_actions()
            logits, out = np.zeros((1, game.actions), np.float32), np.zeros((1, 2), np.float32)
            judge_positions(tables, game.id, *position.as_batch(), logits, out)
            discs = (position.own | position.opp).bit_count()
            phase = min((discs - 4) // tables.phase_discs, len(tables.bias) - 1)
            powers = np.exp((logits[0, actions] - logits[0, actions].max()) / config.policy_temperature)
            for action, power in zip(actions, powers, strict=True):
                margin = logits[0, action] * tables.temperature[phase]
                wins, losses = (1 / (1 + np.exp((1 - sign * margin) / tables.width[phase])) for sign in (1, -1))
                value = wins - losses if len(actions) > 1 else out[0, 0]
                weight = config.margin_weight
                share = np.clip(margin / game.squares, -1, 1) if len(actions) > 1 else out[0, 1]
                self.moves.append(Move(action, power / powers.sum(), value + weight * (share - value)))

    def value(self, config: SearchConfig) -> float:
        """For the side to move."""
        if self.position.is_over:
            margin = self.position.margin
            won = float(np.sign(margin))
            return won + config.margin_weight * (margin / self.position.game.squares - won)
        return max(move.value for move in self.moves)


class SlowSearch:
    """One tree: the best score leads down to a new position with a choice, and values are those of the best moves."""

    def __init__(self, position: Position, model: Evaluator, config: SearchConfig) -> None:
        self.model, self.config = model, config
        self.root = Node(position, model, config)
        self.nodes = self.root.visits = 1
        for done in range(config.simulations):
            self.left = config.simulations - done
            self._through(self.root)

    def _through(self, node: Node) -> None:
        node.visits += 1
        if not node.moves:
            return
        explore = self.config.c_puct * np.sqrt(node.visits - 1)
        best = max(node.moves, key=lambda move: explore * move.prior / (1 + move.visits) + move.value)
        if best.child is None:
            best.child = Node(node.position.play(best.action), self.model, self.config)
            self.nodes += 1
            if len(best.child.moves) == 1 and self.nodes + self.left < nodes_for(self.config.simulations):
                self._through(best.child)
            else:
                best.child.visits = 1
        else:
            self._through(best.child)
        best.visits += 1
        best.value = -best.child.value(self.config)


@pytest.mark.parametrize("margin_weight", [0.0, 0.3])
@pytest.mark.parametrize("name", ["reversi4", "reversi6"])
def test_a_puct_search_is_minimax_over_the_values_of_all_moves(name: str, margin_weight: float) -> None:
    game = game_named(name)
    options = {"margin_weight": margin_weight, "policy_temperature": 2.0, "c_puct": 0.8, "solve_empties": 0}
    config = search_config(simulations=70, wipeouts=False, **options)
    own, opp = random_positions(game, 20, 5)
    model = open_evaluator(weights(game, config=PATTERNS), margin_weight=margin_weight)
    found = Search(game, config, model, 20).run(own, opp)
    for b in range(20):
        root = SlowSearch(Position(game, int(own[b]), int(opp[b])), model, config).root
        assert {move.action: move.visits for move in root.moves} == {
            action: found.visits[b, action] for action in root.position.legal_actions()
        }
        assert found.value[b] == pytest.approx(root.value(config), abs=1e-5)


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
