"""Every format of games becomes the same games, and what is no such file is refused in one line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from reversi.errors import CorruptFileError, UsageError
from reversi.formats.collection import Collection
from reversi.formats.files import SUFFIXES, read_archive, read_games, read_games_of
from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.position import Position
from reversi.games.rules import game_named
from reversi.record import encode
from tests.reversi.formats.wthor_files import names, random_game, transcript, wtb

GAMES = [transcript(seed) for seed in range(5)]
ENDS = [random_game(seed)[1] for seed in range(5)]


def ggf(seed: int, board: str = "reversi8") -> str:
    start = Position.start(board)
    position, moves = start, []
    for move in random_game(seed, board)[0]:
        moves.append(GgfMove(next(a for a in position.legal_actions() if position.play(a) == position.play(move))))
        position = position.play(move)
    return str(GgfGame(start, tuple(moves), {"PB": f"black {seed}", "PW": "white"}))


def sgf(seed: int) -> str:
    nodes, position = "", Position.start("reversi8")
    for move in random_game(seed)[0]:
        nodes += f";{'B' if position.black_to_move else 'W'}[{move}]"
        position = position.play(move)
    return f"(;GM[2]FF[4]SZ[8]{nodes})"


def ends(found: Collection) -> list[Position]:
    return [found.positions(index)[-1] for index in range(len(found))]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.wtb", wtb(GAMES)),
        ("a.txt", "\n".join(["# five games", "", *GAMES]).encode()),
        ("a.TXT", "\r\n".join(text.upper() for text in GAMES).encode()),
        ("spaced.txt", "\n".join(" ".join(text[at : at + 2] for at in range(0, 120, 2)) for text in GAMES).encode()),
        ("a.csv", "\n".join(["id,transcript", *(f"{n},{text}" for n, text in enumerate(GAMES))]).encode()),
        ("b.csv", "\n".join(["Game_Transcript;x", *(f'"{text}";"a;b"' for text in GAMES)]).encode("utf-8-sig")),
        ("a.ggf", "\n".join(ggf(seed) for seed in range(5)).encode()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_games_come_out_of_every_format(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    found = read_games_of(path)
    assert found.is_good.all()
    assert ends(found) == ENDS
    assert ends(read_games_of(path, game_named("reversi8"))) == ENDS
    (tmp_path / "a.records").write_bytes(encode(found.records(np.arange(5)), "test", 0))
    assert ends(read_games_of(tmp_path / "a.records")) == ENDS


def test_an_sgf_file_has_one_game_or_several(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_text(sgf(3))
    assert ends(read_games_of(tmp_path / "a.sgf")) == [ENDS[3]]
    (tmp_path / "a.sgf").write_text("\n".join(map(sgf, range(5))))
    assert ends(read_games_of(tmp_path / "a.sgf")) == ENDS


@pytest.mark.parametrize("board", ["reversi4", "reversi6", "reversi8", "tictactoe"])
def test_the_board_of_transcripts_is_the_one_they_can_be_played_on(tmp_path: Path, board: str) -> None:
    (tmp_path / "a.txt").write_text("\n".join(transcript(seed, board) for seed in range(3)))
    assert read_games_of(tmp_path / "a.txt").game.name == board
    assert read_games(transcript(0, board).encode(), None, "it").is_good.all()


def test_a_file_says_who_played(tmp_path: Path) -> None:
    (tmp_path / "a.wtb").write_bytes(wtb(GAMES))
    assert read_games_of(tmp_path / "a.wtb").title(1) == "#2 40 - 24 #3, #1 1999"
    (tmp_path / "WTHOR.JOU").write_bytes(names(["?", "?", "Rose Brian", "Tastet Marc"], 20))
    (tmp_path / "WTHOR.TRN").write_bytes(names(["?", "World Championship"], 26))
    assert read_games_of(tmp_path / "a.wtb").title(1) == "Rose Brian 40 - 24 Tastet Marc, World Championship 1999"
    (tmp_path / "a.ggf").write_text(ggf(7))
    assert read_games_of(tmp_path / "a.ggf").title(0) == "black 7 - white, reversi-zero"


@pytest.mark.parametrize(
    ("tags", "title"),
    [
        ("PB[Ann]PW[Bob]", "Ann - Bob"),
        ("PB[Ann]PW[Bob]PC[Paris]RE[B+R]", "Ann - Bob, Paris, Black wins: White resigned"),
        ("PW[Bob]RE[W+12.5]", "? - Bob, White wins by 12.5"),
        ("PC[Paris]RE[w+Time]", "Paris, White wins: Black lost on time"),
        ("RE[B+Forfeit]", "Black wins: White forfeited"),
        ("RE[Draw]", "a draw"),
        ("PB[a \\] \\\\\nb\\\nc]PW[]RE[?]", "a ] \\ bc - ?"),
        ("", ""),
    ],
)
def test_sgf_says_who_played_where_and_how_it_ended(tags: str, title: str) -> None:
    found = read_games(f"(;GM[2]SZ[6]{tags};B[c2])".encode(), None, "it")
    assert (found.title(0), found.moves(0)) == (title, ["c2"])


def test_a_finished_game_of_sgf_has_the_result_of_its_board() -> None:
    assert read_games(sgf(3).replace("SZ[8]", "SZ[8]PB[me]RE[B+R]").encode(), None, "it").title(0) == "me - ?"


@pytest.mark.parametrize(
    "text", ["(;GM[2]{};B[f5])", "(;GM[Othello]{}BO[8 " + 27 * "-" + "O*------*O" + 27 * "-" + " *];)"]
)
def test_names_are_short_and_no_commands_to_a_terminal(text: str) -> None:
    found = read_games(text.format(f"PB[a\x1b[2Jb\x07\r\nc\u202ed]PW[{1000 * 'w'}]").encode(), None, "it")
    assert found.title(0) == f"a [2Jb c d - {80 * 'w'}"


def test_names_in_other_files_are_no_commands_to_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.wtb").write_bytes(wtb(GAMES))
    (tmp_path / "WTHOR.JOU").write_bytes(names(["", "", "\x1b[2Jme", "you"], 20))
    found = read_games_of(tmp_path / "a.wtb")
    assert found.title(1) == "[2Jme 40 - 24 you, #1 1999"
    (tmp_path / "a.records").write_bytes(encode(found.records(np.arange(5)), "\x1b[2Jit", 0))
    assert read_games_of(tmp_path / "a.records").title(0) == "[2Jit, version -1"


def test_a_game_begins_outside_the_tags_of_another(tmp_path: Path) -> None:
    path, texts = tmp_path / "a.ggf", [ggf(0).replace("PB[", "PB[(;(;["), *map(ggf, (1, 2))]
    path.write_text(f"1 {texts[0]} (; 2 {texts[1]}{texts[2]}")
    found = read_games_of(path)
    assert found.is_good.tolist() == [True, False, True, True]
    assert found.title(0) == "(;(;[black 0 - white, reversi-zero"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_game_that_is_cut_short_does_not_cost_the_next(tmp_path: Path, end: str) -> None:
    cut, _, _ = ggf(0).partition("black")
    (tmp_path / "a.ggf").write_bytes(f"{cut}{end}1 {ggf(1)}{end}".encode())
    assert (cut[-3:], read_games_of(tmp_path / "a.ggf").is_good.tolist()) == ("PB[", [False, True])


@pytest.mark.parametrize("text", [f"1 {ggf(0, 'reversi6')}\n1 {ggf(1, 'reversi6')}", "12 (;GM[2]SZ[6];B[c2])", "c2b4"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\ufeff \n "])
def test_numbers_and_byte_order_marks_before_games_are_passed_over(text: str, before: str) -> None:
    found = read_games((before + text).encode(), None, "it")
    assert (len(found), found.game.name) == (text.count("1 ") or 1, "reversi6")
    assert not any(found.is_broken(index) for index in range(len(found)))


def test_bad_games_are_named_and_the_others_stay(tmp_path: Path) -> None:
    texts = [ggf(0), ggf(1).replace("]B[", "]B[a1/", 1), "(;GM[Chess];)", ggf(4)]
    (tmp_path / "a.ggf").write_text("\n".join(texts))
    found = read_games_of(tmp_path / "a.ggf")
    assert found.is_good.tolist() == [True, False, False, True]
    said = [found.problem(index) or "" for index in (1, 2)]
    assert "game 2: expected " in said[0]
    assert "game 3: expected GM[Othello]" in said[1]


@pytest.mark.parametrize("first", ["reversi6", "reversi8"])
def test_games_of_several_boards_are_each_on_their_own(tmp_path: Path, first: str) -> None:
    other = {"reversi6": "reversi8", "reversi8": "reversi6"}[first]
    path, texts = tmp_path / "a.ggf", [ggf(0, first), ggf(1, other), ggf(2, first)]
    path.write_text("\n".join(texts))
    found = {games.game.name: games for games in read_archive(path)}
    assert list(found) == [first, other]
    assert all(games.is_good.all() for games in found.values())
    assert [found[first].number(index) for index in (0, 1)] == [1, 3]
    assert (found[other].number(0), found[other].title(0)) == (2, "black 1 - white, reversi-zero")
    assert len(read_games_of(path, game_named(other))) == 1
    with pytest.raises(CorruptFileError, match=f"expected games of one board, got games of {first}, {other}"):
        read_games_of(path)
    with pytest.raises(CorruptFileError, match=f"expected games of reversi4, got {first}, {other}"):
        read_games_of(path, game_named("reversi4"))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        (
            "a.csv",
            b"id,score\n1,2\n",
            "expected a column called transcript or moves or game_transcript or game_moves, got the columns",
        ),
        ("a.csv", b"", "got the columns ''"),
        ("a.csv", b'moves\n"f5' + b"x" * 200_000, "expected a CSV file, line 2"),
        ("a.gz", b"\x1f\x8bmoves", "expected a compressed file"),
        ("a.wtb", b"moves", "expected a WTHOR header"),
        ("a.records", b"moves", "a.records: "),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CorruptFileError) as error:
        read_games_of(tmp_path / name)
    assert words in str(error.value)
    assert str(tmp_path / name) in str(error.value)


def test_a_column_can_be_named_and_one_of_something_else_holds_no_games(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"who,Line\nme,{GAMES[0]}\nyou\n")
    found = read_games_of(path, column="line")
    assert found.is_good.tolist() == [True, False]
    assert found.problem(1) == f"{path}, game 2, ply 1: expected a move like d3, got ''"
    assert not read_games_of(path, column="who").is_good.any()
    with pytest.raises(CorruptFileError, match="expected a column called moves, got the columns 'who, Line'"):
        read_games_of(path, column="moves")


def test_a_file_of_more_lines_than_games_are_kept_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reversi.formats.files.MAX_GAMES", 10)
    monkeypatch.setattr("reversi.formats.files.MAX_BYTES", 1000)
    (tmp_path / "a.txt").write_text("\n" * 11)
    with pytest.raises(CorruptFileError, match="expected at most 10 games, got 11 lines"):
        read_games_of(tmp_path / "a.txt")
    (tmp_path / "a.wtb").write_bytes(wtb(GAMES * 3))
    with pytest.raises(CorruptFileError, match="expected at most 1000 bytes, got 1036"):
        read_games_of(tmp_path / "a.wtb")


def test_records_of_any_content_are_refuted_game_by_game(tmp_path: Path) -> None:
    (tmp_path / "a.wtb").write_bytes(wtb(GAMES))
    records = read_games_of(tmp_path / "a.wtb").records(np.arange(5))
    records.start_own[1] |= records.start_opp[1]
    records.actions[: records.plies[0]] = 64
    (tmp_path / "a.records").write_bytes(encode(records, "test", 0))
    found = read_games_of(tmp_path / "a.records")
    assert found.is_good.tolist() == [False, False, True, True, True]
    assert (found.problem(0) or "").endswith("game 1, ply 1: expected a legal move, got 'pass'")
    assert (found.problem(1) or "").endswith("game 2: bad-start")


def test_another_board_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.wtb").write_bytes(wtb(GAMES))
    with pytest.raises(CorruptFileError, match="expected games of reversi6, got reversi8"):
        read_games_of(tmp_path / "a.wtb", game_named("reversi6"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_noise_is_refused_or_holds_no_game(tmp_path: Path, suffix: str) -> None:
    draw = np.random.default_rng(0)
    for length in (0, 1, 16, 84, 5000):
        path = tmp_path / f"noise{suffix}"
        path.write_bytes(draw.integers(0, 256, length).astype(np.uint8).tobytes())
        with contextlib.suppress(CorruptFileError, UsageError):
            assert not read_games_of(path).is_good.any()
