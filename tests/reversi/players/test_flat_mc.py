"""Random playouts are uniform, the same on any number of threads, and right; flat Monte Carlo spreads its games evenly
and finds the win.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.games.position import Position
from reversi.games.rng import stream
from reversi.games.rules import GAMES, TICTACTOE, Game
from reversi.kernels.threads import Threads
from reversi.players import flat_mc
from reversi.players.flat_mc import (
    BLOCK,
    FlatMcResult,
    flat_monte_carlo,
    list_children,
    make_children,
    play_out,
    random_playouts,
)

SIGMAS = 4.5
"""Counts are compared at this many standard deviations: a right generator fails once in 150,000 comparisons."""


def masks(*positions: Position) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    return np.array([p.own for p in positions], np.uint64), np.array([p.opp for p in positions], np.uint64)


def search(positions: list[Position], playouts: int, seed: int = 1, threads: int = 1) -> FlatMcResult:
    game = positions[0].game
    return flat_monte_carlo(game, *masks(*positions), playouts, seed=seed, threads=Threads(threads))


def playouts(position: Position, count: int, seed: int = 1, threads: int = 1) -> NDArray[np.int16]:
    return random_playouts(position.game, position.own, position.opp, count, seed=seed, threads=Threads(threads))


def exact(position: Position) -> tuple[float, float]:
    """Chances of a win and a draw for the side to move under uniformly random play: the slow and obvious way."""
    if position.is_over:
        return float(position.margin > 0), float(position.margin == 0)
    win = draw = 0.0
    actions = position.legal_actions()
    for action in actions:
        theirs, drawn = exact(position.play(action))
        win += (1 - theirs - drawn) / len(actions)
        draw += drawn / len(actions)
    return win, draw


def test_tictactoe_comes_out_as_the_whole_tree_says() -> None:
    win, draw = exact(Position.start("tictactoe").play("b2").play("a1"))
    margins = playouts(Position.start("tictactoe").play("b2").play("a1"), 40_000)
    assert abs((margins > 0).mean() - win) < SIGMAS * np.sqrt(win * (1 - win) / len(margins))
    assert abs((margins == 0).mean() - draw) < SIGMAS * np.sqrt(draw * (1 - draw) / len(margins))


def test_a_4x4_position_comes_out_as_the_whole_tree_says() -> None:
    position = Position.start("reversi4").play("a2").play("a1").play("b1").play("c1")
    win, draw = exact(position)
    margins = playouts(position, 40_000)
    assert 0.05 < win < 0.95
    assert abs((margins > 0).mean() - win) < SIGMAS * np.sqrt(win * (1 - win) / len(margins))
    assert abs((margins == 0).mean() - draw) < SIGMAS * np.sqrt(draw * (1 - draw) / len(margins))


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_a_seed_gives_the_same_playouts_in_blocks_of_any_size(game: Game) -> None:
    start = Position(game, game.start_own, game.start_opp)
    long = playouts(start, 3 * BLOCK + 5)
    assert (playouts(start, 7) == long[:7]).all()
    assert len(playouts(start, 0)) == 0
    assert (playouts(start, len(long), seed=2) != long).any()
    limit = 1 if game.id == TICTACTOE else game.squares
    assert np.abs(long).max() <= limit
    assert len(set(long.tolist())) > 2


@pytest.mark.parametrize("count", [0, 1, 2, BLOCK - 1, 2 * BLOCK + 1])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_play_the_same_playouts(count: int, threads: int) -> None:
    start = Position.start("reversi6")
    assert (playouts(start, count, 3, threads) == playouts(start, count, 3)).all()


@pytest.mark.parametrize("count", [1, 5, 150])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_find_the_same_in_flat_monte_carlo(count: int, threads: int) -> None:
    rng = np.random.default_rng(count)
    positions = [walk("reversi6", int(plies), rng) for plies in rng.integers(0, 25, 40)]
    positions = [position for position in positions if not position.is_over]
    alone = search(positions, count, 7)
    together = search(positions, count, 7, threads)
    assert (together.wins == alone.wins).all()
    assert (together.tried == alone.tried).all()


def test_the_wins_are_those_of_the_playouts_one_by_one() -> None:
    position = Position.start("reversi6").play("c2")
    wins, tried = search([position], 10)
    margins, number = {}, 0
    children = make_children(position.game, 1)
    found = list_children(position.game.id, *masks(position), 10, np.uint64(1), 0, children, np.zeros_like(tried))
    for action in children.action[:found].tolist():
        after, share = position.play(action), int(tried[0, action])
        streams = np.array([stream(np.uint64(1), number + i) for i in range(share)], np.uint64)
        margins[action] = np.zeros(share, np.int16)
        own, opp = (np.repeat(mask, share) for mask in masks(after))
        play_out(position.game.id, own, opp, streams, margins[action])
        number += share
    assert number == 10
    assert {a: int((m < 0).sum() - (m > 0).sum()) for a, m in margins.items()} == {a: int(wins[0, a]) for a in margins}


def test_positions_are_counted_in_runs_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    positions = [Position.start("reversi6"), next_pass("reversi6"), Position.start("reversi6").play("c2")] * 3
    whole = search(positions, 20)
    monkeypatch.setattr(flat_mc, "_RUN", 50)
    parts = search(positions, 20)
    assert (parts[0] == whole[0]).all()
    assert (parts[1] == whole[1]).all()


def test_no_positions_need_no_playouts() -> None:
    empty = np.zeros(0, np.uint64)
    wins, tried = flat_monte_carlo(GAMES["reversi6"], empty, empty, 150, seed=1, threads=Threads(1))
    assert wins.shape == tried.shape == (0, 37)


def test_a_finished_position_keeps_its_margin() -> None:
    over = Position.parse("XXXXXXXXXXXXXXOO X")
    own, opp = masks(over, Position(over.game, over.opp, over.own))
    margins = np.zeros(2, np.int16)
    play_out(over.game.id, own, opp, np.ones(2, np.uint64), margins)
    assert margins.tolist() == [12, -12]


def test_a_forced_pass_changes_the_side_and_nothing_else() -> None:
    passing = next_pass("reversi8")
    assert (playouts(passing, 200) == -playouts(passing.play("pass"), 200)).all()


@pytest.mark.parametrize("count", [1, 3, 4, 150, 151])
def test_playouts_are_spread_evenly_over_the_legal_moves(count: int) -> None:
    positions = [Position.start("reversi6"), Position.start("reversi6").play("c2")]
    _, tried = search(positions, count)
    for position, row in zip(positions, tried, strict=True):
        legal = position.legal_actions()
        assert row.sum() == count
        assert row[legal].sum() == count
        assert np.ptp(row[legal]) <= 1


def test_no_move_is_favoured_when_playouts_are_fewer_than_moves() -> None:
    _, tried = search([Position.start("reversi8")] * 4000, 1)
    counts = tried.sum(axis=0)[Position.start("reversi8").legal_actions()]
    assert np.abs(counts - 1000).max() < SIGMAS * np.sqrt(4000 * 0.25 * 0.75)


def test_a_single_legal_action_costs_no_playout() -> None:
    passing = next_pass("reversi4")
    wins, tried = search([passing], 150)
    assert tried[0].tolist() == [0] * passing.game.squares + [1]
    assert wins.sum() == 0


def walk(name: str, plies: int, rng: np.random.Generator) -> Position:
    """The position after so many random plies, or fewer where the game is over."""
    position = Position.start(name)
    for _ in range(plies):
        if not position.is_over:
            position = position.play(int(rng.choice(position.legal_actions())))
    return position


def next_pass(name: str) -> Position:
    """The first position with a forced pass on a random walk of `name`."""
    rng = np.random.default_rng(5)
    while True:
        position = Position.start(name)
        while not position.is_over:
            if position.legal_moves() == ["pass"]:
                return position
            position = position.play(int(rng.choice(position.legal_actions())))


def test_the_estimates_are_those_of_the_whole_tree() -> None:
    position = Position.start("tictactoe").play("b2").play("b1").play("a1")
    wins, tried = search([position], 60_000)
    for action in position.legal_actions():
        theirs, drawn = exact(position.play(action))
        assert abs(wins[0, action] / tried[0, action] - (1 - theirs - drawn - theirs)) < 0.06


def test_a_win_in_one_is_found_in_a_batch() -> None:
    winning = Position.parse("XX-OO---- X")
    other = Position.start("tictactoe")
    wins, tried = search([other, winning, other], 150)
    scores = wins / np.maximum(tried, 1)
    assert scores[1].argmax() == 2
    assert scores[1, 2] == 1.0
