"""The ledger: what is written comes back, a crash costs one line, and nothing false is believed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.ledger import Entry, Ledger
from reversi.errors import CorruptFileError, RunError
from tests.evaluator.ledgers import ENTRY, KEY


def under_seed(seed: int) -> Entry:
    return replace(ENTRY, key=replace(KEY, seed=seed))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "results.jsonl"


def test_a_result_comes_back(file: Path) -> None:
    ledger = Ledger(file)
    assert (len(ledger), ledger.find(KEY)) == (0, None)
    ledger.add(ENTRY)
    again = Ledger(file)
    assert (len(again), again.find(KEY)) == (1, ENTRY)


@pytest.mark.parametrize(
    "other",
    [
        {"game": "reversi8"},
        {"a": "random"},
        {"b_model": "cd" * 32},
        {"a_model": "ab" * 32},
        {"openings": "ab" * 32},
        {"seed": 8},
    ],
)
def test_another_key_is_another_result(file: Path, other: dict[str, str]) -> None:
    ledger = Ledger(file)
    ledger.add(ENTRY)
    assert ledger.find(replace(KEY, **other)) is None
    assert ledger.find(replace(KEY)) == ENTRY


def test_a_line_that_a_crash_cut_short_is_dropped_and_written_over(file: Path) -> None:
    ledger = Ledger(file)
    for seed in (1, 2):
        ledger.add(under_seed(seed))
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    resumed = Ledger(file)
    assert len(resumed) == 1
    resumed.add(under_seed(2))
    assert file.read_bytes() == whole


def test_two_writers_do_not_destroy_each_others_results(file: Path) -> None:
    one, other = Ledger(file), Ledger(file)
    one.add(ENTRY)
    with pytest.raises(RunError, match="another process wrote to it"):
        other.add(under_seed(8))
    one.add(under_seed(9))
    assert len(Ledger(file)) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "format must be 1, got 2"),
        ({"pairs": [1, 0, 0, 1]}, "pairs must be a list of 5, got [1, 0, 0, 1]"),
        ({"black": [1, 0, -1]}, "black must be counts from 0 to 2147483647, got (1, 0, -1)"),
        ({"white": 5}, "but white must be a list, got 5"),
        ({"seed": [1]}, "seed must be an integer, got [1]"),
        ({"pairs": [10**400, 0, 0, 0, 0]}, "pairs must be counts from 0 to "),
        ({"seconds": "1"}, "seconds must be a number, got '1'"),
        ({"winner": "a"}, "unknown key 'winner'"),
        ({"a": 7}, "a must be text, got 7"),
        ({"pairs": [1, 0, 0, 0, 1]}, "expected 4 games with 1.5 points in pairs"),
        ({"pairs": [1, 0, 0, 1, 1]}, "expected 4 games with 1.5 points in pairs"),
    ],
)
def test_a_line_that_is_no_result_is_named(file: Path, change: dict[str, object], words: str) -> None:
    file.parent.mkdir()
    good = json.dumps({"format": 1, **ENTRY.columns()})
    file.write_text(good + "\n" + json.dumps({"format": 1, **ENTRY.columns(), **change}) + "\n")
    with pytest.raises(CorruptFileError) as error:
        Ledger(file)
    assert str(error.value).startswith(f"{file}:2: ")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello\n", "Expecting value: line 1 column 1"),
        ("[1]\n", r"it must be an object, got \[1\]"),
        ("{}\n", "format must be 1, got None"),
        ("\n", "Expecting value"),
        ('"format"\n', "it must be an object, got 'format'"),
        ("\xff\n", "'utf-8' codec"),
    ],
)
def test_another_file_is_refused(file: Path, text: str, reason: str) -> None:
    file.parent.mkdir()
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(
        CorruptFileError, match=rf"results\.jsonl:1: expected the result of a batch of games, but {reason}"
    ):
        Ledger(file)


@pytest.mark.timeout(100)
def test_only_a_file_of_some_size_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device such as /dev/zero has no end, and a pipe would be waited for."""
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(CorruptFileError, match="expected results of games, a file of at most 67108864 bytes, got"):
            Ledger(place)
    Ledger(tmp_path / "results").add(ENTRY)
    monkeypatch.setattr("evaluator.ledger.MAX_BYTES", 10)
    with pytest.raises(CorruptFileError, match=r"a file of at most 10 bytes, got \d+ bytes"):
        Ledger(tmp_path / "results")


def test_a_link_to_a_file_that_is_not_there_yet_is_an_empty_ledger(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "results")
    Ledger(tmp_path / "link").add(ENTRY)
    assert len(Ledger(tmp_path / "results")) == 1
