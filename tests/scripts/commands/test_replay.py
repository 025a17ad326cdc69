from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.reversi.formats.wthor_files import random_game, transcript, wtb
from tests.scripts.conftest import Reversi

START6 = "-" * 14 + "O*----*O" + "-" * 14
START = "-" * 27 + "O*" + "-" * 6 + "*O" + "-" * 27


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.wtb"
    path.write_bytes(wtb([transcript(0), "f5d6d6", transcript(2)]))
    return path


def test_every_position_of_a_transcript_is_printed(reversi: Reversi) -> None:
    answer = reversi("replay", "f5D6c3", "--ascii")
    assert (answer.code, answer.err) == (0, "")
    pictures = answer.out.split("\n\n")
    assert [picture.splitlines()[0] for picture in pictures] == [
        "Game 1 of 1",
        "The start",
        "Ply 1 of 3: Black (X) plays f5",
        "Ply 2 of 3: White (O) plays d6",
        "Ply 3 of 3: Black (X) plays c3",
    ]
    assert pictures[-1].splitlines()[-1] == "White to move: Black (X) 5, White (O) 2"


@pytest.mark.parametrize(
    "text", ["1. f5 d6 2. c3", "f5-d6-c3", "F5, D6, C3", "1.f5 2.d6 3.c3", "(;GM[2]C[a/b];B[f5];W[d6];B[c3])"]
)
def test_transcripts_in_everyday_notations_are_read(reversi: Reversi, text: str) -> None:
    assert reversi("replay", text, "--json") == reversi("replay", "f5d6c3", "--json")
    assert reversi("replay", text, "--ply", 3).code == 0


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("c2b4\n", [""]),
        ("# two games\n1. c2 b4\nc2-b2\n", ["", ""]),
        (f"(;GM[Othello]PB[me]PW[you]BO[8 {START} *]B[F5]W[D6];)", ["me - you"]),
        ("(;GM[2];B[f5];W[d6])(;GM[2];B[d3])", ["", ""]),
        ("(;GM[2]SZ[6]PB[Ann]PW[Bob];B[c2])", ["Ann - Bob"]),
        (f"1 (;GM[Othello]PB[me]PW[a#1]BO[6 {START6} *]B[C2];)\n" * 2, ["me - a#1", "me - a#1"]),
        ("\ufeff(;GM[2]SZ[6];B[c2])\n", [""]),
        ("\ufeffc2b4\n", [""]),
    ],
)
def test_games_come_from_standard_input(reversi: Reversi, text: str, titles: list[str]) -> None:
    answer = reversi("replay", "-", "--all", "--json", stdin=text)
    assert (answer.code, answer.err) == (0, "")
    found = {line["game"]: line["title"] for line in map(json.loads, answer.out.splitlines())}
    assert found == dict(enumerate(titles, 1))
    assert reversi("replay", "-", "--ply", 1, stdin=text).out.count("Ply 1 of") == 1


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", 2, "expected a file with at least one game, got nothing on standard input"),
        ("nonsense", 1, "standard input, game 1, ply 1: expected a move like d3, got 'nonsense'"),
        ("f5d6f5", 1, "standard input, game 1, ply 3: expected a legal move, got 'f5'"),
        ("(;GM[Othello]", 1, "standard input, game 1: expected a tag like B[F5] or ;)"),
    ],
)
def test_what_is_wrong_on_standard_input_is_one_line(reversi: Reversi, text: str, code: int, words: str) -> None:
    answer = reversi("replay", "-", "--json", stdin=text)
    assert (answer.code, answer.out.count("\n")) == (code, 3 if text == "f5d6f5" else 0)
    assert answer.err.startswith(f"error: {words}")
    assert answer.err.count("\n") == 1


def test_a_fault_before_the_ply_is_said_first(reversi: Reversi) -> None:
    answer = reversi("replay", "f5-d6-xx", "--ply", 3)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "error: 'f5-d6-xx', game 1, ply 3: expected a move like d3, got 'xx'\n"


