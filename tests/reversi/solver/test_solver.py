"""The exact solver against plain minimax, known games, and its own limits."""

from __future__ import annotations

import random
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from reversi.errors import UsageError
from reversi.formats.obf import parse_problem
from reversi.formats.transcripts import parse_transcript
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.games.symmetry import SYMMETRIES, action_table, transform_mask
from reversi.solver.last import EVALUATION_COUNT, GENERATION
from reversi.solver.search import NO_SCORE
from reversi.solver.solver import Solver, solve_batch, solve_small
from tests.reversi.solver.endgames import BOARDS, empties, hard, minimax, positions, solver

FFO = Path(__file__).parents[4] / "shared" / "data" / "ffo" / "fforum-1-19.obf"

PERFECT_6 = "c2b4c5d2e4e3d1c1b1d5d6f4b3b2f3f2e2b6a4c6a6a2b5a5e6e5a3a1f5f6e1f1"
"""Feinstein, 1993: White wins 20-16."""

PERFECT_8 = (
    "F5D6C3D3C4F4F6F3E6E7D7C5B6D8C6C7D2B5A5A6A7G5E3B4C8G6G4C2E8D1F7E2G3H4F1E1F2G1B1F8G8B3H3B2H5B7A3A4A1A2C1H2H1G2B8A8G7"
    "H8H7H6"
)
"""Takizawa, 2023: a draw."""


@pytest.mark.parametrize("name", BOARDS)
def test_it_equals_plain_minimax(name: str) -> None:
    kinds = set()
    for position in positions(name, 500, 5, seed=1):
        for winner, score in enumerate(minimax(position)):
            best = solver(name, bool(winner)).solve(position.own, position.opp)
            outcome = solver(name, bool(winner)).solve(position.own, position.opp, wdl=True)
            assert (best.score, best.solved) == (score, True), str(position)
            assert outcome.score == (score > 0) - (score < 0), str(position)
            legal = position.legal_actions()
            assert best.best in legal if legal else best.best is None
        kinds.add("over" if position.is_over else "pass" if legal == [position.game.pass_action] else "move")
    assert kinds == {"over", "pass", "move"}


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("winner", [False, True])
def test_every_move_has_its_exact_score(name: str, winner: bool) -> None:
    for position in positions(name, 60, 6, seed=2):
        moves = {action: -minimax(position.play(action))[winner] for action in position.legal_actions()}
        found = solver(name, winner).solve_moves(position.own, position.opp)
        signs = solver(name, winner).solve_moves(position.own, position.opp, wdl=True)
        best = solver(name, winner).solve(position.own, position.opp)
        assert found.moves == moves, str(position)
        assert signs.moves == {action: (score > 0) - (score < 0) for action, score in moves.items()}
        if moves:
            assert found.score == best.score == max(moves.values()) == moves[best.best or 0] == moves[found.best or 0]


def test_the_two_scorings_can_want_different_moves() -> None:
    differing = 0
    for position in positions("reversi4", 300, 6, seed=3):
        nobody, winner = (solver("reversi4", w).solve_moves(position.own, position.opp).moves for w in (False, True))
        best = {a for a, score in nobody.items() if score == max(nobody.values())}
        differing += best != {a for a, score in winner.items() if score == max(winner.values())}
    assert differing > 0


def test_the_whole_game_of_4x4() -> None:
    @cache
    def plain(position: Position) -> tuple[int, int]:
        if position.is_over:
            return minimax(position)
        below = [plain(position.play(action)) for action in position.legal_actions()]
        return max(-score for score, _ in below), max(-score for _, score in below)

    start = Position.start("reversi4")
    assert plain(start) == (-8, -10)  # 3-11 with two squares left over
    assert solver("reversi4").solve(start.own, start.opp).score == -8
    assert solver("reversi4", True).solve(start.own, start.opp).score == -10


@pytest.mark.parametrize(
    ("name", "game", "most", "margin"), [("reversi6", PERFECT_6, 18, -4), ("reversi8", PERFECT_8, 15, 0)]
)
def test_positions_along_a_perfect_game_keep_its_value(name: str, game: str, most: int, margin: int) -> None:
    position, solved = Position.start(name), 0
    for action in parse_transcript(GAMES[name], game):
        if empties(position) <= most:
            found = solver(name).solve_moves(position.own, position.opp)
            assert found.score == (margin if position.black_to_move else -margin), str(position)
            assert found.moves[action] == found.score
            solved += 1
        position = position.play(action)
    assert position.black_margin == margin
    assert solved >= most


def test_images_of_a_position_have_its_scores() -> None:
    for name in ("reversi6", "reversi8"):
        game, table = GAMES[name], action_table(GAMES[name])
        for position in positions(name, 10, 10, seed=4):
            moves = solver(name).solve_moves(position.own, position.opp).moves
            for s in range(SYMMETRIES):
                own, opp = (int(transform_mask(game.id, np.uint64(mask), s)) for mask in (position.own, position.opp))
                image = solver(name).solve_moves(own, opp).moves
                assert image == {int(table[s, action]): score for action, score in moves.items()}


