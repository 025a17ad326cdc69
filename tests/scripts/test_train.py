"""`reversi train` as its users run it, on the smallest of jobs: to the end, stopped, resumed, refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from reversi.errors import ConfigError
from scripts.commands import train as train_command
from scripts.launch.train import Trained, _log_end_of_thread
from tests.scripts.conftest import Reversi
from tests.scripts.runs import TINY, command, metrics, resume, train, wait_for


@pytest.mark.parametrize("cluster", ["serial", "local"])
def test_a_run_leaves_a_gated_model_metrics_and_a_summary(cluster: str, tmp_path: Path) -> None:
    done = train(tmp_path, f"cluster={cluster}", "run.name=whole", "run.minutes=0.15")
    assert done.returncode == 0, done.stderr
    run = tmp_path / "whole"
    assert "champion: version" in done.stdout
    assert "against random" in done.stdout
    assert "reversi play --registry" in done.stdout
    summary = json.loads((run / "summary.json").read_text())
    gated = json.loads((run / "registry" / "gated.json").read_text())
    assert summary["champion"] == gated["version"] >= 0
    assert summary["candidates"] >= 2
    assert summary["results"]["random"]["games"] == 20
    assert (run / "config.yaml").is_file()
    assert "torch" in json.loads((run / "versions.json").read_text())
    assert list((run / "tensorboard").iterdir())
    assert metrics(run, "run")[-1]["run/games"] > 16
    assert metrics(run, "learner")[-1]["learner/losses/policy"] > 0
    assert metrics(run, "replay")[-1]["replay/rejected_games"] == 0
    assert max(row["gate/candidate_version"] for row in metrics(run, "gate")) > 0


def test_a_stopped_run_saves_and_goes_on_counting(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path, "cluster=serial", "run.name=cut", "run.minutes=30", "actors.lessons=0", "replay.reuse=0.5"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: (tmp_path / "cut" / "metrics.jsonl").exists() and metrics(tmp_path / "cut", "run"), 120)
        held = resume(tmp_path / "cut")
        assert held.returncode == 1
        assert f"held by process {process.pid}" in held.stderr
        stopped = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - stopped < 10
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
    assert subprocess.run(new, capture_output=True, timeout=240, check=False).returncode == 0
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
        while "champion: version" not in process.stdout.readline():
            assert process.poll() is None
        stopped = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert time.monotonic() - stopped < 10
    assert (process.returncode, "against" in out) == (130, False)
    run = tmp_path / "cut"
    assert out.splitlines()[-1] == f"stopped and saved; go on with:  reversi train resume={run}"
    assert not (run / "summary.json").exists()
    done = resume(run, "run.summary_games=20", "run.summary_simulations=4")
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "summary.json").read_text())["results"]["greedy"]["games"] == 20


def test_a_sweep_is_one_run_after_another(tmp_path: Path) -> None:
    sweep = ("cluster=serial", "run.name=seeds", "tracking=jsonl", "run.minutes=0.02", "run.summary_games=0")
    done = train(tmp_path, "--multirun", "run.seed=1,2", *sweep)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("job ")][1].startswith("job 2 of 2: ")
    assert "seed: 1\n" in (tmp_path / "seeds-0" / "config.yaml").read_text()
    assert "seed: 2\n" in (tmp_path / "seeds-1" / "config.yaml").read_text()


def test_each_run_of_a_sweep_has_a_registry_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a job is part of its name before the registry's URL is made of that."""
    trained: list[tuple[str, str]] = []

    def note(values: dict[str, Any]) -> Trained:
        trained.append((values["run"]["name"], values["registry"]["url"]))
        return Trained(tmp_path, finished=True)

    monkeypatch.setenv("REVERSI_BUCKET", "bucket")
    monkeypatch.setattr(train_command, "train_composed", note)
    sweep = ["--multirun", "experiment=tictactoe", f"run.dir={tmp_path}"]
    assert train_command.run([*sweep, "run.seed=1,2", "run.name=a+1", "registry=s3"]) == 0
    assert trained == [("a+1-0", "s3://bucket/a+1-0"), ("a+1-1", "s3://bucket/a+1-1")]
    trained.clear()
    assert train_command.run([*sweep, "run.name=a,b", "registry.url=memory://of/${run.name}"]) == 0
    assert trained == [("a-0", "memory://of/a-0"), ("b-1", "memory://of/b-1")]
    shared = [
        ["run.seed=1,2", "registry.url=memory://one"],
        [f"registry.url={tmp_path}/one,file://{tmp_path}/two/../one/"],
        ["run.name=x", f"registry.url=null,{tmp_path}/x-0/registry"],
    ]
    for overrides in shared:
        with pytest.raises(
            ConfigError, match=r"registry.url must differ .*/\$\{run.name\} does, but jobs 1 and 2 have"
        ):
            train_command.run([*sweep, *overrides])
    assert len(trained) == 2, "nothing was begun"


