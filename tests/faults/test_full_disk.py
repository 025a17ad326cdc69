"""A disk that is full for a while: the run goes on, says so, and is saved in the end; nothing half stays."""

from __future__ import annotations

import contextlib
import errno
import io
import os
from pathlib import Path

import pytest

from reversi.errors import RunError
from reversi.files import write_atomic
from scripts.launch.serial import run_serial
from scripts.run import folder as run_folder
from scripts.run import session
from scripts.run.folder import RunFolder
from scripts.run.interrupt import Interrupt
from scripts.run.progress import Progress
from scripts.run.session import Session
from tests.scripts.run.run_states import TABLE, differences, job_in

OFTEN = 1e-9
"""Minutes between two checkpoints where one is to follow every turn."""


class Disk:
    """Full from the first to the last of these writes of a checkpoint, the first one being number 1."""

    def __init__(self, first: int, last: int) -> None:
        self.tries, self._full = 0, range(first, last + 1)

    def write(self, path: Path, data: bytes) -> None:
        self.tries += path.name == "run.json"
        if path.name == "run.json" and self.tries in self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_atomic(path, data)


def train(folder: Path, name: str, disk: Disk, interrupt: Interrupt, checkpoint_minutes: float = 60.0) -> None:
    job = job_in(folder, name, *TABLE, "run.games=100", f"run.checkpoint_minutes={checkpoint_minutes}")
    held = RunFolder.create(job.run.dir, job.run.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "write_atomic", disk.write)
        patch.setattr(session, "SAVE_AGAIN_S", 0.0)
        try:
            run_serial(Session(job, held, interrupt, Progress([], io.StringIO())))
        finally:
            held.close()


def test_a_run_whose_disk_was_full_in_between_is_the_run_that_never_met_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, poor = Disk(0, 0), Disk(3, 6)
    train(tmp_path, "whole", whole, Interrupt(), OFTEN)
    assert capsys.readouterr().err == ""
    train(tmp_path, "poor", poor, Interrupt(), OFTEN)
    assert whole.tries > 6, "the disk has room again before the end"
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("not saved, tried again until it is: cannot write the run folder") for line in lines)
    assert all(line.endswith("No space left on device; free it or set run.dir") for line in lines)
    assert differences(tmp_path / "whole", tmp_path / "poor") == []
    assert not list((tmp_path / "poor" / "checkpoints").glob(".*"))


def test_the_end_of_a_run_waits_for_room_and_says_so_once_for_each_save(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(tmp_path, "whole", Disk(0, 0), Interrupt())
    full = Disk(1, 20)
    train(tmp_path, "patient", full, Interrupt())
    assert full.tries == 20 + 2, "one save before the last candidate's match, one after it"
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert differences(tmp_path / "whole", tmp_path / "patient") == []


def test_a_run_that_is_asked_to_end_and_cannot_be_saved_fails_at_once(tmp_path: Path) -> None:
    asked = Interrupt()
    asked.requested = True
    with pytest.raises(RunError, match="No space left on device"):
        train(tmp_path, "asked", Disk(1, 1), asked)
    assert list((tmp_path / "asked" / "checkpoints").iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_on_a_full_disk_costs_lines_and_not_the_run(caplog: pytest.LogCaptureFixture) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        progress = Progress([], io.TextIOWrapper(full, write_through=True))
        progress.begin(0.0, None, 10)
        progress._printed = float("-inf")
        progress.tick()
    assert caplog.messages == ["a line is lost: [Errno 28] No space left on device"]


def test_output_that_nobody_reads_any_more_ends_the_run_which_is_saved() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    interrupt = Interrupt()
    with os.fdopen(writing, "w") as out:
        progress = Progress([], out, hang_up=interrupt.request)
        progress.begin(0.0, None, 10)
        progress._printed = float("-inf")
        progress.tick()
        assert interrupt.requested
        with contextlib.suppress(BrokenPipeError):
            out.close()
