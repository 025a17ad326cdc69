"""Alpha-beta is plain negamax, with and without its table and in every orientation; limits and a stop are kept."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from reversi.alphabeta import alphabeta as module
from reversi.alphabeta.alphabeta import AlphaBeta
from reversi.alphabeta.cuts import NO_WIDTHS
from reversi.games.position import Position
from reversi.games.rules import game_named, reversi_of_size
from reversi.games.symmetry import transform_masks
from reversi.patterns.shapes import shapes_of
from reversi.patterns.tables import DISC, PatternTables, tables_of
from reversi.solver.solver import Solver
from tests.reversi.alphabeta.negamax import positions, tables_for, value_of

COUNTS = {"reversi4": 200, "reversi6": 120, "reversi8": 100}
DEEPEST = {"reversi4": 5, "reversi6": 5, "reversi8": 4}


def plain(name: str) -> AlphaBeta:
    """Return a search without selective cut-offs."""
    return AlphaBeta(game_named(name), tables_for(name), widths=NO_WIDTHS)


def values(search: AlphaBeta, position: Position, depth: int) -> dict[int, int]:
    """Return the value of every move."""
    found = search.run(position.own, position.opp, depth=depth, every=True, fresh=True)
    return dict(zip(found.actions, found.values, strict=True))


@pytest.mark.parametrize("name", COUNTS)
def test_it_is_negamax(name: str) -> None:
    """To depth 5 on hundreds of positions, passes and ends included."""
    search, tables, passes, exact = plain(name), tables_for(name), 0, 0
    for position in positions(name, COUNTS[name], seed=1):
        for depth in range(1, DEEPEST[name] + 1):
            found = search.run(position.own, position.opp, depth=depth, fresh=True)
            assert found.values[0] == value_of(tables, position, depth), (str(position), depth)
            after = position.play(found.actions[0])
            passing = position.legal_actions() == [position.game.pass_action]
            assert found.values[0] == -value_of(tables, after, depth if passing else depth - 1)
            passes += passing
            exact += found.exact
    assert passes > 0
    assert exact > 20


@pytest.mark.parametrize("name", COUNTS)
def test_every_move_has_its_value(name: str) -> None:
    search, tables = plain(name), tables_for(name)
    for position in positions(name, 40, seed=2):
        found = values(search, position, 3)
        passing = position.legal_actions() == [position.game.pass_action]
        expected = {a: -value_of(tables, position.play(a), 3 if passing else 2) for a in position.legal_actions()}
        assert found == expected
        assert list(found.values()) == sorted(expected.values(), reverse=True)


@pytest.mark.parametrize("name", ["reversi4", "reversi6"])
def test_where_the_depth_reaches_the_end_it_is_the_solver(name: str) -> None:
    game, search, solver = game_named(name), plain(name), Solver(name)
    near = [p for p in positions(name, 150, seed=3) if p.empties <= 13]
    assert len(near) > 30
    for position in near:
        score = solver.solve(position.own, position.opp).score
        found = search.run(position.own, position.opp, depth=60)
        assert found.exact
        assert found.values[0] == DISC * score
        every = search.run(position.own, position.opp, depth=60, every=True)
        assert every.exact
        assert every.values[0] == DISC * score
    assert game.squares >= 16


def test_a_tree_worked_out_by_hand() -> None:
    """A corner is worth 10 discs, a centre square half a disc, an edge square minus one.

    After any first move the mover has three centre squares and one of the edge, the other side one of the centre:
    0.5 - (1.5 - 1) = 0 for that side.  It can turn one centre square from the edge (two and two, one edge each: 0), or
    through the diagonal from the corner: 10 + 1 - (1 - 1) = 11.
    """
    game = reversi_of_size(4)
    shapes = shapes_of(("a1", "b1", "b2"), 4)
    tables = np.zeros((1, shapes.weights), np.int16)
    for pattern, worth in enumerate((640, -64, 32)):
        own, opp = shapes.canonical[3 * pattern + 1], shapes.canonical[3 * pattern + 2]
        tables[0, own], tables[0, opp] = worth, -worth
    one, none = np.ones(1, np.float32), np.zeros(1, np.int16)
    search = AlphaBeta(game, tables_of(shapes, 60, tables, none, one, one), widths=NO_WIDTHS)
    start = Position.start(game)
    assert search.run(start.own, start.opp, depth=1, every=True, fresh=True).values == (0, 0, 0, 0)
    assert search.run(start.own, start.opp, depth=2, every=True, fresh=True).values == (-704,) * 4
    reply = start.play("b1")
    assert values(search, reply, 1) == {0: 704, 2: 0, 8: 0}


@pytest.mark.parametrize("name", COUNTS)
def test_the_table_changes_no_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two slots it holds hardly anything."""
    search = plain(name)
    monkeypatch.setattr(module, "TABLE_BITS", 1)
    small = plain(name)
    depth, nodes = 7 if name != "reversi8" else 6, np.zeros(2, int)
    for position in positions(name, 15, seed=4):
        full = search.run(position.own, position.opp, depth=depth, fresh=True)
        tiny = small.run(position.own, position.opp, depth=depth, fresh=True)
        assert full.values[0] == tiny.values[0]
        nodes += full.nodes, tiny.nodes
    assert nodes[0] < nodes[1] or name == "reversi4"