def test_a_sweep_begins_only_if_all_of_it_is_sound_and_ends_with_what_is_stopped(tmp_path: Path) -> None:
    wrong = train(tmp_path, "--multirun", "cluster=serial", "gate.games=20,7")
    assert (wrong.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "gate.games must be even" in wrong.stderr
    start = command(tmp_path, "--multirun", "run.seed=1,2", "cluster=serial", "run.name=told", "run.minutes=5")
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (tmp_path / "told-0" / "metrics.jsonl").exists() and metrics(tmp_path / "told-0", "run"), 120)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert not (tmp_path / "told-1").exists()


def test_a_run_of_so_many_games_ends_when_the_learner_has_used_them(tmp_path: Path) -> None:
    few = ("run.games=100", "run.minutes=5", "replay.min_positions=100", "actors.round_batches=1")
    done = train(tmp_path, "cluster=local", "run.name=counted", "tracking=jsonl", "run.summary_games=0", *few)
    assert done.returncode == 0, done.stderr
    replay = metrics(tmp_path / "counted", "replay")[-1]
    assert replay["replay/games_total"] >= 100
    assert replay["replay/tokens"] < 8 * 64, "less than one draw is left"
    assert metrics(tmp_path / "counted", "run")[-1]["elapsed_s"] < 60
    again = resume(tmp_path / "counted")
    assert again.returncode == 2
    assert "has played its 100 games" in again.stderr


