"""What a run says of its end, and what is made of it: every way to end, and every reason not to believe the file."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reversi.errors import RunError, TrainingDivergedError
from scripts.run.exit_record import EXIT_RECORD, read_exit_record, recorded_exit
from scripts.run.folder import RunFolder
from scripts.run.interrupt import EXIT_INTERRUPTED, TOGETHER_S, Interrupt
from scripts.run.session import Session
from scripts.run.status import read_status
from tests.scripts.run.sessions import PARTS, driver, session, wait_until_stopping

End = Callable[[Session], None]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(str(tmp_path), "run")
    made.write_setup("game: {name: reversi6}\n")
    return made


def nothing(run: Session) -> None:
    """Train nothing at all."""


def trained(run: Session) -> None:
    run.begin()
    (run.folder.path / "metrics.jsonl").write_text("{}\n")


def saved(run: Session) -> None:
    trained(run)
    run.save(PARTS)


def saved_all(run: Session) -> None:
    trained(run)
    run.save(PARTS, at_end=True)


def fails(run: Session, error: BaseException, does: End = trained) -> None:
    with recorded_exit(run.folder, run.interrupt):
        does(run)
        raise error


def state_of(run: RunFolder) -> str:
    """Return the state of a run whose process has gone."""
    run.close()
    return read_status(run.path).state


@pytest.mark.parametrize(
    ("how", "does", "state", "words"),
    [
        ("finished", saved_all, "finished", "finished"),
        ("stopped", saved_all, "stopped", "stopped and saved"),
        ("stopped", nothing, "empty", "stopped before training continued; nothing is lost"),
        ("stopped", saved, "died", "stopped at once; what came after the last checkpoint is lost"),
        ("failed", saved_all, "stopped", "failed: no room"),
        ("failed", saved, "died", "failed: no room; what came after the last checkpoint is lost"),
        ("failed", trained, "died", "failed: no room; what came after the last checkpoint is lost"),
    ],
)
def test_a_run_says_how_it_ended(how: str, does: End, state: str, words: str, folder: RunFolder) -> None:
    run = session(folder)
    folder.resumed = True
    if how == "failed":
        with pytest.raises(RunError):
            fails(run, RunError("no room\nand more"), does)
    else:
        with recorded_exit(folder, run.interrupt) as recorder:
            does(run)
            assert recorder.record("finished" if how == "finished" else "stopped").summary == words
    record = read_exit_record(folder.path)
    assert record is not None
    assert (record.how, record.summary) == (how, words)
    assert record.checkpoint == ("000001" if does in (saved, saved_all) else None)
    assert state_of(folder) == state


def test_while_a_session_goes_on_and_after_it_was_killed_nothing_is_said(folder: RunFolder) -> None:
    first = session(folder)
    with recorded_exit(folder, first.interrupt) as recorder:
        saved_all(first)
        recorder.record("finished")
    folder.write_json("summary.json", {})
    with recorded_exit(folder, Interrupt()):
        assert read_exit_record(folder.path) is None
        copy = shutil.copytree(folder.path, folder.path.parent / "copy")  # as if it had been killed now
        assert read_status(copy).state == "died"
        assert read_status(folder.path).state == "training"


def test_the_first_word_is_the_last(folder: RunFolder) -> None:
    """The output that fails after a run has said that it was saved does not make it a failure."""
    run = session(folder)

    def says_that_it_is_saved() -> None:
        with recorded_exit(folder, run.interrupt) as recorder:
            saved_all(run)
            recorder.record("stopped")
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        says_that_it_is_saved()
    record = read_exit_record(folder.path)
    assert record is not None
    assert record.how == "stopped"


def test_an_error_that_is_none_of_ours_is_named(folder: RunFolder) -> None:
    run = session(folder)
    with pytest.raises(KeyError):
        fails(run, KeyError("missing"))
    record = read_exit_record(folder.path)
    assert record is not None
    assert record.error == "KeyError: 'missing'"


def test_a_disk_that_takes_no_last_word_is_no_lie(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = session(folder)

    def full(name: str, value: object) -> None:
        raise RunError("no space left")

    def saved_on_the_last_room(run: Session) -> None:
        saved(run)
        monkeypatch.setattr(folder, "write_json", full)

    with pytest.raises(TrainingDivergedError):
        fails(run, TrainingDivergedError("step 3"), saved_on_the_last_room)
    assert read_exit_record(folder.path) is None
    assert state_of(folder) == "died"
    assert caplog.messages == ["how the run ended is not recorded: no space left"]


def test_a_run_in_which_nothing_was_trained_says_nothing_of_an_error(folder: RunFolder) -> None:
    """It is removed as a whole."""
    with pytest.raises(RunError):
        fails(session(folder), RunError("no room"), nothing)
    assert read_exit_record(folder.path) is None
    assert folder.disposable
    folder.discard()
    assert not folder.path.exists()


def test_a_copy_says_what_the_original_said(folder: RunFolder) -> None:
    run = session(folder)
    with recorded_exit(folder, run.interrupt) as recorder:
        saved_all(run)
        recorder.record("stopped")
    copy = folder.path.parent / "copy"
    copy.mkdir()
    for file in sorted(folder.path.rglob("*"), reverse=True):  # its files have times of their own
        if file.is_file():
            target = copy / file.relative_to(folder.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    state = read_status(copy)
    assert (state.state, state.ended) == ("stopped", read_exit_record(folder.path))
    assert state.resume_command == f"reversi train resume={copy}"


@pytest.mark.parametrize("change", ["removed", "newer"])
def test_what_was_said_of_another_checkpoint_is_void(change: str, folder: RunFolder) -> None:
    run = session(folder)
    with recorded_exit(folder, run.interrupt) as recorder:
        saved(run)
        saved_all(run)
        recorder.record("stopped")
    if change == "removed":
        shutil.rmtree(folder.path / "checkpoints" / "000002")
    else:
        folder.save_checkpoint(3, PARTS)
    assert read_exit_record(folder.path) is None
    assert state_of(folder) == "died"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 50_000,
        '{"format": 2, "how": "stopped"}',
        '{"format": 1, "how": "stopped"}',
        '{"format": 1, "how": "slept", "trained": true, "lost": false, "checkpoint": "000001", "error": null}',
        '{"format": 1, "how": "stopped", "trained": true, "lost": 0, "checkpoint": "000001", "error": null}',
        '{"format": 1, "how": "failed", "trained": true, "lost": false, "checkpoint": "000001", "error": 3}',
        '{"format": 1, "how": "failed", "trained": true, "lost": false, "checkpoint": ["000001"], "error": null}',
        " " * (1 << 17),
    ],
)
def test_a_file_that_no_run_wrote_says_nothing(text: str, folder: RunFolder) -> None:
    saved_all(session(folder))
    (folder.path / EXIT_RECORD).write_text(text)
    assert read_exit_record(folder.path) is None
    assert state_of(folder) == "died"


def test_without_a_record_a_summary_does_not_make_a_run_finished(folder: RunFolder) -> None:
    saved_all(session(folder))
    folder.write_json("summary.json", {})
    assert read_exit_record(folder.path) is None
    assert state_of(folder) == "died"


def test_a_second_signal_says_that_something_is_lost(folder: RunFolder) -> None:
    folder.close()
    with driver(folder.path, "hangs") as process:
        process.send_signal(signal.SIGINT)
        wait_until_stopping(folder.path)
        time.sleep(1.2 * TOGETHER_S)  # sooner it would be the same signal
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=50) == EXIT_INTERRUPTED
    said = json.loads((folder.path / EXIT_RECORD).read_text())
    assert (said["how"], said["lost"]) == ("stopped", True)


def test_a_killed_run_says_nothing(folder: RunFolder) -> None:
    folder.close()
    with driver(folder.path, "hangs") as process:
        process.kill()
    assert json.loads((folder.path / EXIT_RECORD).read_text())["how"] is None
    assert read_exit_record(folder.path) is None
