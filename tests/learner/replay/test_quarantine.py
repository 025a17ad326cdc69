"""The quarantine: what is refused is kept byte for byte under its reason, within bounds, and never stops a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from learner.replay import quarantine
from learner.replay.quarantine import Quarantine


def test_a_batch_is_kept_with_its_reason(tmp_path: Path) -> None:
    assert Quarantine(tmp_path / "rejected").keep(b"bytes", "unreadable", "from 'a'\ud800")
    assert (tmp_path / "rejected" / "000001-unreadable.records").read_bytes() == b"bytes"
    assert (tmp_path / "rejected" / "000001-unreadable.txt").read_text() == "from 'a'\\ud800\n"


def test_numbers_go_on_in_a_folder_that_has_some(tmp_path: Path) -> None:
    for reason in ("unreadable", "wrong-board"):
        assert Quarantine(tmp_path).keep(b"bytes", reason, "")
    names = sorted(path.name for path in tmp_path.glob("*.records"))
    assert names == ["000001-unreadable.records", "000002-wrong-board.records"]


def test_files_and_bytes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "MAX_FILES", 3)
    assert [Quarantine(tmp_path / "files").keep(b"", "r", "") for _ in range(5)] == [True] * 3 + [False] * 2
    monkeypatch.setattr(quarantine, "MAX_BYTES", 10)
    small = Quarantine(tmp_path / "bytes")
    assert [small.keep(b"12345678", "r", "") for _ in range(2)] == [True, False]


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "rejected").write_text("a file is in the way")
    assert not Quarantine(tmp_path / "rejected").keep(b"bytes", "unreadable", "")


def test_without_a_folder_nothing_is_kept() -> None:
    assert not Quarantine(None).keep(b"bytes", "unreadable", "")


def test_a_number_is_never_used_twice(tmp_path: Path) -> None:
    for data in (b"one", b"two"):
        assert Quarantine(tmp_path).keep(data, "illegal-move", "why")
    (tmp_path / "000001-illegal-move.records").unlink()
    assert Quarantine(tmp_path).keep(b"three", "illegal-move", "why")
    assert [path.read_bytes() for path in sorted(tmp_path.glob("*.records"))] == [b"two", b"three"]