@pytest.mark.parametrize("name", COUNTS)
def test_the_eight_images_of_a_position_have_one_value(name: str) -> None:
    game, search = game_named(name), plain(name)
    for position in positions(name, 10, seed=5):
        found = set()
        for symmetry in range(8):
            own, opp = (transform_masks(game.id, mask, symmetry)[0] for mask in position.as_batch())
            found.add(search.run(int(own), int(opp), depth=5, fresh=True).values[0])
        assert len(found) == 1


def test_a_fixed_depth_or_number_of_nodes_depends_on_the_position_alone() -> None:
    search, other = (AlphaBeta(game_named("reversi8"), tables_for("reversi8")) for _ in range(2))
    some = positions("reversi8", 12, seed=6)
    for limit in ({"depth": 6}, {"nodes": 5000}):
        first = [search.run(p.own, p.opp, **limit, fresh=True) for p in some]
        again = [other.run(p.own, p.opp, **limit, fresh=True) for p in reversed(some)][::-1]
        assert [(f.actions, f.values, f.nodes) for f in first] == [(f.actions, f.values, f.nodes) for f in again]
    assert all(f.nodes < 10_000 for f in first if not f.exact)


def test_selective_cut_offs_save_most_of_the_time_and_change_little() -> None:
    tables = tables_for("reversi8")
    cut, full = AlphaBeta(game_named("reversi8"), tables), plain("reversi8")
    assert (cut._context.widths[:, 3:] > 0).all()
    some = [p for p in positions("reversi8", 40, seed=7) if 25 < p.empties < 50][:10]
    results = [[search.run(p.own, p.opp, depth=8, fresh=True) for p in some] for search in (cut, full)]
    nodes = [sum(found.nodes for found in each) for each in results]
    assert nodes[0] < nodes[1] / 2


def test_a_stop_and_a_time_limit_return_a_legal_move() -> None:
    search = plain("reversi8")
    position = next(p for p in positions("reversi8", 20, seed=8) if p.empties > 40)
    found = search.run(position.own, position.opp, seconds=0.1)
    assert found.seconds > 0.05
    assert sorted(found.actions) == position.legal_actions()
    assert found.depth >= 1
    timer = threading.Timer(0.1, search.stop)
    timer.start()
    found = search.run(position.own, position.opp)  # would take hours
    assert set(found.actions) == set(position.legal_actions())


def test_no_time_at_all_is_enough_for_a_legal_move() -> None:
    search = plain("reversi8")
    for position in positions("reversi8", 30, seed=9):
        assert search.run(position.own, position.opp, seconds=0.0).actions[0] in position.legal_actions()
        assert search.run(position.own, position.opp, nodes=1).actions[0] in position.legal_actions()


def test_with_time_the_end_is_exact() -> None:
    search, solver = plain("reversi6"), Solver("reversi6")
    for position in positions("reversi6", 40, seed=10):
        if position.empties <= 14:
            found = search.run(position.own, position.opp, seconds=2.0)
            assert found.exact
            assert found.values[0] == DISC * solver.solve(position.own, position.opp).score
            assert found.seconds < 1.5


def test_the_principal_variation_is_legal_and_has_the_search_s_depth() -> None:
    search = plain("reversi8")
    for position in positions("reversi8", 20, seed=11):
        found = search.run(position.own, position.opp, depth=6, fresh=True)
        line, at = search.line(position.own, position.opp, found.actions[0]), position
        assert line[0] == found.actions[0]
        for action in line:
            at = at.play(action)
        assert found.exact or len(line) >= 4


def test_after_the_last_generation_the_table_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_GENERATION", 3)
    search, tables = plain("reversi6"), tables_for("reversi6")
    for position in positions("reversi6", 12, seed=12):
        found = search.run(position.own, position.opp, depth=4, fresh=True)
        assert found.values[0] == value_of(tables, position, 4)


def test_tables_are_never_worth_more_than_a_won_board() -> None:
    """Weights as large as int16 allows, where the sum of all is far beyond 64 discs."""
    game = game_named("reversi6")
    huge = tables_for("reversi6")
    huge = PatternTables(huge.lookup, (huge.tables * 100).astype(np.int16), *huge[2:])
    search = AlphaBeta(game, huge, widths=NO_WIDTHS)
    for position in positions("reversi6", 20, seed=13):
        assert abs(search.run(position.own, position.opp, depth=3).values[0]) <= DISC * game.squares
