"""Bounds are never wrong, they decide as soon as they can, and they change nothing else."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from reversi.errors import ConfigError
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.search.apv_mcts import Search
from reversi.search.bounds import is_settled, is_worse, propagate_bounds
from reversi.search.params import SearchParams, params_of
from reversi.search.root import root_action, root_policy, root_value, set_root
from reversi.search.signature import HashEvaluator
from reversi.search.simulation import expand
from reversi.search.tree import Tree, add_node
from tests.configs import search_config
from tests.reversi.search.stubs import TableEvaluator, arrays, grow, make_tree, random_positions, root_edges

REVERSI4, REVERSI6 = GAMES["reversi4"], GAMES["reversi6"]
BOUNDED = params_of(search_config(bounds=True, min_visit_share=0.5))


@cache
def solve(position: Position) -> int:
    """Return the result under perfect play for the side to move, 1, 0 or -1, by looking at everything."""
    if position.is_over:
        return int(np.sign(position.margin))
    return max(-solve(position.play(action)) for action in position.legal_actions())


def some(game: Game, count: int, plies: int) -> list[Position]:
    """Return random positions of games that go on."""
    own, opp = random_positions(game, count, 7, plies=plies)
    positions = [Position(game, int(mine), int(theirs)) for mine, theirs in zip(own, opp, strict=True)]
    return [position for position in positions if not position.is_over]


def two_plies(lowers: list[list[float]], uppers: list[list[float]]) -> Tree:
    """Return the tree of 4x4's start and two of its moves, the leaves below which have the bounds given."""
    tree, game = make_tree(REVERSI4, 50), REVERSI4.id
    logits = np.zeros(REVERSI4.actions, np.float32)
    set_root(tree, game, BOUNDED, np.uint64(REVERSI4.start_own), np.uint64(REVERSI4.start_opp))
    expand(tree, game, BOUNDED, 0, logits)
    for move, (low, high) in enumerate(zip(lowers, uppers, strict=True)):
        middle = child(tree, 0, move)
        expand(tree, game, BOUNDED, middle, logits)
        assert tree.nodes["degree"][middle] == 3
        for reply, (lower, upper) in enumerate(zip(low, high, strict=True)):
            leaf = child(tree, middle, reply)
            tree.nodes["lower"][leaf], tree.nodes["upper"][leaf] = lower, upper
            propagate_bounds(tree, leaf)
    return tree


def child(tree: Tree, node: int, number: int) -> int:
    """Return the new node below an edge of `node`."""
    edge = tree.nodes["first"][node] + number
    above = Position(REVERSI4, int(tree.nodes["own"][node]), int(tree.nodes["opp"][node]))
    below = above.play(int(tree.edges["action"][edge]))
    return int(add_node(tree, REVERSI4.id, BOUNDED, node, int(edge), np.uint64(below.own), np.uint64(below.opp)))


def bounds(tree: Tree, node: int) -> tuple[float, float]:
    return float(tree.nodes["lower"][node]), float(tree.nodes["upper"][node])


@pytest.mark.parametrize(
    ("lowers", "uppers", "replier", "root"),
    [
        # the leaves are Black's again: a reply that wins for Black is worth -1 to White
        ([[1, 1, 1]], [[1, 1, 1]], (-1, -1), (1, 1)),  # all replies lose: Black has won, whatever other moves do
        ([[1, 1, -1]], [[1, 1, 1]], (-1, 1), (-1, 1)),  # one reply is open
        ([[1, 0, 1]], [[1, 0, 1]], (0, 0), (0, 1)),  # White's best is the draw
        ([[-1, -1, -1]], [[1, 0, 1]], (0, 1), (-1, 1)),  # one draws for White at least
        ([[-1, 0, 1]], [[-1, 0, 1]], (1, 1), (-1, 1)),  # White wins by one of them
        ([[0.25, 0.5, 1]], [[0.25, 0.5, 1]], (-0.25, -0.25), (0.25, 1)),  # margins, too
    ],
)
def test_bounds_by_hand(
    lowers: list[list[float]], uppers: list[list[float]], replier: tuple[float, float], root: tuple[float, float]
) -> None:
    tree = two_plies(lowers, uppers)
    assert bounds(tree, 1) == replier
    assert bounds(tree, 0) == root


