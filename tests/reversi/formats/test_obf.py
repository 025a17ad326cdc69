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
        ("nonsense", "expected 9, 16, 36 or 64"),
    ],
)
def test_what_is_wrong_is_said(line: str, complaint: str) -> None:
    with pytest.raises(NotationError, match=complaint):
        parse_problem(line)


@pytest.mark.parametrize(
    ("fields", "scores", "score"),
    [
        ("; B1:+4; A2:+2; --:-127;", {1: 4, 4: 2}, 4),
        ("; B1: +4 ; A2 : 2", {1: 4, 4: 2}, 4),
        ("; b1:+4.00;", {1: 4}, 4),
        ("; b1:-127; a2:+2;", {4: 2}, 2),
        ("; +12;", {}, 12),
        (";-3", {}, -3),
        ("; --:-127;", {}, None),
        (";;", {}, None),
        ("; B1:+4; % +8", {1: 4}, 4),
        (" % B1:+4;", {}, None),
        ("\uff1b \uff22\uff11\uff1a+4", {1: 4}, 4),
    ],
)
def test_fields_are_read_as_edax_writes_them(fields: str, scores: dict[int, int], score: int | None) -> None:
    problem = parse_problem(f"{Position.start('reversi4')}{fields}")
    assert (problem.scores, problem.score) == (scores, score)


@pytest.mark.parametrize("word", ["PS", "PA", "pass", "--", "@@@@"])
def test_a_pass_is_scored_by_any_word(word: str) -> None:
    assert parse_problem(f"-XOXOOOO-XOOXOOO X; {word}:-12;").scores == {16: -12}


@pytest.mark.parametrize("field", ["A1:+2", "PA:+2", "b1:x", "B1", "+12 +3", "b1:1:2"])
def test_a_field_that_cannot_be_read_is_quoted(field: str) -> None:
    with pytest.raises(NotationError) as error:
        parse_problem(f"{Position.start('reversi4')}; {field};")
    assert repr(field.partition(":")[0])[:-1] in str(error.value)
