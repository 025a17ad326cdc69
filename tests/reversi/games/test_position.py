"""`Position` as people use it."""

import dataclasses
import doctest

import numpy as np
import pytest

from reversi.errors import IllegalMoveError, NotationError
from reversi.games import position as module
from reversi.games.position import Position
from reversi.games.rules import GAMES, game_named
from tests.reversi.games import oracle


def test_the_example_in_the_docstring():
    assert doctest.testmod(module).attempted >= 3
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_text_goes_round(game):
    for own, opp in zip(*oracle.scattered(game, 100, seed=13), strict=True):
        for black_to_move in (True, False):
            position = Position(game, int(own), int(opp), black_to_move)
            assert Position.parse(str(position)) == position
            assert Position.parse(f" {position}\n", game) == position


def test_a_position_as_a_batch_of_one_and_its_empty_squares():
    position = Position.start("reversi6").play("c2")
    own, opp = position.as_batch()
    assert (own.dtype, own.tolist(), opp.tolist()) == (np.uint64, [position.own], [position.opp])
    assert position.empties == str(position).count("-") == 31


def test_bits_and_colours():
    position = Position.parse("X-----O--------- O")
    assert (position.game.name, position.black_to_move) == ("reversi4", False)
    assert (position.black, position.white) == (1 << 0, 1 << 10)
    assert (position.own, position.opp) == (position.white, position.black)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 9, 16, 36 or 64 squares, a space and the side to move, got 0 squares in ''"),
        ("-" * 35 + " X", "expected 9, 16, 36 or 64 squares, a space and the side to move, got 35 squares in "),
        ("-" * 36, "expected X or O as the side to move, got '' in "),
        ("-" * 36 + " y", "expected X or O as the side to move, got 'y' in "),
        ("-" * 36 + " X X", "expected X or O as the side to move, got 'X X' in "),
        ("-" * 35 + "y X", "expected squares of X, O and -, got 'y' in "),
    ],
)
def test_a_bad_text_says_what_was_expected(text, message):
    with pytest.raises(NotationError) as caught:
        Position.parse(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["xo-------------- x", "*O.............. *", "  Xo-------------.  \t X "])
def test_symbols_of_other_programs_are_read(text):
    assert str(Position.parse(text)) == "XO-------------- X"


def test_a_position_of_another_size_than_asked_for_is_a_notation_error():
    with pytest.raises(NotationError, match=r"expected 64 squares, .* got 36 squares"):
        Position.parse(str(Position.start("reversi6")), game_named("reversi8"))


def test_moves_by_name_and_by_action_are_the_same():
    start = Position.start(game_named("reversi8"))
    assert start.legal_moves() == ["d3", "c4", "f5", "e6"]
    assert start.legal_actions() == [19, 26, 37, 44]
    assert start.play("d3") == start.play(19) == start.play(" D3 ") == start.play(np.int32(19))
    assert not start.play("d3").black_to_move
    assert start == Position.start("reversi8")


@pytest.mark.parametrize("move", ["a1", "pass", 0, 64])
def test_an_illegal_move_names_the_legal_ones_and_the_position(move):
    start = Position.start("reversi8")
    name = {0: "a1", 64: "pass"}.get(move, move)
    with pytest.raises(IllegalMoveError) as caught:
        start.play(move)
    assert str(caught.value) == f"expected one of d3, c4, f5, e6; got {name!r} in {str(start)!r}"


@pytest.mark.parametrize("action", [-1, 65])
def test_an_action_off_the_policy_is_illegal(action):
    with pytest.raises(IllegalMoveError, match=f"got {action} in "):
        Position.start("reversi8").play(action)


def test_nothing_can_be_played_when_the_game_is_over():
    over = Position.parse("XX-------------O X")
    assert (over.is_over, over.legal_actions(), over.legal_moves()) == (True, [], [])
    for move in ("c1", "pass"):
        with pytest.raises(IllegalMoveError, match="expected no move, the game is over; got "):
            over.play(move)


def test_a_word_that_is_no_move_is_a_notation_error():
    with pytest.raises(NotationError, match="got 'z9'"):
        Position.start("reversi6").play("z9")


def test_margins_are_seen_from_the_side_they_say():
    position = Position.start("reversi6").play("c2")
    assert (position.margin, position.black_margin, position.is_over) == (-3, 3, False)
    won = Position.parse("XXXOO---- O")
    assert (won.margin, won.black_margin, won.is_over) == (-1, 1, True)
    assert Position.parse("XX-OO---- X").margin == 0


def test_it_is_frozen_and_hashable():
    start = Position.start("reversi4")
    with pytest.raises(dataclasses.FrozenInstanceError):
        start.own = 0
    assert len({start, Position.start("reversi4"), start.play(start.legal_actions()[0])}) == 2


def test_the_drawing_shows_discs_legal_moves_and_whose_turn_it_is():
    assert Position.start("reversi4").drawing().splitlines() == [
        "  a b c d",
        "1 - * - -",
        "2 * O X -",
        "3 - X O *",
        "4 - - * -",
        "X to move (X 2, O 2)",
    ]


@pytest.mark.parametrize(
    ("text", "last_line"),
    [
        ("--XO------------ O", "O to move (X 1, O 1)"),
        ("--XO------------ X", "X to move must pass (X 1, O 1)"),
        ("XX-------------O X", "game over, X wins (X 2, O 1)"),
        ("X--------------O X", "game over, a draw (X 1, O 1)"),
        ("OOO------------- X", "game over, O wins (X 0, O 3)"),
    ],
)
def test_the_last_line_of_the_drawing(text, last_line):
    position = Position.parse(text)
    assert position.drawing().splitlines()[-1] == last_line


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_the_representation_is_short_and_makes_the_position_again(game):
    position = Position.start(game).play(Position.start(game.name).legal_actions()[0])
    assert repr(position) == f"Position.parse({str(position)!r})"
    assert eval(repr(position)) == position
    assert Position.parse(str(position), game.name) == position