def test_a_node_is_settled_when_nothing_else_can_be_better() -> None:
    draw, loss = [0.0, 0.0, 0.0], [-1.0, 1.0, 1.0]
    tree = two_plies([draw, loss, loss, loss], [draw, loss, loss, loss])
    assert bounds(tree, 0) == (0, 0)
    assert is_settled(tree, 0)
    open_ = two_plies([draw, loss, loss], [draw, loss, loss])
    assert bounds(open_, 0) == (0, 1)
    assert not is_settled(open_, 0)


def test_a_proven_win_is_the_end_of_it() -> None:
    tree = two_plies([[1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0]])
    assert is_settled(tree, 0), "nothing can be better, whatever the other three moves are worth"


Move = tuple[int, float, float, float]
"""Visits, mean value and the bounds of a move."""


def one_ply(*moves: Move, params: SearchParams = BOUNDED) -> Tree:
    """Return the tree of 4x4's start, whose first moves are these; the others have no visit."""
    tree = make_tree(REVERSI4, 50)
    set_root(tree, REVERSI4.id, params, np.uint64(REVERSI4.start_own), np.uint64(REVERSI4.start_opp))
    expand(tree, REVERSI4.id, params, 0, np.log(np.arange(1, REVERSI4.actions + 1, dtype=np.float32)))
    first = int(tree.nodes["first"][0])
    for number, (visits, mean, low, high) in enumerate(moves):
        node, edge = child(tree, 0, number), first + number
        tree.edges["visits"][edge], tree.edges["total"][edge] = visits, visits * mean
        tree.nodes["lower"][node], tree.nodes["upper"][node] = -high, -low
        propagate_bounds(tree, node)
    return tree


def policy_of(tree: Tree, params: SearchParams = BOUNDED) -> list[float]:
    """Return the policy of the four moves."""
    out = np.zeros(REVERSI4.actions, np.float32)
    root_policy(tree, params, out)
    return [float(out[action]) for action in root_edges(tree)["action"]]


LOST, DRAWN, WON = (-1, -1, -1), (0, 0, 0), (1, 1, 1)
"""Mean value and bounds of proven results."""


@pytest.mark.parametrize(
    ("moves", "worse", "played"),
    [
        # a bad move, one worth at most a draw that stands at 0, and a proven draw, which was visited less
        ([(40, -0.3, -1, 1), (40, 0.0, -1, 0), (30, *DRAWN)], [1], 2),
        ([(40, *LOST), (3, -0.97, -1, 1), (2, -0.98, -1, 1), (2, -0.99, -1, 1)], [0], 1),  # anything but a proven loss
        ([(40, *LOST), (3, -0.97, -1, 0), (20, *LOST), (2, -0.99, -1, 0.5)], [0, 2], 1),
        ([(40, *LOST), (20, *LOST), (30, *LOST)], [0, 1, 2], 3),  # the last one is open and has no visit
        ([(40, *LOST), (20, *LOST), (30, *LOST), (10, *LOST)], [], 0),
        ([(9, *DRAWN), (40, -0.1, -1, 1)], [], 0),  # the better expected value
        ([(9, *DRAWN), (40, 0.1, -1, 1)], [], 1),
        ([(40, *DRAWN), (9, 0.5, 0, 1), (9, *LOST)], [0, 2], 1),  # a draw that may be a win
        ([(40, *DRAWN), (9, 0.5, -1, 1), (9, *LOST)], [2], 0),  # few visits: its value says little
        ([(40, 0.9, -1, 1), (5, *WON), (9, *DRAWN)], [0, 2, 3], 1),
    ],
)
def test_what_is_proven_worse_is_not_played(moves: list[Move], worse: list[int], played: int) -> None:
    tree = one_ply(*moves)
    first = int(tree.nodes["first"][0])
    assert [number for number in range(4) if is_worse(tree, BOUNDED, first + number)] == worse
    assert root_action(tree, BOUNDED) == tree.edges["action"][first + played]
    policy = policy_of(tree)
    assert sum(policy) == pytest.approx(1)
    assert all(policy[number] == 0 for number in worse)
    assert policy[played] > 0


def test_without_a_visit_of_a_move_that_is_not_lost_the_priors_of_those_are_the_policy() -> None:
    tree = one_ply((40, *LOST), (20, *LOST))
    priors = root_edges(tree)["prior"][2:]
    assert policy_of(tree) == pytest.approx([0, 0, *(priors / priors.sum())])
    assert root_action(tree, BOUNDED) == root_edges(tree)["action"][3], "the larger prior"


