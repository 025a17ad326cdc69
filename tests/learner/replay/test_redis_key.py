"""The key of a run: kept by its folder, wherever that is moved, and not by a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from learner.replay.redis.key import PLACE_FILE, is_copied, renew_key, run_key


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    run_key(folder)
    return folder


def test_a_run_has_a_key_of_its_own_that_it_keeps(run: Path, tmp_path: Path) -> None:
    assert run_key(run) == run_key(run)
    assert run_key(run).startswith("run-")
    assert not is_copied(run)
    other = tmp_path / "elsewhere" / "run"
    assert run_key(other) != run_key(run)


def test_a_copy_is_recognised_wherever_the_original_is_now(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assert is_copied(copy)
    run.rename(tmp_path / "moved")
    shutil.copytree(copy, run)
    assert is_copied(run), "a copy at the place of the original"
    assert not is_copied(tmp_path / "moved")
    before = run_key(tmp_path / "moved")
    assert renew_key(copy) == before
    assert run_key(copy) != before
    assert not is_copied(copy)


def test_a_folder_that_another_machine_mounts_is_no_copy(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "other")
    assert not is_copied(run)
    moved = run.with_name("moved")
    run.rename(moved)
    assert is_copied(moved), "as likely another disk, whose folder has the same number by chance"


def test_a_folder_from_before_places_were_stored_is_no_copy(run: Path) -> None:
    key = run_key(run)
    (run / PLACE_FILE).unlink()
    assert not is_copied(run)
    assert run_key(run) == key
    assert (run / PLACE_FILE).exists()
