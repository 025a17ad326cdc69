"""Checkpoints that were cut, bent or robbed after they were written are passed over, never taken."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from reversi.errors import CorruptFileError, RunError
from reversi.files import write_atomic
from scripts.run import folder as run_folder
from scripts.run.folder import LOOK_S, MANIFEST, RunFolder, newest_whole

FILES = {"learner.safetensors": bytes(range(200)), "replay.safetensors": b"games" * 50, "run.json": b'{"number": 1}'}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(str(tmp_path), "run")
    for number in (1, 2):
        made.save_checkpoint(number, FILES | {"run.json": b'{"number": %d}' % number})
    return made


def test_what_was_saved_last_comes_back_without_its_manifest(folder: RunFolder) -> None:
    assert (folder.checkpoints()[-1] / MANIFEST).is_file()
    assert folder.newest_checkpoint() == FILES | {"run.json": b'{"number": 2}'}


@pytest.mark.parametrize("name", [*FILES, MANIFEST])
@pytest.mark.parametrize("harm", ["cut", "bent", "gone"])
def test_a_damaged_checkpoint_is_passed_over_by_name(
    name: str, harm: str, folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder.checkpoints()[-1] / name
    if harm == "cut":
        os.truncate(file, file.stat().st_size // 2)
    elif harm == "bent":
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    else:
        file.unlink()
    assert folder.newest_checkpoint() == FILES | {"run.json": b'{"number": 1}'}
    assert f"{folder.checkpoints()[-1]}: " in capsys.readouterr().err


def test_without_a_whole_one_the_file_is_named(folder: RunFolder) -> None:
    for place in folder.checkpoints():
        os.truncate(place / "replay.safetensors", 7)
    with pytest.raises(CorruptFileError, match=r"000001: replay.safetensors is not as it was written"):
        folder.newest_checkpoint()


def test_a_full_disk_leaves_the_checkpoints_there_are_and_nothing_of_the_new_one(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        if path.name == "run.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_atomic(path, data)

    monkeypatch.setattr(run_folder, "write_atomic", full)
    with pytest.raises(RunError, match=r"^cannot write the run folder .*: No space left on device; free it or set"):
        folder.save_checkpoint(3, FILES)
    assert sorted(path.name for path in (folder.path / "checkpoints").iterdir()) == ["000001", "000002"]
    monkeypatch.undo()
    folder.save_checkpoint(3, FILES)
    assert [path.name for path in folder.checkpoints()] == ["000002", "000003"]


def test_one_file_is_read_and_judged_alone(folder: RunFolder) -> None:
    newest = folder.checkpoints()[-1]
    os.truncate(newest / "replay.safetensors", 7)
    assert newest_whole(folder.path, "learner.safetensors") == {"learner.safetensors": FILES["learner.safetensors"]}
    assert newest_whole(folder.path, "run.json") == {"run.json": b'{"number": 2}'}
    assert newest_whole(folder.path, "replay.safetensors") == {"replay.safetensors": FILES["replay.safetensors"]}
    assert newest_whole(folder.path, "actor-7.safetensors") == {}
    (newest / "run.json").unlink()
    assert newest_whole(folder.path, "run.json") == {"run.json": b'{"number": 1}'}


def test_an_old_checkpoint_that_cannot_be_removed_costs_nothing(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmdir = os.rmdir

    def busy(path: Any, **options: Any) -> None:
        if str(path).endswith("000001"):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        rmdir(path, **options)

    monkeypatch.setattr(os, "rmdir", busy)
    folder.save_checkpoint(3, FILES)
    monkeypatch.undo()
    assert folder.newest_checkpoint() == FILES
    folder.save_checkpoint(4, FILES)
    assert [path.name for path in folder.checkpoints()] == ["000003", "000004"]


def test_a_look_at_the_lock_holds_nobody_up(tmp_path: Path) -> None:
    RunFolder.create(str(tmp_path), "night").close()
    (tmp_path / "night" / "config.yaml").touch()
    with open(tmp_path / "night" / "run.lock", encoding="ascii") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(LOOK_S / 3, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        held = RunFolder.resume(str(tmp_path / "night"))
    assert held.resumed
    held.close()


def test_a_run_is_resumed_by_its_folder_or_by_its_name_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = RunFolder.create("runs", "night")
    made.write_setup("kept: true\n")
    made.close()
    for name in ("night", "runs/night", str(tmp_path / "runs" / "night")):
        resumed = RunFolder.resume(name)
        assert resumed.path == tmp_path / "runs" / "night"
        resumed.close()
    with pytest.raises(RunError, match="expected a run's folder or its name in runs/, got 'day'"):
        RunFolder.resume("day")


def test_a_folder_with_a_model_is_never_discarded(tmp_path: Path) -> None:
    run = RunFolder.create(str(tmp_path), "night")
    assert run.disposable
    (run.path / "registry" / "models" / "000000").mkdir(parents=True)
    assert not run.disposable
    run.close()


def test_a_folder_without_a_configuration_is_no_run(tmp_path: Path) -> None:
    """A process that was killed in its first second leaves one, and its name stays free."""
    RunFolder.create(str(tmp_path), "night").close()
    again = RunFolder.create(str(tmp_path), "night")
    assert not again.resumed
    with pytest.raises(RunError, match=f"is held by process .*: reversi stop {tmp_path / 'night'}$"):
        RunFolder.create(str(tmp_path), "night")
    again.close()


@pytest.mark.parametrize("kept", [None, "checkpoints/000001", "registry/models/000000", "redis-key"])
def test_the_folder_of_a_run_that_kept_nothing_is_emptied_for_the_next_of_its_name(
    kept: str | None, tmp_path: Path
) -> None:
    first = RunFolder.create(str(tmp_path), "night")
    first.write_setup("kept: true\n")
    (first.path / "metrics.jsonl").write_text("{}\n")
    (first.path / "logs").mkdir()
    if kept:
        (first.path / kept).mkdir(parents=True)
    first.close()
    before = sorted(first.path.iterdir())
    if kept:
        with pytest.raises(RunError, match="exists in"):
            RunFolder.create(str(tmp_path), "night")
        assert sorted(first.path.iterdir()) == before
    else:
        again = RunFolder.create(str(tmp_path), "night")
        assert not again.resumed
        assert [path.name for path in first.path.iterdir()] == ["run.lock"]
        again.close()