def test_a_search_without_bounds_goes_by_its_visits_alone() -> None:
    params = params_of(search_config())
    tree = one_ply((40, *LOST), (10, -0.9, -1, 1), params=params)
    assert policy_of(tree, params) == pytest.approx([0.8, 0.2, 0, 0])
    assert root_action(tree, params) == root_edges(tree)["action"][0]


@pytest.mark.parametrize("every_move", [False, True])
@pytest.mark.parametrize(
    ("game", "plies", "simulations"), [(GAMES["tictactoe"], 3, 16), (GAMES["tictactoe"], 4, 16), (REVERSI6, 21, 64)]
)
def test_a_proven_loss_is_played_only_where_every_move_is_lost(
    game: Game, plies: int, simulations: int, every_move: bool
) -> None:
    config = search_config(simulations=simulations, bounds=True, min_visit_share=0.5, wipeouts=True, solve_empties=8)
    search = Search(game, config, HashEvaluator(game), 1, every_move=every_move)
    mixed = 0
    for position in some(game, 150, plies):
        result = search.run(*position.as_batch())
        found = search.report(0)
        lost = [each.action for each in found if each.certain and each.value == -1]
        assert (found[0].action in lost) == search.is_proven(0) * (result.value[0] == -1)
        if 0 < len(lost) < len(found) and not search.is_proven(0):
            mixed += 1
            assert {each.action for each in found[-len(lost) :]} == set(lost), "they are the last ones"
            assert not result.policy[0, lost].any()
            assert result.policy[0].sum() == pytest.approx(1)
    assert mixed > 5


def test_a_position_is_proven_where_its_result_is_known() -> None:
    """All tic-tac-toe positions of some games: proven ones have the result of perfect play; a best move that is proven
    drawn does not prove one."""
    game = GAMES["tictactoe"]
    config = search_config(simulations=24, bounds=True, min_visit_share=0.5)
    search, proven, best_alone = Search(game, config, HashEvaluator(game), 1, every_move=True), 0, 0
    for plies in range(9):
        for position in some(game, 20, plies):
            result = search.run(*position.as_batch())
            best, *others = search.report(0)
            if search.is_proven(0):
                proven += 1
                assert (best.certain, best.value, result.value[0]) == (True, solve(position), solve(position))
            else:
                best_alone += best.certain
                assert not all(each.certain for each in (best, *others))
                assert best.value != 1
    assert proven > 20
    assert best_alone > 0


@pytest.mark.parametrize(("game", "plies"), [(REVERSI4, 6), (REVERSI6, 25)])
@pytest.mark.parametrize("simulations", [10, 40, 300])
def test_bounds_of_every_node_hold_what_perfect_play_makes_of_it(game: Game, plies: int, simulations: int) -> None:
    evaluate, known, nodes = HashEvaluator(game), 0, 0
    for position in some(game, 20, plies):
        tree = make_tree(game, simulations)
        set_root(tree, game.id, BOUNDED, np.uint64(position.own), np.uint64(position.opp))
        grow(tree, game, BOUNDED, simulations, evaluate)
        for node in range(tree.used[0]):
            at = Position(game, int(tree.nodes["own"][node]), int(tree.nodes["opp"][node]))
            lower, upper = bounds(tree, node)
            assert lower <= solve(at) <= upper
            known += lower == upper
            nodes += 1
        if is_settled(tree, 0):
            assert root_value(tree) == solve(position)
            action = root_action(tree, BOUNDED)
            assert -solve(position.play(action)) == solve(position)
            policy = np.zeros(game.actions, np.float32)
            root_policy(tree, BOUNDED, policy)
            assert policy.sum() == pytest.approx(1)
            assert all(-solve(position.play(int(a))) == solve(position) for a in np.flatnonzero(policy))
        else:
            assert root_value(tree) < 1, "a proven win settles the root"
    assert 0 < known < nodes


@pytest.mark.parametrize("leaves", [1, 8])
@pytest.mark.parametrize("solve_empties", [0, 4])
def test_the_ends_of_games_are_settled(leaves: int, solve_empties: int) -> None:
    """A network that knows nothing, whose search without proofs is as sure of no position with a wrong move."""
    positions = some(REVERSI6, 60, 25)
    worth = np.array([solve(position) for position in positions])
    share = {}
    for bounds in (False, True):
        config = search_config(simulations=500, leaves=leaves, solve_empties=solve_empties, bounds=bounds)
        result = Search(REVERSI6, config, HashEvaluator(REVERSI6), len(positions)).run(*arrays(*positions))
        settled = result.value == worth
        share[bounds] = settled.mean()
        for position, action in zip(np.array(positions, object)[settled], result.action[settled], strict=True):
            assert -solve(position.play(int(action))) == solve(position)
    assert share[True] > max(0.9, 2 * share[False])


