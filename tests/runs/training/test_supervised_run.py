"""`reversi train experiment=wthor` as its users run it, on a few random games in files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.runs.training.processes import REPLAY, processes, wait_for
from tests.scripts.launch.supervised_job import job
from tests.scripts.launch.tiny_job import metrics


def test_a_replay_that_dies_after_all_games_were_read_does_not_end_the_run(tmp_path: Path) -> None:
    run = tmp_path / "lost"
    much = ("run.minutes=5", "run.checkpoint_minutes=60", "replay.reuse=1e6", "algorithm.patience=null")
    start = [sys.executable, "-m", "scripts.cli", "train", *job(tmp_path, "lost", 60, *much)]
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: list((run / "checkpoints").glob("0*")))  # the one of the end of the files
        wait_for(lambda: metrics(run, "replay"))
        held = metrics(run, "replay")[-1]["replay/positions"]
        shutil.rmtree(run / "checkpoints")
        os.kill(processes(process.pid, REPLAY)[0].pid, signal.SIGKILL)
        wait_for(lambda: list((run / "checkpoints").glob("0*")))  # the one of their second end
        step = metrics(run, "learner")[-1]["learner/step"]
        wait_for(lambda: metrics(run, "learner")[-1]["learner/step"] > step)
        wait_for(lambda: metrics(run, "replay")[-1]["replay/positions"] == held)
        os.kill(processes(process.pid, "learner")[0].pid, signal.SIGKILL)  # the next one gets the validation games too
        wait_for(lambda: "learner works again" in (run / "logs" / "run.log").read_text())
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "the game files are read again from the first" in (run / "logs" / "run.log").read_text()
    rows = metrics(run, "run")
    assert rows[-1]["run/restarts"] == 2
    assert {row["run/games"] for row in rows[1:]} == {rows[-1]["run/games"]}, "no game is counted twice"
