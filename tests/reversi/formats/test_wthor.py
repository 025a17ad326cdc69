"""WTHOR files: their games, their names, and every way in which they are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reversi.errors import CorruptFileError
from reversi.formats.collection import replayed
from reversi.formats.wthor import read_names, read_wthor
from tests.reversi.formats.wthor_files import code, names, random_game, transcript, wtb

DATABASE = Path(__file__).parents[3].parent / "shared" / "data" / "wthor"


def test_the_games_of_a_file_replay() -> None:
    wthor = read_wthor(wtb([transcript(seed) for seed in range(20)]), "made.wtb")
    assert (len(wthor), wthor.year, wthor.empties) == (20, 1999, 24)
    assert wthor.black.tolist() == list(range(0, 40, 2))
    assert wthor.white.tolist() == list(range(1, 40, 2))
    assert (set(wthor.black_score), set(wthor.theoretical_score), set(wthor.tournament)) == ({40}, {36}, {1})
    found = replayed(wthor.lists, "made.wtb")
    assert found.is_good.all()
    for seed in range(20):
        assert found.positions(seed)[-1] == random_game(seed)[1]


def test_moves_that_are_none_and_gaps_are_problems_of_their_game() -> None:
    data = bytearray(wtb([transcript(seed) for seed in range(4)]))
    for game, ply, byte in ((0, 3, 99), (1, 5, 0), (2, 0, code("a1"))):
        data[16 + 68 * game + 8 + ply] = byte
    found = replayed(read_wthor(bytes(data), "made.wtb").lists, "made.wtb")
    assert [found.problem(index) for index in range(4)] == [
        "made.wtb, game 1, ply 4: expected a move like d3, got something else",
        "made.wtb, game 2, ply 6: expected a move like d3, got something else",
        "made.wtb, game 3, ply 1: expected a legal move, got 'a1'",
        None,
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "expected a WTHOR header of 16 bytes, got 0 bytes"),
        (b"\x14" * 15, "expected a WTHOR header of 16 bytes, got 15 bytes"),
        (wtb([transcript(0), transcript(1)])[:-1], "expected 152 bytes for the 2 games of a WTHOR header, got 151"),
        (wtb([transcript(0)]) + b"x", "expected 84 bytes for the 1 games of a WTHOR header, got 85"),
        (wtb([transcript(0)], claimed=0xFFFFFFFF), "expected 292057776076 bytes"),
        (wtb([transcript(0)], claimed=0), "expected 16 bytes"),
        (b"f5d6c3d3c4f4c5b3c2e3d2e6\n" * 9, "bytes for the "),
        (wtb([transcript(0)], size=10), "got size 10, kind 0"),
        (wtb([transcript(0)], kind=1), "got size 8, kind 1"),
    ],
)
def test_what_is_no_wthor_file_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(CorruptFileError) as error:
        read_wthor(data, "games.wtb")
    assert str(error.value).startswith("games.wtb: expected ")
    assert words in str(error.value)


def test_any_bytes_are_refused_or_read() -> None:
    draw = np.random.default_rng(0)
    for length in range(0, 400, 7):
        with pytest.raises(CorruptFileError):
            read_wthor(draw.integers(1, 256, length).astype(np.uint8).tobytes(), "noise")
    data = wtb([""] * 50)[:16] + draw.integers(0, 256, 50 * 68).astype(np.uint8).tobytes()
    assert not replayed(read_wthor(data, "noise").lists, "noise").is_good.any()


def test_names_are_read_by_their_number() -> None:
    data = names(["???", "Rose Brian", "Feinstein Jérôme"], 20)
    assert read_names(data, "players", "WTHOR.JOU") == ["???", "Rose Brian", "Feinstein Jérôme"]
    with pytest.raises(CorruptFileError, match=r"WTHOR\.JOU: expected 76 bytes for the 3 names"):
        read_names(data[:-1], "players", "WTHOR.JOU")


@pytest.mark.skipif(not DATABASE.is_dir(), reason="the database is not beside the checkout")
def test_the_whole_database_replays_and_its_scores_are_those_of_the_games() -> None:
    games = bad = 0
    for path in sorted(DATABASE.glob("*.wtb")):
        wthor = read_wthor(path.read_bytes(), path.name)
        found = replayed(wthor.lists, path.name)
        games += len(found)
        bad += int((~found.is_good).sum())
        problems = [found.problem(int(index)) for index in np.flatnonzero(~found.is_good)]
        assert all(problem is not None and "stops before its end" in problem for problem in problems)
        empty = 64 - np.bitwise_count(found.final_own | found.final_opp).astype(int)
        margin = found.margin + np.sign(found.margin) * empty
        assert ((32 + margin // 2 == wthor.black_score) | ~found.is_good).all()
    assert (games, bad) == (127475, 413)


def test_a_header_of_another_kind_of_file_is_refused() -> None:
    data = bytearray(wtb([transcript(0)]))
    data[8] = 1  # a number of players' names: this is a file of names
    with pytest.raises(CorruptFileError, match="expected games on 8x8"):
        read_wthor(bytes(data), "made.wtb")