def test_a_game_of_a_file_and_one_ply_of_it(reversi: Reversi, games: Path) -> None:
    answer = reversi("replay", games, "--game", 3, "--ply", 10, "--ascii")
    assert answer.code == 0
    assert answer.out.startswith("Game 3 of 3: #4 40 - 24 #5, #1 1999\n\nPly 10 of ")
    assert answer.out.count("  a b c d e f g h") == 1


def test_programs_get_a_line_for_every_position(reversi: Reversi, games: Path) -> None:
    moves, end = random_game(2)
    lines = [json.loads(line) for line in reversi("replay", games, "--game", 3, "--json").out.splitlines()]
    assert [line["next"] for line in lines] == [*moves, None]
    assert [line["move"] for line in lines] == [None, *moves]
    assert [line["ply"] for line in lines] == list(range(len(moves) + 1))
    assert {line["game"] for line in lines} == {3}
    last = lines[-1]
    assert (last["position"], last["over"], last["black"]) == (str(end), True, end.black.bit_count())


def test_a_broken_game_is_shown_up_to_its_fault(reversi: Reversi, games: Path) -> None:
    answer = reversi("replay", games, "--game", 2, "--ascii")
    assert answer.code == 1
    assert "Ply 2 of 2: White (O) plays d6" in answer.out
    assert answer.err == f"error: {games}, game 2, ply 3: expected a legal move, got 'd6'\n"
    every = reversi("replay", games, "--all", "--json")
    assert every.code == 1
    played = [len(random_game(seed)[0]) + 1 for seed in (0, 2)]
    assert len(every.out.splitlines()) == sum(played) + 3


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (None, "f5d6f5", ": expected a legal move, got 'f5'"),
        (None, "f5d6x", ": expected a move like d3, got 'x'"),
        ("g.ggf", f"(;GM[Othello]BO[8 {START} *]B[F5]W[D6]B[F5];)", ": expected one of c3, c4, c5, c6, c7; got 'F5'"),
        ("g.ggf", f"(;GM[Othello]BO[8 {START} *]B[F5]W[D6]B[Z9];)", ": expected a square from a1 to h8"),
        ("g.ggf", f"(;GM[Othello]BO[8 {START} *]B[F5]W[D6]W[C3];)", ": expected a move of black, one of"),
        ("g.sgf", "(;GM[2];B[f5];W[d6];B[f5];W[a1])", ": expected one of c3, c4, c5, c6, c7; got 'f5'"),
        ("g.sgf", "(;GM[2];B[f5];W[d6];B[xx])", ": expected a square from a1 to h8"),
    ],
)
def test_a_broken_game_of_any_format_is_shown_up_to_its_fault(
    reversi: Reversi, tmp_path: Path, name: str | None, text: str, says: str
) -> None:
    source = text
    if name is not None:
        source = str(tmp_path / name)
        Path(source).write_text(text)
    answer = reversi("replay", source, "--ascii")
    assert answer.code == 1
    assert answer.out.count("\n\n") == 3
    assert "Ply 2 of 2: White (O) plays d6" in answer.out
    assert answer.err.startswith("error: ")
    assert f", game 1, ply 3{says}" in answer.err
    assert answer.err.count("\n") == 1


def test_every_game_of_an_sgf_collection_can_be_shown(reversi: Reversi, tmp_path: Path) -> None:
    games = "(;GM[2]C[one (1\\])];B[f5](;W[d6];B[c3])(;W[f6]))  (;GM[2];B[d3])\n(;GM[2];B[c4]"
    (tmp_path / "g.sgf").write_text(games)
    for number, moves in ((1, ["f5", "d6", "c3"]), (2, ["d3"]), (3, ["c4"])):
        lines = reversi("replay", tmp_path / "g.sgf", "--game", number, "--json").out.splitlines()
        assert [json.loads(line)["move"] for line in lines[1:]] == moves
    answer = reversi("replay", tmp_path / "g.sgf", "--game", 4)
    assert "--game: expected a game from 1 to 3, got 4" in answer.err


