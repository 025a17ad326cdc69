"""SGF: Othello's main line in both ways of naming squares; everything else is refused or passed over."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reversi.errors import IllegalMoveError, NotationError, ReversiError
from reversi.formats.sgf import SgfResult, parse_sgf
from reversi.games.notation import action_name
from reversi.games.position import Position

GAME = "(;GM[2]FF[4]SZ[8]PB[a \\] b]C[;B[zz\\]];B[f5]C[one];W[d6]BL[3];B[c3])"


def moves(text: str, before_move: int | None = None) -> list[str]:
    game = parse_sgf(text, before_move)
    return [action_name(game.start.game, action) for action in game.actions]


def test_a_game_is_read_past_comments_and_escapes() -> None:
    assert moves(GAME) == ["f5", "d6", "c3"]
    assert parse_sgf(GAME).start == Position.start("reversi8")


def test_squares_may_be_two_letters() -> None:
    assert moves("(;GM[2];B[fe];W[df];B[cc])") == ["f5", "d6", "c3"]


@pytest.mark.parametrize(("before", "expected"), [(1, []), (2, ["f5"]), (9, ["f5", "d6", "c3"])])
def test_a_game_may_be_read_up_to_a_move(before: int, expected: list[str]) -> None:
    assert moves(GAME, before) == expected


def test_the_first_variation_is_the_game() -> None:
    assert moves("(;GM[2]SZ[6];B[c2](;W[b2];B[b3])(;W[d2]))") == ["c2", "b2", "b3"]


def test_the_first_node_says_who_played() -> None:
    tags = parse_sgf(GAME).tags
    assert (tags["PB"], tags["C"], tags["SZ"]) == ("a ] b", ";B[zz]", "8")
    assert "BL" not in tags


@pytest.mark.parametrize(
    ("written", "result"),
    [
        ("B+3", SgfResult(3)),
        ("W+0.5", SgfResult(-0.5)),
        (" b+r ", SgfResult(math.inf, "r")),
        ("W+Resign", SgfResult(-math.inf, "r")),
        ("W+12Time", SgfResult(-12, "t")),
        ("B+Forfeit", SgfResult(math.inf, "f")),
        ("W+", SgfResult(-math.inf)),
        ("0", SgfResult(0)),
        ("Draw", SgfResult(0)),
        *((text, None) for text in ("", "?", "Void", "B", "B+nan", "B+x", "+3", "B+" + "9" * 99)),
    ],
)
def test_the_result_of_an_unfinished_game_is_read(written: str, result: SgfResult | None) -> None:
    assert parse_sgf(f"(;GM[2]RE[{written}];B[f5])").result == result


def test_a_position_may_be_set_up() -> None:
    black, white = ["b1", "d1", "b3", "a4"], ["c1", "a2", "b2", "c2", "d2", "c3", "d3", "b4", "c4", "d4"]
    discs = "AB" + "".join(f"[{p}]" for p in black) + "AW" + "".join(f"[{p}]" for p in white)
    game = parse_sgf(f"(;GM[2]SZ[4]{discs}PL[B];B[];W[a1];W[a3])")
    assert str(game.start) == "-XOXOOOO-XOOXOOO X"
    assert [action_name(game.start.game, action) for action in game.actions] == ["pass", "a1", "pass", "a3"]
    assert str(parse_sgf(f"(;GM[2]SZ[4]{discs}PL[W])").start) == "-XOXOOOO-XOOXOOO O"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a game like"),
        ("(;GM[1]SZ[19];B[pd])", r"expected a game of Othello, GM\[2\], got GM\['1'\]"),
        ("(;SZ[8];B[f5])", "expected a game of Othello"),
        ("(;GM[2]SZ[10])", "of size 4, 6 or 8"),
        ("(;GM[2]SZ[x])", "of size 4, 6 or 8"),
        ("(;GM[2]SZ[4]AB[a1][a1])", "expected one disc on one square"),
        ("(;GM[2];B[i9])", "expected a square"),
        ("(;GM[2];B[aa:bb])", "expected a square"),
    ],
)
def test_what_is_no_game_is_refused(text: str, says: str) -> None:
    with pytest.raises(ReversiError, match=says):
        parse_sgf(text)


def test_illegal_moves_are_refused() -> None:
    with pytest.raises(IllegalMoveError, match="got 'a1'"):
        parse_sgf("(;GM[2];B[a1])")


def test_damaged_games_never_fail_otherwise() -> None:
    rng, read = np.random.default_rng(0), 0
    for _ in range(2000):
        text = list(GAME)
        for at in rng.integers(0, len(text), int(rng.integers(1, 5))):
            text[at] = str(rng.choice(list("[]();\\BW8F5xä \0")))
        try:
            parse_sgf("".join(text))
            read += 1
        except (NotationError, IllegalMoveError):
            continue
    assert 0 < read < 2000, "some damage should be harmless and some should not"


@pytest.mark.parametrize("word", ["", "tt", "TT", "PA", "pass", "--", "@@@@", "PS", " "])
def test_a_pass_has_the_words_of_every_program(word: str) -> None:
    assert parse_sgf(f"(;GM[2]SZ[4]AB[a1]AW[b1]PL[W];W[{word}];B[c1])").actions == (16, 2)


@pytest.mark.parametrize("head", ["GM[2 ]SZ[8]", "GM[ 2 ]SZ[8:8]", "GM[2]SZ[ 8 : 8 ]", "GM[2]", "SZ[8]GM[2\n]"])
def test_the_game_and_its_size_may_be_written_with_blanks_and_twice(head: str) -> None:
    assert moves(f"(;{head};B[f5];W[d6])") == ["f5", "d6"]


def test_discs_may_be_set_up_in_rectangles() -> None:
    game = parse_sgf("(;GM[2]SZ[4]AB[aa:bb][d4]AW[cc:dc]PL[white])")
    assert str(game.start) == "XX--XX----OO---X O"


@pytest.mark.parametrize("setup", ["AB[aa:ee]", "AB[aa:tt]", "AB[aa:bb][bb:cc]", "AB[tt]"])
def test_discs_off_the_board_or_on_one_another_are_refused(setup: str) -> None:
    with pytest.raises(NotationError):
        parse_sgf(f"(;GM[2]SZ[4]{setup})")


def test_tt_is_a_pass_on_small_boards() -> None:
    assert parse_sgf("(;GM[2]SZ[4]AB[a1]AW[b1]PL[W];W[tt];B[c1])").actions == (16, 2)