def test_nothing_changes_where_nothing_is_certain() -> None:
    own, opp = random_positions(REVERSI6, 20, 5, plies=8)
    one, other = (
        Search(REVERSI6, search_config(simulations=100, bounds=bounds), HashEvaluator(REVERSI6), 20).run(own, opp)
        for bounds in (False, True)
    )
    np.testing.assert_array_equal(one.visits, other.visits)
    np.testing.assert_array_equal(one.value, other.value)


def test_a_search_that_is_settled_ends() -> None:
    position = some(REVERSI6, 1, 28)[0]
    evaluate = TableEvaluator(REVERSI6)
    found = Search(REVERSI6, search_config(simulations=100_000, bounds=True), evaluate, 1).run(*arrays(position))
    assert found.value[0] == solve(position)
    assert found.visits.sum() < 2000


def test_gumbel_knows_no_bounds() -> None:
    with pytest.raises(ConfigError, match=r"search\.bounds must be false"):
        search_config(method="gumbel", bounds=True)


def every_move(game: Game, position: Position, simulations: int, **changes: object) -> Search:
    """Return a search of every move that has run."""
    config = search_config(simulations=simulations, bounds=True, **changes)
    search = Search(game, config, HashEvaluator(game), 1, every_move=True)
    search.run(*position.as_batch())
    return search


@pytest.mark.parametrize("leaves", [1, 8])
@pytest.mark.parametrize(("game", "plies"), [(REVERSI4, 6), (REVERSI6, 26)])
def test_a_search_of_every_move_proves_every_move(game: Game, plies: int, leaves: int) -> None:
    for position in some(game, 10, plies):
        found = every_move(game, position, 5000, leaves=leaves, wipeouts=True).report(0)
        assert {each.action: each.value for each in found} == {
            action: -solve(position.play(action)) for action in position.legal_actions()
        }
        assert all(each.certain for each in found)
        assert [each.value for each in found] == sorted((each.value or 0 for each in found), reverse=True)


def test_moves_that_are_proven_get_no_more_visits() -> None:
    position = Position.parse("O--X-XOOOXOOOOOXX--XOOXXXOXXOOO---XO X")
    few, many = (every_move(REVERSI6, position, simulations, wipeouts=True).report(0) for simulations in (400, 600))
    later = {each.action: each for each in many}
    proven = [each for each in few if each.certain]
    assert 0 < len(proven) < len(few)
    assert all(later[each.action].visits == each.visits for each in proven)
    assert (sum(each.visits for each in few), sum(each.visits for each in many)) == (400, 600)


DECIDED = [
    ("--------------XX----O--------------- X", {}),  # wins at once
    ("OXXXXXOOXXXXOXOXXXOXXOXXOXOXOXO----- X", {"solve_empties": 12}),
]


@pytest.mark.parametrize(("text", "changes"), DECIDED)
@pytest.mark.parametrize("simulations", [1, 3, 300])
def test_a_decided_root_keeps_its_result_and_the_other_moves_are_searched(
    text: str, changes: dict[str, int], simulations: int
) -> None:
    position = Position.parse(text)
    config = search_config(simulations=simulations, bounds=True, wipeouts=True, **changes)
    playing = Search(REVERSI6, config, HashEvaluator(REVERSI6), 1).run(*position.as_batch())
    search = Search(REVERSI6, config, HashEvaluator(REVERSI6), 1, every_move=True)
    result = search.run(*position.as_batch())
    for name in ("value", "policy", "action"):
        np.testing.assert_array_equal(getattr(result, name), getattr(playing, name))
    found = search.report(0)
    assert sorted(each.action for each in found) == position.legal_actions()
    assert (found[0].action, found[0].value, found[0].certain) == (playing.action[0], playing.value[0], True)
    assert (playing.visits.sum(), result.prior.sum()) == (0, pytest.approx(1))
    assert 0 < result.visits.sum() <= simulations
    if simulations == 300:
        assert all(each.visits > 0 for each in found)


def test_a_search_of_every_move_of_a_finished_game_is_none() -> None:
    search = Search(REVERSI4, search_config(simulations=8), HashEvaluator(REVERSI4), 1, every_move=True)
    result = search.run(np.array([1], np.uint64), np.array([0], np.uint64))
    assert (result.value[0], result.action[0], search.report(0)) == (1, -1, [])
