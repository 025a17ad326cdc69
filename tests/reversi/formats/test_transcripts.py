"""Transcripts, the two games known to be perfect, and lines that are one game or several."""

import numpy as np
import pytest

from reversi.errors import IllegalMoveError, NotationError
from reversi.formats.collection import replayed
from reversi.formats.transcripts import Transcripts, parse_transcript
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import game_named

PERFECT_8X8 = (
    "F5D6C3D3C4F4F6F3E6E7D7C5B6D8C6C7D2B5A5A6A7G5E3B4C8G6G4C2E8D1F7E2G3H4F1E1F2G1B1F8G8B3H3B2H5B7A3A4A1A2C1H2H1G2B8A8G7"
    "H8H7H6"
)
PERFECT_6X6 = "c2b4c5d2e4e3d1c1b1d5d6f4b3b2f3f2e2b6a4c6a6a2b5a5e6e5a3a1f5f6e1f1"


def played(name: str, actions: list[int]) -> Position:
    position = Position.start(name)
    for action in actions:
        position = position.play(action)
    return position


def test_perfect_8x8_play_is_a_draw_in_60_moves_without_a_pass():
    """Takizawa 2023, arXiv 2310.19387."""
    actions = parse_transcript(game_named("reversi8"), PERFECT_8X8)
    end = played("reversi8", actions)
    assert (len(actions), actions.count(64)) == (60, 0)
    assert (end.is_over, end.black.bit_count(), end.white.bit_count()) == (True, 32, 32)


def test_perfect_6x6_play_is_20_to_16_for_white_with_a_pass_before_move_31():
    """Feinstein 1993."""
    actions = parse_transcript(game_named("reversi6"), PERFECT_6X6)
    end = played("reversi6", actions)
    assert (len(actions), actions.count(36), actions.index(36)) == (33, 1, 30)
    assert (end.is_over, end.black.bit_count(), end.white.bit_count(), end.black_margin) == (True, 16, 20, -4)


MOVES = [PERFECT_6X6[i : i + 2] for i in range(0, 64, 2)]
NOTATIONS = [
    PERFECT_6X6.upper(),
    " ".join(MOVES) + "\n",
    "-".join(MOVES),
    ", ".join(MOVES),
    "\n".join(f"{number}. {MOVES[2 * number - 2]} {MOVES[2 * number - 1]}" for number in range(1, 17)),
    "".join(f"{number}.{move}" for number, move in enumerate(MOVES, 1)),
    "1... " + "--".join(MOVES) + " 33.",
]
"""A game in the notations of other programs, sites and books."""


@pytest.mark.parametrize("text", NOTATIONS)
def test_a_transcript_may_have_capitals_separators_and_numbers(text):
    game = game_named("reversi6")
    assert parse_transcript(game, text) == parse_transcript(game, PERFECT_6X6)
    assert replayed(Transcripts([text]).lists(game), "it").is_good.all()


def test_a_transcript_may_write_its_passes_and_reads_back_from_its_names():
    game = game_named("reversi6")
    actions = parse_transcript(game, PERFECT_6X6)
    assert parse_transcript(game, "".join(action_name(game, action) for action in actions)) == actions


def test_a_transcript_that_stops_before_a_forced_pass_ends_there():
    game = game_named("reversi6")
    assert len(parse_transcript(game, PERFECT_6X6[:60])) == 30
    assert played("reversi6", parse_transcript(game, PERFECT_6X6[:60])).legal_moves() == ["pass"]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_transcript_is_no_ply(text):
    assert parse_transcript(game_named("reversi8"), text) == []


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("f5d6x", NotationError, "expected a move like d3 at ply 3, got 'x'"),
        ("f5 d9", NotationError, "expected a move like d3 at ply 2, got 'd9'"),
        ("1. f5 d6 2. d9", NotationError, "expected a move like d3 at ply 3, got 'd9'"),
        ("f5-d6-7-c3", NotationError, "expected a move like d3 at ply 3, got '7-c3'"),
        ("f5d6 2c3", NotationError, "expected a move like d3 at ply 3, got '2c3'"),
        ("f5;d6", NotationError, "expected a move like d3 at ply 2, got ';d6'"),
        ("-,", NotationError, "expected a move like d3 at ply 1, got '-,'"),
        ("f5f5", IllegalMoveError, "expected a legal move at ply 2, got 'f5'"),
        ("f5A1d6", IllegalMoveError, "expected a legal move at ply 2, got 'A1'"),
        ("pass", IllegalMoveError, "expected a legal move at ply 1, got 'pass'"),
        (PERFECT_8X8 + "pass", IllegalMoveError, "expected no move after the end at ply 61, got 'pass'"),
        (PERFECT_8X8 + "a1", IllegalMoveError, "expected no move after the end at ply 61, got 'a1'"),
    ],
)
def test_a_bad_transcript_names_the_ply(text, error, message):
    with pytest.raises(error) as caught:
        parse_transcript(game_named("reversi8"), text)
    assert str(caught.value) == message


def test_both_readers_of_transcripts_agree_on_any_text():
    """The one of single transcripts, and the kernel that reads files."""
    game, read = game_named("reversi8"), 0
    rng = np.random.default_rng(0)
    between = ["", " ", ",", "-", "1.", "12... ", "\t"] * 3 + [".", "2", "x", "a9", "f5", "pass", "1,."]
    for _ in range(2000):
        text = "".join(rng.choice(between) + move for move in ("f5", "D6", "c3", "d3", "")[: rng.integers(6)])
        found = replayed(Transcripts([text]).lists(game), "it")
        try:
            actions = parse_transcript(game, text)
        except (NotationError, IllegalMoveError):
            assert found.is_broken(0)
        else:
            assert found.moves(0) == [action_name(game, action) for action in actions]
            assert found.is_broken(0) == (not text.strip())
            read += len(actions) > 1
    assert 200 < read < 1500


def test_a_square_off_a_smaller_board_is_a_notation_error_in_a_transcript():
    with pytest.raises(NotationError, match="expected a square from a1 to f6 or pass, got 'h8'"):
        parse_transcript(game_named("reversi6"), "c2h8")
