"""A line of the solver is perfect play of both sides, to the end."""

from __future__ import annotations

import time

import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.solver.line import LONGEST
from reversi.solver.solver import Solver
from tests.reversi.solver.endgames import BOARDS, empties, hard, minimax, positions, solver


def end_of(position: Position, line: tuple[int, ...]) -> Position:
    for action in line:
        position = position.play(action)
    return position


def result(position: Position, line: tuple[int, ...], winner: bool) -> int:
    """Return the score at the end of a line, for the side to move at its start."""
    end = end_of(position, line)
    assert end.is_over, str(position)
    score = minimax(end)[winner]
    return score if end.black_to_move == position.black_to_move else -score


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("winner", [False, True])
def test_a_line_ends_with_the_score_and_keeps_it_at_every_ply(name: str, winner: bool) -> None:
    mine = solver(name, winner)
    for position in positions(name, 60, 6, seed=5):
        score = minimax(position)[winner]
        assert mine.solve(position.own, position.opp).score == score
        line = mine.line(position.own, position.opp, score)
        assert result(position, line, winner) == score
        sign = 1
        for ply in range(len(line)):
            sign = 1 if end_of(position, line[:ply]).black_to_move == position.black_to_move else -1
            assert sign * minimax(end_of(position, line[:ply]))[winner] == score


@pytest.mark.parametrize(("name", "left"), [("reversi4", 12), ("reversi6", 16), ("reversi8", 14)])
def test_lines_through_the_table_end_with_the_scores_of_their_moves(name: str, left: int) -> None:
    for position in positions(name, 4, left, seed=9):
        found = solver(name).solve_moves(position.own, position.opp)
        for action, score in found.moves.items():
            after = position.play(action)
            assert result(position, (action, *solver(name).line(after.own, after.opp, -score)), False) == score


def test_a_line_needs_no_solve_before() -> None:
    position = hard(12)
    score = solver("reversi8").solve(position.own, position.opp).score
    assert score is not None
    assert result(position, Solver("reversi8").line(position.own, position.opp, score), False) == score


@pytest.mark.parametrize("name", BOARDS)
def test_a_line_of_an_outcome_keeps_the_outcome(name: str) -> None:
    for position in positions(name, 60, 8, seed=6):
        sign = solver(name).solve(position.own, position.opp, wdl=True).score
        assert sign is not None
        score = result(position, solver(name).line(position.own, position.opp, sign, wdl=True), False)
        assert (score > 0) - (score < 0) == sign


def test_a_line_ends_at_a_limit() -> None:
    position, mine = hard(40), Solver(GAMES["reversi8"], table_bits=12)
    assert mine.line(position.own, position.opp, 0, nodes=1000) == ()
    begun_s = time.monotonic()
    assert mine.line(position.own, position.opp, 0, seconds=0.05) == ()
    assert time.monotonic() - begun_s < 60


def test_the_longest_line_is_written_whole() -> None:
    """No game has more plies than a move and a pass for every empty square."""
    assert max(2 * (GAMES[name].squares - 4) for name in BOARDS) <= LONGEST
    assert empties(Position.start("reversi8")) == 60
