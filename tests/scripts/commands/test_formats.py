"""The same text gives the same games in every command and on the page, whatever its file is called."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from reversi.errors import ReversiError
from reversi.frontends.web.game import WebGame
from reversi.games.notation import PASS
from reversi.games.position import Position
from reversi.games.rules import game_named
from tests.reversi.formats import writers
from tests.reversi.formats.wthor_files import names, random_game, wtb
from tests.scripts.conftest import Answer, Reversi

PASSING = "f5f6c4g5h5h4g7h6"
"""Black must pass next; White can then play f8."""

P = "X-OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXXOO-OOOOXXOOOOOOX--XOOOOO- X"

MOVES = [PASSING[at : at + 2] for at in range(0, len(PASSING), 2)] + [PASS, "f8"]

START = Position.start("reversi8")


def games_of(answer: Answer) -> list[list[str]]:
    """Return the moves of each game that `replay --json` prints."""
    found: dict[int, list[str]] = {}
    for line in map(json.loads, answer.out.splitlines()):
        found.setdefault(line["game"], []).extend([line["move"]] if line["move"] else [])
    return list(found.values())


@pytest.mark.parametrize(
    "text",
    [
        PASSING + "f8",
        *(PASSING + word + "f8" for word in ("pass", "PA", "PS", "--", "@@@@", "tt")),
        " ".join(MOVES).upper() + " 34-30",
        "\u3000".join(MOVES),
        "\u00a0".join(MOVES),
        "1) " + " ".join(MOVES),
        f'"{PASSING}f8"',
        "\ufeff" + PASSING + "f8",
        PASSING[:8] + "\n" + PASSING[8:] + "f8",
        "1. f5 f6\n2. c4 g5\n3. h5 h4\n4. g7 h6\n5. PA f8\n",
        f"{START}; {PASSING}f8",
        f"{START} {PASSING}f8",
        writers.ours(START, MOVES),
        writers.ggs(START, MOVES),
        writers.edax_ggf(START, MOVES),
        writers.edax_sgf(START, MOVES),
        writers.othellotk(START, MOVES),
        writers.quarry(START, MOVES),
        writers.edax_sgf(START, MOVES).replace("[PA]", "[--]"),
        writers.edax_pgn(START, MOVES),
    ],
)
def test_every_command_and_the_page_read_the_same_game(reversi: Reversi, tmp_path: Path, text: str) -> None:
    end = writers.positions(START, MOVES)[-1]
    assert games_of(reversi("replay", text, "--json")) == [MOVES]
    assert games_of(reversi("replay", "-", "--json", stdin=text)) == [MOVES]
    for name, data in (
        ("a.txt", text.encode()),
        ("a.ggf", text.encode()),
        ("a.sgf", text.encode("utf-8-sig")),
        ("a", text.encode("utf-16")),
        ("a.txt.gz", gzip.compress(text.encode())),
        ("a.ggf.bz2", bz2.compress(text.encode())),
    ):
        (tmp_path / name).write_bytes(data)
        assert games_of(reversi("replay", tmp_path / name, "--json")) == [MOVES], name
    page = WebGame.from_text(text, START.game)
    assert (page.positions[0], list(page.moves)) == (START, MOVES)
    played = reversi("play", "greedy", "--start", text, stdin="quit\n")
    assert (played.code, played.err) == (0, "")
    assert "".join(move for move in MOVES if move != PASS) in played.out
    line = " ".join(text.split("\n"))
    solved = reversi("solve", "--nodes", "1", "--json", stdin=line + "\n")
    assert [json.loads(each)["position"] for each in solved.out.splitlines()] == [str(end)]


LINES = "c2b2\nb3b4"
"""Each is a game of 6x6, and so are both together."""


def test_a_game_written_out_over_several_lines_is_one_game_everywhere(reversi: Reversi) -> None:
    together = ["c2", "b2", "b3", "b4"]
    assert games_of(reversi("replay", LINES, "--all", "--json")) == [together]
    assert list(WebGame.from_text(LINES, game_named("reversi6")).moves) == together
    assert "c2b2b3b4" in reversi("play", "greedy", "--start", LINES, stdin="quit\n").out


def test_lines_of_a_file_that_can_be_one_game_or_two_are_asked_about(reversi: Reversi, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(LINES)
    for answer in (
        reversi("replay", path),
        reversi("replay", "-", stdin=LINES),
        reversi("play", "greedy", "--start", path),
    ):
        assert (answer.code, answer.out) == (2, "")
        assert "expected one game or one game per line, and these lines can be either" in answer.err
    path.write_text(LINES.replace("\n", "\n\n"))
    assert games_of(reversi("replay", path, "--all", "--json")) == [["c2", "b2"], ["b3", "b4"]]
    path.write_text("1. c2 b2\n2. b3 b4\n")
    assert games_of(reversi("replay", path, "--all", "--json")) == [["c2", "b2", "b3", "b4"]]
    path.write_text("1. c2 b2\n1. b3 b4\n")
    assert games_of(reversi("replay", path, "--all", "--json")) == [["c2", "b2"], ["b3", "b4"]]


def test_files_of_wrapped_games_and_of_a_game_per_line(reversi: Reversi, tmp_path: Path) -> None:
    path, many = tmp_path / "a.txt", [[move for move in random_game(seed)[0] if move != PASS] for seed in range(3)]
    wrapped = ["\n".join(" ".join(moves[at : at + 10]) for at in range(0, len(moves), 10)) for moves in many]
    for text in ("\n".join(map(writers.transcript, many)), "\n".join(wrapped), "\n\n".join(wrapped)):
        path.write_text(text)
        found = games_of(reversi("replay", path, "--all", "--json"))
        assert [[move for move in moves if move != PASS] for moves in found] == many


def test_a_wrapped_game_with_a_fault_is_judged_on_its_own_board(reversi: Reversi) -> None:
    answer = reversi("replay", "F5 D6\nC3 D3\nC4 F4\nF6 F3 zz")
    assert answer.code == 1
    assert answer.err == "error: 'F5 D6\\nC3 D3\\nC4 F4\\nF6 F3 zz', game 1, ply 9: expected a move like d3, got 'zz'\n"


def test_an_archive_of_several_boards_is_read_whole_and_chosen_from(reversi: Reversi, tmp_path: Path) -> None:
    path, boards = tmp_path / "a.ggf", ["reversi6", "reversi8", "reversi6"]
    moves = [random_game(seed, board)[0] for seed, board in enumerate(boards)]
    path.write_text("\n".join(writers.ours(Position.start(b), m) for b, m in zip(boards, moves, strict=True)))
    assert games_of(reversi("replay", path, "--all", "--json")) == moves
    assert games_of(reversi("replay", path, "--json", "--game", 2)) == [moves[1]]
    assert games_of(reversi("replay", path, "--all", "--json", "--size", 6)) == [moves[0], moves[2]]
    assert games_of(reversi("replay", path, "--json", "--size", 8)) == [moves[1]]
    answer = reversi("replay", path, "--size", 6, "--game", 2)
    assert (answer.code, "--game: expected a game of reversi6, game 2 is of another board" in answer.err) == (2, True)
    answer = reversi("replay", path, "--size", 4)
    assert (answer.code, "expected games of reversi4, got reversi6, reversi8" in answer.err) == (1, True)


def test_wthor_has_its_names_in_small_letters_too(reversi: Reversi, tmp_path: Path) -> None:
    (tmp_path / "wth.dat").write_bytes(wtb([writers.transcript(random_game(1)[0])]))
    (tmp_path / "wthor.jou").write_bytes(names(["one", "two"], 20))
    (tmp_path / "Wthor.trn").write_bytes(names(["?", "a cup"], 26))
    assert "Game 1 of 1: one 40 - 24 two, a cup 1999" in reversi("replay", tmp_path / "wth.dat", "--ply", 0).out


def test_tables_of_eothello_and_of_a_named_column_from_anywhere(reversi: Reversi) -> None:
    many = [random_game(seed)[0] for seed in (1, 2)]
    table = writers.eothello(many)
    found = games_of(reversi("replay", "-", "--all", "--json", stdin=table))
    assert found == many
    renamed = table.replace("game_moves", "Kifu")
    assert games_of(reversi("replay", "-", "--all", "--json", "--column", "kifu", stdin=renamed)) == many
    answer = reversi("replay", "-", "--column", "moves", stdin=renamed)
    assert (answer.code, "got the columns 'eOthello_game_id, winner, Kifu'" in answer.err) == (1, True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{P}; H1:+11; A8:+8; --:-127;", 11),
        (f"{P}; +11;", 11),
        (f"{P}; +11; % best is h1", 11),
        (f"{P}; H1:+11 % best", 11),
        (f"{P} % 4 empty", None),
        (P.replace(" X", "X"), None),
        (P.replace(" X", " Black to move"), None),
        (P.replace(" X", "\u3000b"), None),
        ("[8 " + " ".join(writers.rows(P[:64])).replace("X", "*") + " *]", None),
        (writers.fen(Position.parse(P)), None),
        (f"{writers.chess_fen(Position.parse(P))}; +11;", 11),
    ],
)
def test_positions_and_their_scores_are_solved(reversi: Reversi, line: str, expected: int | None) -> None:
    answer = reversi("solve", "--best", "--json", stdin=f"% a comment\n\n# another\n{line}\n")
    (found,) = map(json.loads, answer.out.splitlines())
    assert (answer.code, found["position"], found["score"]) == (0, P, 11)
    assert (found.get("expected"), found.get("agrees")) == (expected, None if expected is None else True)


def test_a_file_of_problems_may_be_compressed_or_utf_16(reversi: Reversi, tmp_path: Path) -> None:
    for data in (f"{P}; +11;\n".encode("utf-16"), gzip.compress(f"{P}; +11;\n".encode())):
        (tmp_path / "a.obf").write_bytes(data)
        answer = reversi("solve", "--best", "--json", tmp_path / "a.obf")
        assert (answer.code, json.loads(answer.out)["agrees"]) == (0, True)


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("(;GM[2];B[f5];W[PA])", "'PA'"),
        ("(;GM[2];B[f5];W[zz])", "'zz'"),
        ("(;GM[2];B[f5];W[aa])", "'aa'"),
        ("(;GM[2];B[f5];W[\uff30\uff21])", "'\uff30\uff21'"),
        (writers.ours(START, ["f5"]).replace(";)", "W[Pass/1];)"), "'Pass'"),
        ("f5 PA", "'PA'"),
        ("f5 \uff21\uff11", "'\uff21\uff11'"),
        ("f5d6 \u201cz\u201d", "'z\u201d'"),
        (P.replace(" X", " Red tO mOve"), "'Red tO mOve'"),
        (f"{P}; \uff21\uff11:+3;", "'\uff21\uff11'"),
    ],
)
def test_what_is_wrong_is_quoted_as_it_was_given(text: str, got: str) -> None:
    with pytest.raises(ReversiError) as error:
        WebGame.from_text(text, START.game)
    assert f"got {got}" in str(error.value)


@pytest.mark.parametrize("color", ["b", "W", "Black", "o"])
def test_a_colour_is_any_word_for_a_side(reversi: Reversi, color: str) -> None:
    answer = reversi("play", "greedy", "--color", color, stdin="quit\n")
    assert ("You are Black" if color in ("b", "Black") else "You are White") in answer.out
