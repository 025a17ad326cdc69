"""`reversi train` as its users run it, on the smallest of jobs: stopped, resumed, out of disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.training.processes import command, resume, train, wait_for
from tests.scripts.launch.tiny_job import metrics


def test_a_stopped_run_saves_and_goes_on_counting(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path, "cluster=serial", "run.name=cut", "run.minutes=30", "actors.lessons=0", "replay.reuse=0.5"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: (tmp_path / "cut" / "metrics.jsonl").exists() and metrics(tmp_path / "cut", "run"))
        held = resume(tmp_path / "cut")
        assert held.returncode == 1
        assert f"held by process {process.pid}" in held.stderr
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert f"reversi train resume={tmp_path / 'cut'}" in out
    assert "Traceback" not in err
    before = metrics(tmp_path / "cut", "run")[-1]
    done = resume(tmp_path / "cut", f"run.games={before['run/games'] + 1:.0f}")
    assert done.returncode == 0, done.stderr
    after = metrics(tmp_path / "cut", "run")
    assert after[-1]["run/games"] > before["run/games"]
    assert after[-1]["step"] >= before["step"]
    assert [row["elapsed_s"] for row in after] == sorted(row["elapsed_s"] for row in after)
    again = resume(tmp_path / "cut")
    assert again.returncode == 2
    assert "this run has played its" in again.stderr


def stopped_at_once(arguments: list[str]) -> str:
    """Stop a run before its training begins, and return what it says at the end."""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "preparing" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    return out.splitlines()[-1]


def test_a_run_stopped_before_it_trains_says_so(tmp_path: Path) -> None:
    new = command(tmp_path, "cluster=serial", "run.name=early", "run.minutes=0.02", "run.summary_games=0")
    assert stopped_at_once(new) == "stopped before training began; nothing is kept"
    run = tmp_path / "early"
    assert not run.exists()
    assert subprocess.run(new, capture_output=True, timeout=600, check=False).returncode == 0
    saved = sorted((run / "checkpoints").iterdir())
    again = [sys.executable, "-m", "scripts.cli", "train", f"resume={run}", "run.minutes=9"]
    said = stopped_at_once(again)
    assert said == f"stopped before training continued; nothing is lost; go on with:  reversi train resume={run}"
    assert sorted((run / "checkpoints").iterdir()) == saved


def test_a_summary_that_is_stopped_is_made_when_the_run_is_resumed(tmp_path: Path) -> None:
    overrides = ("cluster=serial", "run.name=cut", "run.minutes=0.02", "game=reversi6", "gate.opening_plies=6")
    summary = ("run.summary_games=400", "run.summary_simulations=1000")
    with subprocess.Popen(
        command(tmp_path, *overrides, *summary), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith(("champion: version", "no champion yet")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=100)
    assert (process.returncode, "against" in out) == (130, False)
    run = tmp_path / "cut"
    assert out.splitlines()[-1] == f"stopped and saved; go on with:  reversi train resume={run}"
    assert not (run / "summary.json").exists()
    done = resume(run, "run.summary_games=20", "run.summary_simulations=4")
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "summary.json").read_text())["results"]["greedy"]["games"] == 20


def test_a_sweep_ends_with_what_is_stopped(tmp_path: Path) -> None:
    start = command(tmp_path, "--multirun", "run.seed=1,2", "cluster=serial", "run.name=told", "run.minutes=5")
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (tmp_path / "told-0" / "metrics.jsonl").exists() and metrics(tmp_path / "told-0", "run"))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert not (tmp_path / "told-1").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_a_cluster_that_is_not_there_is_one_line_and_leaves_nothing(address: str, tmp_path: Path) -> None:
    done = train(tmp_path, "run.name=wrong", "cluster=ray", f"cluster.address={address}")
    assert done.returncode == 3, done.stderr
    assert_one_line(done.stderr, f"no Ray answers at cluster.address={address}")
    assert not (tmp_path / "wrong").exists()


def assert_one_line(said: str, words: str) -> None:
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert words in errors[0]
    assert "Traceback" not in said


def test_a_full_disk_is_one_line_and_waited_for_until_the_user_will_not(tmp_path: Path) -> None:
    """A file-size limit stands in for the full disk: the kernel refuses the write in the same way."""
    limit = "ulimit -f 100; trap '' XFSZ; exec " + " ".join(command(tmp_path, "cluster=serial", "run.minutes=0.05"))
    with (
        open(tmp_path / "said", "wb") as said,
        subprocess.Popen(["bash", "-c", limit], stdout=subprocess.DEVNULL, stderr=said) as run,
    ):
        wait_for(lambda: "not saved, tried again until it is: cannot write" in (tmp_path / "said").read_text())
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=100) == 1
    assert "Traceback" not in (tmp_path / "said").read_text()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", str(os.cpu_count()))


def test_a_run_left_in_the_background_records_its_end(tmp_path: Path) -> None:
    """Its parent is gone before it ends, as after `nohup reversi train &` in a terminal that was closed."""
    job = command(tmp_path, "cluster=local", "run.name=left", "run.minutes=null", "run.games=60")
    subprocess.run(["bash", "-c", '"$@" > /dev/null 2>&1 &', "bash", *job], check=True)
    ended = tmp_path / "left" / "ended.json"
    wait_for(lambda: ended.exists() and json.loads(ended.read_text())["how"] is not None)
    assert json.loads(ended.read_text())["how"] == "finished"
