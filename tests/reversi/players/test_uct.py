"""UCT counts its playouts, follows UCB1, finds the win, and depends on the seed and the position alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluator.match import Match
from evaluator.openings import random_openings
from evaluator.stats import score_of
from reversi.games.position import Position
from reversi.games.rng import stream
from reversi.games.rules import GAMES
from reversi.kernels.threads import Threads
from reversi.players import FlatMonteCarloPlayer, Player, RandomPlayer, UctPlayer
from reversi.players import uct as uct_module
from reversi.players.flat_mc import random_playouts
from reversi.players.uct import EXPANSION, Nodes, UctResult, best_child, grow_tree, make_nodes, random_game, uct


def search(positions: list[Position], playouts: int, seed: int = 1, threads: int = 1) -> UctResult:
    own, opp = (np.array([getattr(p, side) for p in positions], np.uint64) for side in ("own", "opp"))
    return uct(positions[0].game, own, opp, playouts, seed=seed, threads=Threads(threads))


def tree(position: Position, playouts: int) -> Nodes:
    nodes = make_nodes(playouts)
    grow_tree(position.game.id, np.uint64(position.own), np.uint64(position.opp), playouts, np.uint64(3), nodes)
    return nodes


def some(name: str, count: int, seed: int) -> list[Position]:
    rng = np.random.default_rng(seed)
    found: list[Position] = []
    while len(found) < count:
        position = Position.start(name)
        while not position.is_over and len(found) < count:
            found.append(position)
            position = position.play(int(rng.choice(position.legal_actions())))
    return found


@pytest.mark.parametrize("playouts", [1, 4, 5, 30, 400])
def test_every_playout_is_counted_once_through_a_legal_action(playouts: int) -> None:
    positions = some("reversi6", 60, 1)
    trees = search(positions, playouts)
    for position, action, visits, points in zip(positions, *trees, strict=True):
        legal = position.legal_actions()
        assert visits.sum() == visits[legal].sum() == (playouts if len(legal) > 1 else 1)
        assert (points >= 0).all()
        assert (points <= 2 * visits).all()
        assert visits[action] == visits.max()


def test_the_tree_is_sound_node_by_node() -> None:
    """A node's visits are its own playouts and its children's; what it scores is what they leave the other side."""
    nodes = tree(Position.start("reversi6"), 2000)
    inner = 0
    todo = [(0, Position.start("reversi6"))]
    while todo:
        node, position = todo.pop()
        assert (int(nodes.own[node]), int(nodes.opp[node])) == (position.own, position.opp)
        children = list(range(nodes.first[node], nodes.first[node] + nodes.children[node]))
        if not children:
            assert nodes.visits[node] <= EXPANSION or position.is_over
            continue
        inner += 1
        own_playouts = EXPANSION if node else 0
        assert sorted(nodes.action[children].tolist()) == position.legal_actions()
        assert nodes.visits[node] == own_playouts + nodes.visits[children].sum()
        left = 2 * nodes.visits[children].sum() - nodes.points[children].sum()
        assert left <= nodes.points[node] <= left + 2 * own_playouts
        todo += [(child, position.play(int(nodes.action[child]))) for child in children]
    assert nodes.visits[0] == 2000
    assert inner > 100


def test_the_child_of_the_highest_ucb1_is_taken_and_unvisited_ones_first() -> None:
    nodes = make_nodes(100)
    nodes.first[0], nodes.children[0], nodes.visits[0] = 1, 3, 60
    nodes.visits[1:4], nodes.points[1:4] = (40, 15, 5), (50, 20, 5)
    bounds = [p / 2 / n + math.sqrt(2 * math.log(60) / n) for n, p in ((40, 50), (15, 20), (5, 5))]
    assert best_child(nodes, 0) == 1 + int(np.argmax(bounds)) == 3
    nodes.visits[3], nodes.points[3] = 15, 1
    assert best_child(nodes, 0) == 2
    nodes.visits[2] = 0
    assert best_child(nodes, 0) == 2


def test_a_position_gets_the_same_tree_in_any_batch_and_on_any_threads() -> None:
    positions = some("reversi8", 30, 2)
    alone = [search([position], 60) for position in positions]
    for threads in (1, 2, 3):
        together = search(positions[::-1], 60, threads=threads)
        for b, one in enumerate(reversed(alone)):
            assert together.action[b] == one.action[0]
            assert (together.visits[b] == one.visits[0]).all()
            assert (together.points[b] == one.points[0]).all()
    assert (search(positions, 60, seed=2).visits != search(positions, 60).visits).any()
    assert len(search(positions, 60).action) == 30
    empty = np.zeros(0, np.uint64)
    assert uct(GAMES["reversi8"], empty, empty, 10, seed=1, threads=Threads(1)).visits.shape == (0, 65)


def test_random_games_are_those_of_flat_monte_carlo_on_average() -> None:
    position = Position.start("reversi6").play("c2").play("b2").play("a2")
    margins = [
        random_game(
            position.game.id, np.uint64(position.own), np.uint64(position.opp), np.uint64(stream(np.uint64(5), number))
        )
        for number in range(20_000)
    ]
    expected = random_playouts(position.game, position.own, position.opp, 20_000, seed=6, threads=Threads(1))
    spread = math.hypot(np.std(margins), np.std(expected)) / math.sqrt(20_000)
    assert abs(np.mean(margins) - expected.mean()) < 4.5 * spread
    over = Position.parse("XXXXXXXXXXXXXXOO X")
    assert random_game(over.game.id, np.uint64(over.own), np.uint64(over.opp), np.uint64(1)) == 12


def test_a_forced_win_is_found() -> None:
    """At once in the first, by stopping the other side in the second; and the centre is the best beginning."""
    winning, blocking = Position.parse("XX-OO---- X"), Position.parse("XX-O----- O")
    assert search([winning, blocking], 300).action.tolist() == [2, 2]
    visits = search([Position.start("tictactoe")], 20_000).visits[0]
    assert visits.argmax() == 4


def test_an_only_action_needs_no_playout() -> None:
    passing = next(p for seed in range(9) for p in some("reversi4", 200, seed) if p.legal_moves() == ["pass"])
    trees = search([passing], 1000)
    assert trees.action.tolist() == [16]
    assert trees.visits.sum() == 1


def test_a_tree_without_room_goes_on_with_the_leaves_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uct_module, "_CHILDREN", 0)
    trees = search([Position.start("reversi8")], 5000)
    assert trees.visits.sum() == 5000


def test_more_playouts_are_stronger_and_a_tree_is_better_than_none() -> None:
    game = GAMES["reversi6"]
    openings = random_openings(game, 60, 5, 1)

    def score(a: Player, b: Player) -> float:
        match = Match(game, a, b, openings, 120)
        match.round(60)
        return score_of(match.result()).score

    assert score(UctPlayer(game, 50, 1), RandomPlayer(game, np.random.default_rng(1))) > 0.9
    assert score(UctPlayer(game, 800, 1), UctPlayer(game, 50, 2)) > 0.75
    assert score(UctPlayer(game, 1500, 1), FlatMonteCarloPlayer(game, 150, np.random.default_rng(1))) > 0.75