def test_q_learning_is_a_job_like_any_other(tmp_path: Path) -> None:
    few = ("run.name=table", "run.games=3000", "tracking=jsonl", f"run.dir={tmp_path}")
    arguments = [sys.executable, "-m", "scripts.cli", "train", "experiment=tictactoe_qlearning", *few]
    done = subprocess.run(arguments, text=True, capture_output=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "table"
    results = metrics(run, "play")
    assert [row["play/games"] for row in results] == sorted(row["play/games"] for row in results)
    assert 25 <= len(results) <= 30, "a row for every hundred games"
    wins = [row["play/wins"] / (row["play/wins"] + row["play/draws"] + row["play/losses"]) for row in results]
    assert sum(wins[-5:]) / 5 > sum(wins[:5]) / 5, "the table learns"
    proof = json.loads((run / "summary.json").read_text())["proof"]
    (sides,) = proof.values()
    assert sides["from the empty board"]["first"]["wins"] > sides["from the empty board"]["first"]["losses"]
    assert (run / "learning.svg").read_text().startswith("<svg ")
    other = resume(run, "algorithm.name=dqn")
    assert other.returncode == 2
    assert "keeps its algorithm.name=q_table" in other.stderr


def test_games_that_are_not_there_are_one_line(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "scripts.cli", "train", "experiment=wthor", f"run.dir={tmp_path}"]
    done = subprocess.run(arguments, text=True, capture_output=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "found none at 'games/*.wtb'; name yours, as in 'actors.paths=[FOLDER/*.wtb]'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_taken_name_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    done = train(tmp_path, "run.name=taken")
    assert done.returncode == 1
    assert done.stderr.startswith("error: run 'taken' exists")
    assert list((tmp_path / "taken").iterdir()) == []


@pytest.mark.parametrize(
    ("overrides", "code", "words"),
    [
        (["no.such.key=1"], 2, "unknown key 'no.such.key'"),
        (["gate.games=7"], 2, "gate.games must be even"),
        (["experiment=nope"], 2, "unknown choice 'experiment/nope'"),
        (["run.minutes=soon"], 2, "run.minutes must be a number, got 'soon'"),
        (["actors.count=64"], 2, "actors.count=64"),
        (["game=reversi4", "run.summary_games=20000"], 2, "run.summary_games=20000: expected 10000 distinct openings"),
        (["run.dir=/proc/nowhere"], 1, "cannot write the run folder"),
        (
            ["replay.capacity_positions=90000000"],
            2,
            "replay.capacity_positions must be at most 79225742: 54 bytes a position, of which a saved replay has room",
        ),
        (["learner.device=cuda"], 2, "learner.device"),
        (["actors.device=cuda"], 2, "actors.device"),
        (["actors.games=100", "actors.groups=3"], 2, "actors.games must be a multiple of actors.groups=3, got 100"),
        (["search=gumbel", "search.keep_subtree=true"], 2, "search.keep_subtree"),
        (["run.games=0"], 2, "run.games must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_nothing(
    overrides: list[str], code: int, words: str, tmp_path: Path, reversi: Reversi
) -> None:
    done = reversi("train", f"run.dir={tmp_path}", *TINY, "run.name=wrong", *overrides)
    assert done.code == code, done.err
    assert_one_line(done.err, words)
    assert not (tmp_path / "wrong").exists()


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


def test_a_missing_run_is_refused(tmp_path: Path) -> None:
    done = resume(tmp_path / "none")
    assert done.returncode == 1
    assert f"expected a run's folder or its name in runs/, got '{tmp_path / 'none'}'" in done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has ended; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("whole")
    short = ("cluster=serial", "run.name=whole", "run.minutes=0.05", "run.summary_games=0")
    assert train(folder, *short).returncode == 0
    return folder / "whole"


@pytest.mark.parametrize("damage", ["cut", "flipped", "missing"])
def test_a_damaged_checkpoint_is_one_line(damage: str, whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "hurt"
    shutil.copytree(whole, run)
    for checkpoint in (run / "checkpoints").iterdir():  # all of them: one whole one would be gone on from
        file = checkpoint / "learner.safetensors"
        data = file.read_bytes()
        if damage == "cut":
            file.write_bytes(data[: len(data) // 2])
        elif damage == "flipped":
            file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        else:
            file.unlink()
    before = sorted(path.name for path in run.rglob("*") if "kernels" not in path.name)
    done = resume(run, "run.minutes=1")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "learner" in done.stderr
    assert [name for name in before if name not in {path.name for path in run.rglob("*")}] == []


def test_a_full_disk_is_one_line_and_waited_for_until_the_user_will_not(tmp_path: Path) -> None:
    """A file-size limit stands in for the full disk: the kernel refuses the write in the same way."""
    limit = "ulimit -f 100; trap '' XFSZ; exec " + " ".join(command(tmp_path, "cluster=serial", "run.minutes=0.05"))
    with (
        open(tmp_path / "said", "wb") as said,
        subprocess.Popen(["bash", "-c", limit], stdout=subprocess.DEVNULL, stderr=said) as run,
    ):
        wait_for(lambda: "not saved, tried again until it is: cannot write" in (tmp_path / "said").read_text(), 150)
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 1
    assert "Traceback" not in (tmp_path / "said").read_text()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", str(os.cpu_count()))


def test_the_last_exception_of_a_thread_is_in_the_log_with_its_place(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError("no space left")

    monkeypatch.setattr(threading, "excepthook", _log_end_of_thread)
    thread = threading.Thread(target=fail, name="writer")
    thread.start()
    thread.join()
    assert caplog.messages == ["writer ended by OSError"]
    assert "in fail" in caplog.text
    assert "OSError: no space left" in caplog.text
    assert capsys.readouterr().err == ""
