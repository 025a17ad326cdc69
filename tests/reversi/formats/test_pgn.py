"""PGN of Othello: tags, numbered moves over several lines, results, comments, starts."""

from __future__ import annotations

import pytest

from reversi.formats.pgn import is_pgn
from reversi.formats.text import BOARDS, parse_game, read_text
from reversi.games.position import Position

GAMES = """\
[Event "World Championship"]
[Site "?"]
[Black "Rose \\"B\\" Brian"]
[White "Tastet Marc"]
[Result "34-30"]

1. F5 D6 2. C3 D3 {a comment
of two lines} 3. C4 $1 F4 ; another
4. F6 F3 ... 34-30

[Black "me"]
[Result "*"]

1. c4 e3 *
"""


def test_every_game_has_its_moves_and_its_title() -> None:
    (found,) = read_text(GAMES, BOARDS, "it")
    assert [found.moves(index) for index in range(len(found))] == [
        ["f5", "d6", "c3", "d3", "c4", "f4", "f6", "f3"],
        ["c4", "e3"],
    ]
    assert [found.title(index) for index in (0, 1)] == [
        'Rose "B" Brian - Tastet Marc, World Championship, 34-30',
        "me - ?",
    ]


def test_games_are_on_their_boards() -> None:
    start = Position.start("reversi4").play("b1")
    text = f'[Black "a"]\n1. c2 b2\n[FEN "{start}"]\n1. a1 pass\n[Black "b"]\n1. c2 b4'
    six, four = read_text(text, BOARDS, "it")
    assert (six.game.name, [six.number(index) for index in range(len(six))]) == ("reversi6", [1, 3])
    assert (four.game.name, four.number(0), four.positions(0)[0]) == ("reversi4", 2, start)
    assert (four.problem(0) or "").startswith("it, game 2, ply 2: expected a legal move, got 'pass'")


@pytest.mark.parametrize("fen", ["", "8/8 b", "nonsense"])
def test_a_start_that_is_no_position_is_a_problem_of_its_game(fen: str) -> None:
    (found,) = read_text(f'[FEN "{fen}"]\n1. f5\n[Black "a"]\n1. f5 d6', BOARDS, "it")
    assert (found.problem(0) or "").startswith("it, game 1: expected 9, 16, 36 or 64 squares")
    assert found.moves(1) == ["f5", "d6"]


def test_tags_are_told_from_other_brackets() -> None:
    assert is_pgn('\n [Event "x"]')
    assert not any(map(is_pgn, ("[8 rows *]", "(;GM[2])", "f5", "", '{x} [Event "x"]', "[Event x]")))
    assert parse_game('[Black "a"] 1. f5').moves == ["f5"]
