"""Alpha-beta is minimax with the same evaluation, plays endings perfectly, and beats what it should."""

from __future__ import annotations

import numpy as np
import pytest

from evaluator.match import Match
from evaluator.openings import random_openings
from evaluator.stats import score_of
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game, legal_moves
from reversi.kernels.threads import Threads
from reversi.players import AlphaBetaPlayer, GreedyPlayer, Player, RandomPlayer
from reversi.players.alphabeta import CORNER, DIAGONAL, DISC, DISCS, MOBILITY, AlphaBetaResult, alphabeta, evaluation


def search(positions: list[Position], depth: int, seed: int = 1, threads: int = 1) -> AlphaBetaResult:
    own, opp = (np.array([getattr(p, side) for p in positions], np.uint64) for side in ("own", "opp"))
    return alphabeta(positions[0].game, own, opp, depth, seed=seed, threads=Threads(threads))


def judged(position: Position) -> int:
    own, opp = np.uint64(position.own), np.uint64(position.opp)
    return int(evaluation(position.game.id, own, opp, np.uint64(legal_moves(position.game.id, own, opp))))


def minimax(position: Position, depth: int) -> int:
    """The slow and obvious way; a pass costs no depth."""
    if position.is_over:
        return DISC * position.margin
    moves = position.legal_actions()
    if moves == [position.game.pass_action]:
        return -minimax(position.play(moves[0]), depth)
    if depth == 0:
        return judged(position)
    return max(-minimax(position.play(move), depth - 1) for move in moves)


def some(game: Game, empties: range, count: int, seed: int) -> list[Position]:
    """Positions of random games with so many empty squares, passes among them."""
    rng = np.random.default_rng(seed)
    found: list[Position] = []
    while len(found) < count:
        position = Position(game, game.start_own, game.start_opp)
        while not position.is_over:
            if game.squares - (position.own | position.opp).bit_count() in empties:
                found.append(position)
            position = position.play(int(rng.choice(position.legal_actions())))
    return found[:count]


@pytest.mark.parametrize(("name", "depth", "count"), [("reversi4", 4, 60), ("reversi6", 3, 60), ("reversi8", 3, 20)])
def test_it_is_minimax(name: str, depth: int, count: int) -> None:
    positions = some(GAMES[name], range(1, 60), count, 1)
    for each in range(1, depth + 1):
        found = search(positions, each)
        for position, action, score in zip(positions, *found, strict=True):
            best = minimax(position, each)
            assert score == best
            if action == position.game.pass_action:
                assert position.legal_actions() == [action]
            else:
                assert -minimax(position.play(int(action)), each - 1) == best


@pytest.mark.parametrize("name", ["reversi4", "reversi6", "reversi8"])
def test_as_deep_as_the_board_is_empty_it_is_perfect(name: str) -> None:
    positions = some(GAMES[name], range(1, 8), 80, 2)
    for position, action, score in zip(positions, *search(positions, 7), strict=True):
        assert score == minimax(position, 60)
        assert score % DISC == 0
        assert -minimax(position.play(int(action)), 60) == score
    assert any(position.legal_moves() == ["pass"] for position in positions)


def test_tictactoe_is_a_draw_and_a_win_in_one_is_taken() -> None:
    winning, blocking = Position.parse("XX-OO---- X"), Position.parse("XX-O----- O")
    assert search([winning, blocking], 9).action.tolist() == [2, 2]
    assert search([winning], 9).score.tolist() == [DISC]
    assert search([Position.start("tictactoe")], 9).score.tolist() == [0]


def test_the_evaluation_is_what_it_says() -> None:
    """Own corner at a1, own disc at b2 beside it (counts no more), the other side's at g7 beside the empty h8."""
    position = Position.parse("X--------X-------------------XO-----O---------------------O-----".ljust(64, "-") + " X")
    mobility = len(position.legal_moves()) - len(Position(position.game, position.opp, position.own).legal_moves())
    beside = Position.parse("-" * 54 + "O--XXO----"[:10] + " X")
    assert judged(position) == MOBILITY * mobility + CORNER + DISCS * (3 - 3)
    assert beside.opp >> 54 & 1
    mobility = len(beside.legal_moves()) - len(Position(beside.game, beside.opp, beside.own).legal_moves())
    assert judged(beside) == MOBILITY * mobility - DIAGONAL + DISCS * (2 - 2)


def test_the_seed_decides_among_equals_alone_and_batch_and_threads_nothing() -> None:
    start = Position.start("reversi8")
    chosen = {int(search([start], 2, seed).action[0]) for seed in range(60)}
    assert chosen == set(start.legal_actions())
    positions = some(GAMES["reversi6"], range(10, 30), 40, 3)
    one = search(positions, 3)
    for threads in (1, 2, 3):
        again = search(positions[::-1], 3, threads=threads)
        assert again.action.tolist()[::-1] == one.action.tolist()
        assert again.score.tolist()[::-1] == one.score.tolist()
    assert [search([position], 3).action[0] for position in positions] == one.action.tolist()
    assert (search(positions, 3, seed=2).score == one.score).all()
    empty = np.zeros(0, np.uint64)
    assert alphabeta(GAMES["reversi6"], empty, empty, 3, seed=1, threads=Threads(1)).action.shape == (0,)


def test_it_beats_weaker_players_by_far() -> None:
    game = GAMES["reversi8"]
    openings = random_openings(game, 60, 6, 1)

    def score(a: Player, b: Player) -> float:
        match = Match(game, a, b, openings, 120)
        match.round(60)
        return score_of(match.result()).score

    assert score(AlphaBetaPlayer(game, 1, 1), RandomPlayer(game, np.random.default_rng(1))) > 0.85
    assert score(AlphaBetaPlayer(game, 3, 1), GreedyPlayer(game, np.random.default_rng(1))) > 0.95
    assert score(AlphaBetaPlayer(game, 5, 1), AlphaBetaPlayer(game, 1, 2)) > 0.9
