from __future__ import annotations

import pytest

from reversi.errors import NotationError
from reversi.formats.obf import parse_problem
from reversi.games.position import Position


def test_a_line_is_a_position_and_scored_moves() -> None:
    position = Position.start("reversi4")
    problem = parse_problem(f"{position}; A2:+0; B1:-8; c4:+0;")
    assert problem.position == position
    assert problem.scores == {4: 0, 1: -8, 14: 0}
    assert (problem.score, problem.best) == (0, {4, 14})


def test_scores_may_be_missing() -> None:
    assert parse_problem(str(Position.start("reversi8"))).score is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (f"{Position.start('reversi4')}; a1:+2;", "expected one of b1, a2, d3, c4, got 'a1'"),
        (f"{Position.start('reversi4')}; b1=2;", "expected a move and its score such as g8:\\+18, got 'b1=2'"),
        (f"{Position.start('reversi4')}; e5:+2;", "expected a square from a1 to d4"),
        ("nonsense", "expected 9 or 16"),
    ],
)
def test_what_is_wrong_is_said(line: str, complaint: str) -> None:
    with pytest.raises(NotationError, match=complaint):
        parse_problem(line)
