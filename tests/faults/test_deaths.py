"""A role that is killed under load is started again and counted, and the run still ends with a champion."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from learner.replay.memory import STATE_FORMAT
from reversi import archive
from scripts.run.folder import is_stopping
from scripts.run.interrupt import TOGETHER_S
from scripts.run.processes import children
from tests.faults.drill.run import is_alive
from tests.runs.training.processes import REPLAY, ROLES, command, processes, resume, wait_for
from tests.scripts.launch.tiny_job import TINY, TINY_TD, elapsed_s, metrics

STALL_S = 16.0

JOBS = {"a tower": TINY, "patterns over Redis": (*TINY_TD, "replay=redis", "actors.count=1")}


@pytest.mark.parametrize("job", JOBS.values(), ids=list(JOBS))
def test_killed_roles_come_back_and_the_run_still_ends_with_a_champion(job: tuple[str, ...], tmp_path: Path) -> None:
    """One after the other in a run; once all are back it is stopped, and resumed to its end."""
    run = tmp_path / "killed"
    limits = ("run.name=killed", "run.minutes=9", "run.checkpoint_minutes=0.05", "run.summary_games=0")
    start = command(tmp_path, *limits, job=job)
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: list((run / "checkpoints").glob("0*")))
        for number, role in enumerate(ROLES, start=1):
            (victim,) = processes(process.pid, role)
            os.kill(victim.pid, signal.SIGKILL)
            wait_for(lambda: [p for p in processes(process.pid, role) if p.pid != victim.pid])  # noqa: B023
            words = f"{'actor-0' if role == 'actor' else role} works again"
            wait_for(lambda: words in (run / "logs" / "run.log").read_text())  # noqa: B023
            wait_for(lambda: metrics(run, "run")[-1]["run/restarts"] == number)  # noqa: B023
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    done = resume(run, f"run.minutes={elapsed_s(run) / 60 + 0.05}")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^(champion: version|no champion yet)", done.stdout, re.MULTILINE)
    rows = metrics(run, "run")
    assert rows[-1]["run/restarts"] == len(ROLES)
    assert rows[-1]["run/games"] > 0
    assert metrics(run, "learner")[-1]["learner/step"] > 0
    assert metrics(run, "replay")[-1]["replay/rejected_games"] == 0
    log = (run / "logs" / "run.log").read_text()
    assert [log.count(f"{role} died") for role in ("actor-0", "learner", "gate")] == [1, 1, 1]


def test_a_role_that_dies_too_often_ends_the_run_with_its_name(tmp_path: Path) -> None:
    run = tmp_path / "doomed"
    start = command(tmp_path, "run.name=doomed", "run.minutes=5", "cluster.max_restarts=0")
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: any(row["run/games"] for row in metrics(run, "run")))
        os.kill(processes(process.pid, "actor")[0].pid, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "error: the actor-0 died and ended the run" in err
    assert f"; go on from the last checkpoint with: reversi train resume={run}; see " in err
    assert "Traceback" not in err
    (saved,) = (run / "checkpoints").glob("0*")
    assert json.loads((saved / "run.json").read_text())["progress"]["games"] > 0


def test_a_driver_that_was_stopped_itself_kills_nobody_and_a_stop_waits_for_a_slow_gate(tmp_path: Path) -> None:
    run = tmp_path / "patient"
    start = command(tmp_path, "run.name=patient", "run.minutes=5", f"cluster.stall_s={STALL_S}")
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (run / "metrics.jsonl").exists() and metrics(run, "run"))
        process.send_signal(signal.SIGSTOP)
        time.sleep(STALL_S + 2)
        process.send_signal(signal.SIGCONT)
        before = metrics(run, "run")[-1]["run/games"]
        wait_for(lambda: metrics(run, "run")[-1]["run/games"] > before)
        assert metrics(run, "run")[-1]["run/restarts"] == 0
        (gate,) = processes(process.pid, "gate")
        gate.suspend()
        process.send_signal(signal.SIGTERM)
        time.sleep(12)
        assert process.poll() is None
        gate.resume()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "has not answered" not in (run / "logs" / "run.log").read_text()
    assert "stopped and saved; go on with:" in out
    assert list((run / "checkpoints").glob("0*"))


def test_a_killed_replay_goes_on_from_the_last_checkpoint_and_says_what_is_lost(tmp_path: Path) -> None:
    run = tmp_path / "bereft"
    start = command(tmp_path, "run.name=bereft", "run.minutes=5", "run.checkpoint_minutes=0.05", "run.summary_games=0")
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: list((run / "checkpoints").glob("0*")))
        os.kill(processes(process.pid, REPLAY)[0].pid, signal.SIGKILL)
        log = run / "logs" / "run.log"
        wait_for(lambda: log.exists() and "replay works again" in log.read_text())
        saved = max((run / "checkpoints").glob("0*"))
        wait_for(lambda: max((run / "checkpoints").glob("0*")) > saved)
        wait_for(lambda: metrics(run, "health/replay")[-1]["health/replay/restarts"] == 1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    newest = max((run / "checkpoints").glob("0*"))
    heard = json.loads((newest / "run.json").read_text())["progress"]["games"]
    held = archive.unpack((newest / "replay.safetensors").read_bytes(), "replay", STATE_FORMAT, "replay")[1]["counts"]
    told = sum(map(int, re.findall(r"the replay lost (\d+) games", log.read_text())))
    assert held["games_total"] >= heard - told
    assert held["rejected_games"] == 0
    assert metrics(run, "health/replay")[-1]["health/replay/restarts"] == 1


def test_a_second_signal_ends_the_process_now(tmp_path: Path) -> None:
    run = tmp_path / "now"
    start = command(tmp_path, "run.name=now", "run.minutes=5")
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (run / "metrics.jsonl").exists() and metrics(run, "run"))
        below = children(process.pid)
        (gate,) = processes(process.pid, "gate")
        gate.suspend()  # without its answer the run is not saved
        process.send_signal(signal.SIGINT)
        wait_for(lambda: is_stopping(run))
        time.sleep(1.2 * TOGETHER_S)  # sooner it would be the same signal
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopped at once; what came after the last checkpoint is lost" in err
    assert "go on with" not in out
    wait_for(lambda: not [title for child, title in below if title.startswith("ray::") and is_alive(child)])


def test_ctrl_c_on_a_run_on_ray_saves_within_ten_seconds(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to every process of the group, Ray's included."""
    start = command(tmp_path, "run.name=saved", "run.minutes=5")
    with subprocess.Popen(
        start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        wait_for(lambda: (tmp_path / "saved" / "metrics.jsonl").exists() and metrics(tmp_path / "saved", "run"))
        os.killpg(process.pid, signal.SIGINT)
        stopped = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - stopped < 10
    assert process.returncode == 130, err
    assert "reversi train resume=" in out
    (newest,) = (tmp_path / "saved" / "checkpoints").glob("0*")
    assert json.loads((newest / "run.json").read_text())["progress"]["games"] > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_driver_saves_and_stops_within_ten_seconds(number: signal.Signals, tmp_path: Path) -> None:
    run = tmp_path / "told"
    start = command(tmp_path, "run.name=told", "run.minutes=5")
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (run / "metrics.jsonl").exists() and metrics(run, "learner"))
        told = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - told < 10
    assert process.returncode == 130
    assert f"reversi train resume={run}" in out
    assert "Traceback" not in err
    assert list((run / "checkpoints").glob("0*"))