def test_in_a_terminal_it_steps(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["", "g 0", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    monkeypatch.setattr("scripts.commands.replay._is_a_terminal", lambda: True)
    answer = reversi("replay", "f5d6c3", "--ply", 2, "--ascii")
    assert answer.code == 0
    assert [line for line in answer.out.splitlines() if line.startswith(("Ply", "The"))] == [
        "Ply 2 of 3: White (O) plays d6",
        "Ply 3 of 3: Black (X) plays c3",
        "The start",
    ]
    assert not sys.stdin.isatty()


def test_ctrl_c_ends_politely(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    monkeypatch.setattr("scripts.commands.replay._is_a_terminal", lambda: True)
    answer = reversi("replay", "f5d6c3")
    assert (answer.code, answer.err) == (130, "")


@pytest.mark.parametrize(
    ("size", "moves"), [(3, "b2a1c3"), (4, "b1a3"), (6, "c2b2"), (8, "f5d6")], ids=["tictactoe", "4", "6", "8"]
)
def test_the_board_follows_the_moves_or_the_size(reversi: Reversi, size: int, moves: str) -> None:
    guessed, asked = reversi("replay", moves), reversi("replay", moves, "--size", size)
    assert guessed == asked
    assert guessed.code == 0
    assert guessed.out.splitlines()[3] == "  " + " ".join("abcdefgh"[:size])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "expected a file of games or a transcript like f5d6c3, got 'nonsense'"),
        ([""], "expected a file of games or a transcript like f5d6c3, got ''"),
        (["nowhere.wtb"], "nowhere.wtb: expected a file of games, but it does not exist"),
        (["/"], "/: expected a file of games, but it is no regular file"),
        (["f5", "--size", "7"], "--size: expected 3, 4, 6 or 8, got 7"),
        (["f5", "--size", "6"], "reversi6: 'f5', game 1, ply 1: expected a legal move, got 'f5'"),
        (["(;GM[2]SZ[8];B[f6])"], "reversi8: '(;GM[2]SZ[8];B[f6])', game 1: expected one of d3, c4, f5, e6; got 'f6'"),
        (["f5", "--game", "2"], "--game: expected a game from 1 to 1, got 2"),
        (["f5", "--ply", "2"], "--ply: expected a ply from 0 to 1, got 2"),
        (["f5", "--ply", "1", "--all"], "expected --all or --ply, got both"),
        (["f5", "--game", "1", "--all"], "expected --all or --game, got both"),
        (["f5", "--column", "moves"], "--column: expected a CSV file, got 'f5'"),
        (["g8h8", "--size", "6"], "reversi6: expected a square from a1 to f6 or pass, got 'g8'"),
        (["1. G8 h8", "--size", "6"], "reversi6: expected a square from a1 to f6 or pass, got 'G8'"),
        (["i9j9"], "expected a position, moves like f5d6c3, or a game in GGF or SGF, got 'i9j9'"),
        (["h8.txt", "--size", "6"], "h8.txt: expected a file of games, but it does not exist"),
        (["1 (;GM[2]PC[a/b];B[f6])"], "reversi8: '1 (;GM[2]PC[a/b];B[f6])', game 1: expected one of "),
        (
            [str(Path(__file__).parents[1] / "conftest.py")],
            "conftest.py: expected games (WTHOR, GGF, SGF, PGN, CSV or transcripts), got text like ",
        ),
    ],
)
def test_nonsense_is_one_line_and_2(reversi: Reversi, arguments: list[str], words: str) -> None:
    answer = reversi("replay", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert answer.err.count("\n") == 1


def test_a_damaged_file_is_one_line_and_1(reversi: Reversi, games: Path) -> None:
    games.write_bytes(games.read_bytes()[:-7])
    answer = reversi("replay", games)
    assert (answer.code, answer.out) == (1, "")
    assert "expected 220 bytes for the 3 games of a WTHOR header, got 213" in answer.err
    (games.parent / "empty.txt").write_text("# nothing\n")
    answer = reversi("replay", games.parent / "empty.txt")
    assert (answer.code, answer.out) == (2, "")
    assert "expected a file with at least one game" in answer.err
