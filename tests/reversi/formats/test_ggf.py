"""GGF: the games of GGS and NBoard are read, what is none is refused, and what is written reads back the same."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.errors import IllegalMoveError, NotationError, ReversiError
from reversi.formats.ggf import GgfGame, GgfMove, GgfResult, parse_ggf
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game

START8 = "8 ---------------------------O*------*O--------------------------- *"
NBOARD = (
    "(;GM[Othello]PC[NBoard]DT[2014-02-21 20:52:27 GMT]PB[one]PW[two]RE[?]TI[15:00]TY[8]"
    f"BO[{START8}]B[F5]W[F6]B[D3]W[C5]B[E6]W[F7]B[E7]W[F4];)"
)
PASSING = "(;GM[Othello]TY[4]BO[4 -*O*OOOO-*OO*OOO *]{};)"
"""Black must pass; White may then play a1 or a3, Black must pass again."""


def names(game: GgfGame) -> list[str]:
    return [action_name(game.start.game, move.action) for move in game.moves]


def random_game(game: Game, seed: int) -> GgfGame:
    rng = np.random.default_rng(seed)
    position, moves = Position.start(game), list[GgfMove]()
    for _ in range(int(rng.integers(1, 70))):
        if not (legal := position.legal_actions()):
            break
        value = round(float(rng.normal(0, 9)), 2) if rng.random() < 0.6 else None
        seconds = round(float(rng.random()), 3) if rng.random() < 0.6 else None
        moves.append(GgfMove(int(rng.choice(legal)), value, seconds))
        position = position.play(moves[-1].action)
    return GgfGame(Position.start(game), tuple(moves), {"PC": "here", "PB": "a", "PW": "b"})


def test_a_game_as_nboard_sends_it() -> None:
    game = parse_ggf(NBOARD)
    assert game.start == Position.start("reversi8")
    assert names(game) == ["f5", "f6", "d3", "c5", "e6", "f7", "e7", "f4"]
    assert game.tags == {
        "PC": "NBoard", "DT": "2014-02-21 20:52:27 GMT", "PB": "one", "PW": "two", "TI": "15:00",
    }  # fmt: skip
    assert str(game.positions[-1]) == "-------------------X-------XXO----OOXO------XO------XO---------- X"


def test_moves_carry_values_and_times() -> None:
    game = parse_ggf(f"(;GM[Othello]BO[{START8}]B[d3//0.01]W[c5/2.39/0.5]B[f6/-1.5];)")
    assert [(move.value, move.seconds) for move in game.moves] == [(None, 0.01), (2.39, 0.5), (-1.5, None)]
    assert parse_ggf(f"(;GM[Othello]BO[{START8}]B[d3/x/nan];)").moves[0] == GgfMove(19)


@pytest.mark.parametrize("written", ["B[PA]W[A1]B[pass]W[A3]", "W[A1]W[A3]", "B[PA]W[A1]W[A3]", "W[A1]B[pa]W[a3]"])
def test_passes_may_be_written_or_left_out(written: str) -> None:
    game = parse_ggf(PASSING.format(written))
    assert names(game) == ["pass", "a1", "pass", "a3"]
    assert "RE[-12.000]" in str(game)


def test_only_the_first_game_of_a_file_is_read() -> None:
    assert parse_ggf("1 " + NBOARD + "\n" + PASSING.format("")).start.game is GAMES["reversi8"]


@pytest.mark.parametrize("name", ["reversi4", "reversi6", "reversi8"])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_reads_back_the_same(name: str, seed: int) -> None:
    game = random_game(GAMES[name], seed)
    assert parse_ggf(str(game)) == game


def test_what_ggf_cannot_write_is_replaced() -> None:
    game = GgfGame(Position.start("reversi4"), (), {"PB": "a]b[c"})
    assert "PB[a)b(c]" in str(game)
    assert parse_ggf(str(game)).start == game.start


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"expected a game like \(;GM"),
        ("(;;)", r"got GM\[\]"),
        ("(;GM[Go];)", r"expected GM\[Othello\]"),
        (NBOARD.replace("TY[8]", "TY[8a]"), "no anti-game"),
        (NBOARD.replace("BO[8", "BO[7"), "expected a board"),
        (NBOARD.replace("O*", "O?"), "expected a board"),
        (NBOARD[:-2], r"expected a tag like B\[F5\] or ;\)"),
        (NBOARD.replace("W[F4]", "W[F9]"), "expected a square"),
        ("(;GM[Othello]BO[3 --------- *];)", "of size 4, 6 or 8"),
        ("(;GM[Othello];)", "expected a board"),
    ],
)
def test_what_is_no_game_is_refused(text: str, says: str) -> None:
    with pytest.raises(ReversiError, match=says):
        parse_ggf(text)


@pytest.mark.parametrize("moves", ["B[A1]", "B[PA]", "W[D3]", "B[D3]B[C3]"])
def test_illegal_moves_are_refused(moves: str) -> None:
    with pytest.raises(IllegalMoveError):
        parse_ggf(f"(;GM[Othello]BO[{START8}]{moves};)")


def test_damaged_games_never_fail_otherwise() -> None:
    rng, read = np.random.default_rng(0), 0
    for _ in range(2000):
        text = list(NBOARD)
        for at in rng.integers(0, len(text), int(rng.integers(1, 5))):
            text[at] = str(rng.choice(list("[]();*-/O8F5x \0é")))
        try:
            parse_ggf("".join(text))
            read += 1
        except (NotationError, IllegalMoveError):
            continue
    assert 0 < read < 2000, "some damage should be harmless and some should not"


def test_the_result_is_blacks_whoever_moved_last() -> None:
    assert "RE[+3.000]" in str(GgfGame(Position.parse("XO-------------- X"), (GgfMove(2),)))


@pytest.mark.parametrize(
    ("written", "result"),
    [
        ("-64.000:r", GgfResult(-64, "r")),
        ("+12:t", GgfResult(12, "t")),
        ("64.5:l", GgfResult(64.5, "l")),
        (" 0:s ", GgfResult(0, "s")),
        ("+2.000", GgfResult(2)),
        *((text, None) for text in ("?", "", "win", "+1e9", "nan", "-64:x", "+" + "9" * 99, "r", ":r")),
    ],
)
def test_the_result_of_an_unfinished_game_is_read_and_written(written: str, result: GgfResult | None) -> None:
    game = parse_ggf(f"(;GM[Othello]RE[{written}]BO[{START8}]B[F5];)")
    assert game.result == result
    assert parse_ggf(str(game)).result == result
    assert f"RE[{'?' if result is None else result}]" in str(game)


def test_a_finished_game_has_the_result_of_its_board() -> None:
    game = parse_ggf(PASSING.format("RE[+16.000:r]W[A1]W[A3]"))
    assert game.result is None
    assert "RE[-12.000]" in str(game)
