"""`reversi status`, `stop` and `launch` without a cluster: folders that are read, processes that are asked to end."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from reversi.errors import RunError
from scripts.commands import stop
from scripts.run.folder import RunFolder, is_stopping
from scripts.run.interrupt import TOGETHER_S
from tests.scripts.conftest import Reversi
from tests.scripts.run.sessions import driver, wait_until_stopping


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "night"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("game: {name: reversi6}\nregistry: {url: null}\n")
    return folder


def rows(run: Path, *values: dict[str, float]) -> None:
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in values) + '{"run/games": 99')


def aged(path: Path, seconds: float) -> None:
    at = time.time() - seconds
    os.utime(path, (at, at))


def test_the_newest_value_of_every_metric_is_shown(
    run: Path, reversi: Reversi, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(
        run,
        {"run/games": 5, "run/elapsed_s": 60.0, "learner/step": 3},
        {"run/games": 7, "run/elapsed_s": 65.0, "health/actors/alive": 2.0},
    )
    monkeypatch.chdir(run.parents[1])
    answer = json.loads(reversi("status", "--json").out)
    assert (answer["run"], answer["folder"], answer["game"]) == ("night", str(run), "reversi6")
    assert (answer["games"], answer["step"], answer["version"], answer["elapsed_s"]) == (7, 3, -1, 65.0)
    assert answer["health"] == {}  # what was true of its roles before it died
    assert (answer["state"], answer["champion"], answer["pid"]) == ("died", None, None)
    assert reversi("status", "night").out.endswith("nothing was saved; start it again under a new run.name\n")
    (run / "config.yaml").write_text("game: {name: reversi6}\nreplay: {kind: redis}\n")
    assert f"reversi train resume={run}" in reversi("status", "night").out, "Redis holds the games"


@pytest.mark.parametrize("replay", ["memory", "redis"])
@pytest.mark.parametrize(
    ("kept", "says"),
    [
        (None, "nothing was saved; start it again"),
        ("registry/models/000000", "nothing was saved; start it again under a new run.name"),
        ("checkpoints/000001", "go on with:  reversi train resume="),
        ("redis-key", "nothing was saved; start it again under a new run.name"),
    ],
)
def test_a_run_is_offered_what_its_folder_allows(
    replay: str, kept: str | None, says: str, run: Path, reversi: Reversi
) -> None:
    """What `train` then does: it takes the folder of a killed run that has left nothing."""
    rows(run, {"run/games": 5})
    (run / "run.lock").write_text("1\n")
    (run / "config.yaml").write_text(f"game: {{name: reversi6}}\nreplay: {{kind: {replay}}}\n")
    if kept is not None:
        (run / kept).mkdir(parents=True)
    if replay == "redis" and kept is not None:
        says = "go on with:  reversi train resume="
    last, free = (
        reversi("status", run).out.splitlines()[-1],
        json.loads(reversi("status", run, "--json").out)["name_free"],
    )
    assert (last.removesuffix(str(run)), free) == (says, kept is None)
    if free:
        RunFolder.create(str(run.parent), run.name).close()
    else:
        with pytest.raises(RunError, match="run 'night' exists"):
            RunFolder.create(str(run.parent), run.name)


def test_a_run_is_asked_to_save_and_waited_for(run: Path, reversi: Reversi) -> None:
    rows(run, {"health/actors/alive": 2.0, "health/actors/rss_mb": 900.0})
    with driver(run, "saves") as process:
        aged(run / "metrics.jsonl", 5)
        assert json.loads(reversi("status", run, "--json").out)["health"] == {}, "that was before it was resumed"
        aged(run / "metrics.jsonl", -1)
        state = json.loads(reversi("status", run, "--json").out)
        assert (state["state"], state["pid"], state["ended"]) == ("training", process.pid, None)
        assert state["health"] == {"actors": {"alive": 2.0, "rss_mb": 900.0}}
        assert "  actors: alive 2, rss_mb 900\n" in reversi("status", run).out
        stopped = reversi("stop", run)
    assert stopped.code == 0
    assert stopped.out.startswith("run night stopped and saved in ")
    assert stopped.out.endswith(f"go on with:  reversi train resume={run}\n")
    again = reversi("stop", run)
    assert (again.code, "was not running: stopped" in again.out) == (0, True)
    assert "the last session" not in reversi("status", run).out, "its state says it all"
    assert json.loads(reversi("status", run, "--json").out)["ended"] == {
        "how": "stopped",
        "trained": True,
        "lost": False,
        "checkpoint": "000001",
        "error": None,
    }


def test_a_run_that_is_stopping_is_not_asked_again(
    run: Path, reversi: Reversi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second signal would end it at once, unsaved."""
    with driver(run, "waits") as process:
        process.send_signal(signal.SIGTERM)
        wait_until_stopping(run)
        time.sleep(1.2 * TOGETHER_S)

        def look(folder: Path) -> bool:
            """Let the run save once the command has looked at it."""
            stopping = is_stopping(folder)
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            return stopping

        monkeypatch.setattr(stop, "is_stopping", look)
        stopped = reversi("stop", run, "--json")
        assert process.wait(timeout=50) == 0
    answer = json.loads(stopped.out)
    assert (stopped.code, answer["saved"]) == (0, True)
    assert answer["said"].startswith("stopped and saved in ")