def test_a_limit_of_positions_gives_no_score() -> None:
    position = hard(20)
    found = solver("reversi8").solve(position.own, position.opp, nodes=10_000)
    assert (found.solved, found.score, found.best, found.moves) == (False, None, None, {})
    assert 10_000 <= found.nodes < 60_000


def test_a_limit_of_positions_limits_the_ordering_of_the_moves() -> None:
    """With 30 empty squares ordering the moves of one position takes millions of evaluations without a limit."""
    mine = Solver(GAMES["reversi8"], table_bits=12)
    assert not mine.solve(hard(30).own, hard(30).opp, nodes=1000).solved
    assert 1000 <= mine._counts[EVALUATION_COUNT] < 10_000


def test_what_was_scored_before_a_limit_is_exact() -> None:
    position = hard(13)
    whole = solver("reversi8").solve_moves(position.own, position.opp)
    part = solver("reversi8").solve_moves(position.own, position.opp, nodes=whole.nodes // 2)
    assert not part.solved
    assert part.score is None
    assert 0 < len(part.moves) < len(whole.moves)
    assert part.moves.items() <= whole.moves.items()


def test_a_time_limit_is_kept() -> None:
    position = hard(40)

    def late_s() -> float:
        start_s = time.perf_counter()
        solution = solver("reversi8").solve(position.own, position.opp, seconds=0.1)
        assert (solution.solved, solution.score) == (False, None)
        return time.perf_counter() - start_s - 0.1

    assert any(0 <= late_s() < 0.05 for _ in range(100)), "at the latest when the machine has nothing else to do"


def test_another_thread_can_stop_it() -> None:
    position, mine = hard(40), Solver(GAMES["reversi8"], table_bits=12)
    timer = threading.Timer(0.1, mine.stop)
    timer.start()
    assert not mine.solve(position.own, position.opp, seconds=20).solved
    timer.join()
    assert mine.solve(hard(8).own, hard(8).opp).solved


def test_the_same_question_takes_the_same_positions() -> None:
    position = hard(14)
    first, other, second = (solver("reversi8").solve(p.own, p.opp) for p in (position, hard(12), position))
    assert (first.score, first.best, first.nodes) == (second.score, second.best, second.nodes)
    assert first.nodes != other.nodes


def test_the_table_serves_more_solves_than_32_bits_count() -> None:
    mine, position = Solver(GAMES["reversi8"]), hard(14)
    first = mine.solve(position.own, position.opp)
    mine._counts[GENERATION] = 2**32 - 1
    again = [mine.solve(position.own, position.opp) for _ in range(2)]
    assert [solution.nodes for solution in again] == [first.nodes] * 2


@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_batch_equals_its_positions(count: int) -> None:
    game, chosen = GAMES["reversi6"], positions("reversi6", count, 9, seed=6)
    own, opp = (np.array([getattr(p, side) for p in chosen], np.uint64) for side in ("own", "opp"))
    scores = solve_batch(game, own, opp, threads=2)
    again = solve_batch(game, own, opp)
    assert scores.shape == (count, game.actions)
    np.testing.assert_array_equal(scores, again)
    for b, position in enumerate(chosen):
        moves = solver("reversi6").solve_moves(position.own, position.opp).moves
        assert {a: int(scores[b, a]) for a in np.flatnonzero(scores[b] != NO_SCORE)} == moves


def test_a_limit_holds_for_each_position_alone() -> None:
    found = [solver("reversi8").solve_moves(p.own, p.opp, nodes=20_000) for p in (hard(20), hard(6), hard(19))]
    assert [each.solved for each in found] == [False, True, False]
    assert [each.score is None for each in found] == [True, False, True]


@pytest.mark.parametrize("name", BOARDS)
def test_the_small_kernel_keeps_its_window(name: str) -> None:
    rng = random.Random(7)
    for position in positions(name, 300, 5, seed=8):
        score, alpha = minimax(position)[0], rng.randint(-20, 19)
        beta = rng.randint(alpha + 1, 20)
        found = solve_small(position.game.id, np.uint64(position.own), np.uint64(position.opp), alpha, beta)
        if alpha < found < beta:
            assert found == score
        else:
            assert score <= found <= alpha or beta <= found <= score


@pytest.mark.skipif(not FFO.exists(), reason="the FFO positions are not beside the checkout")
def test_the_first_ffo_positions() -> None:
    for problem in map(parse_problem, FFO.read_text().splitlines()[:12]):
        found = solver("reversi8", True).solve_moves(problem.position.own, problem.position.opp)
        assert found.score == problem.score
        assert found.best in problem.best
        assert problem.scores.items() <= found.moves.items()


def test_tictactoe_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a Reversi board to solve, got tictactoe"):
        Solver(GAMES["tictactoe"])


def test_a_game_can_be_given_by_name() -> None:
    position = Position.parse("XXXXXXXXXXXOXOOOOOXXOXOOXOXOOO--O--- O")
    solution = Solver("reversi6").solve_moves(position.own, position.opp)
    scores = solve_batch("reversi6", *position.as_batch())[0]
    assert solution.moves == {action: scores[action] for action in position.legal_actions()}
    with pytest.raises(UsageError, match=r"game must be one of reversi4, .*, got 6"):
        Solver(6)  # type: ignore[arg-type]