def test_a_run_that_could_not_save_is_not_said_to_have_saved(run: Path, reversi: Reversi) -> None:
    (run / "checkpoints" / "000001").mkdir(parents=True)
    rows(run, {"run/games": 1})
    with driver(run, "fails"):
        stopped = reversi("stop", run)
    lost = "failed: no room; what came after the last checkpoint is lost"
    assert stopped.code == 1
    assert stopped.out.startswith(f"run night {lost} in ")
    assert stopped.out.endswith(f"go on with:  reversi train resume={run}\n")
    again = json.loads(reversi("stop", run, "--json").out)
    assert (again["said"], again["saved"]) == (f"was not running: died, {lost}", False)
    assert f"\n  the last session {lost}\n" in reversi("status", run).out


def test_a_run_that_was_killed_while_it_was_stopped_is_not_said_to_have_saved(run: Path, reversi: Reversi) -> None:
    (run / "checkpoints" / "000001").mkdir(parents=True)
    with driver(run, "hangs") as process:

        def kill() -> None:
            wait_until_stopping(run)
            process.kill()

        threading.Thread(target=kill).start()
        stopped = reversi("stop", run)
    assert stopped.code == 1
    assert stopped.out.startswith("run night ended without a record of how in ")
    said = reversi("status", run).out
    assert "run night: died" in said
    assert "\n  no record of its end: it was killed\n" in said


def test_a_run_that_does_not_end_is_one_line(run: Path, reversi: Reversi) -> None:
    with driver(run, "hangs") as process:
        stopped = reversi("stop", run, "--timeout", 1)
        process.kill()
    assert stopped.code == 1
    assert stopped.err == f"error: run 'night' did not stop within 1 s; end it by `kill {process.pid}`\n"


def test_a_process_that_does_not_hold_the_run_is_never_killed(run: Path, reversi: Reversi) -> None:
    """A number left in run.lock may be anybody's by now."""
    (run / "run.lock").write_text(f"{os.getpid()}\n")
    assert reversi("stop", run).code == 1  # nothing saved either
    assert json.loads(reversi("status", run, "--json").out)["pid"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["status", "nowhere"], 1, "expected a run's folder or its name in runs/, got 'nowhere'"),
        (["stop", "nowhere"], 1, "expected a run's folder or its name in runs/, got 'nowhere'"),
        (["status"], 1, "no run in runs/"),
        (["launch", "run.dir=/r"], 2, "expected a cluster in --address or RAY_API_SERVER_ADDRESS"),
        (
            ["launch", "--address", "http://127.0.0.1:1", "run.dir=/r"],
            3,
            "no Ray cluster answers at http://127.0.0.1:1",
        ),
        (["status", "--address", "127.0.0.1:1"], 3, "no Ray cluster answers at http://127.0.0.1:1"),
        (["stop", "--address", "127.0.0.1:1"], 2, "expected a job or a run's name with --address, got none"),
        (["status", "--address", "127.0.0.1:1", "--token-file", "/none"], 2, "there is none at /none"),
        (["launch"], 2, "run.dir must be an absolute path for a job on a cluster"),
        (["launch", "run.dir=/r", "gate.games=7"], 2, "gate.games must be even"),
        (["launch", "run.dir=/r", "cluster=local"], 2, "expected a Ray cluster to launch on"),
        (["launch", "resume=runs/night"], 2, "resume must be an absolute path"),
        (["launch", "registry.url=s3://me:secret@host/x"], 2, "registry.url: a password on a job's command line"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str], code: int, words: str, reversi: Reversi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RAY_API_SERVER_ADDRESS", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    answer = reversi(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert answer.err.count("\n") == 1
    assert "secret" not in answer.err
