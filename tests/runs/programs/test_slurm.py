"""`deploy/slurm.sbatch`: a job whose time is up is queued again, one that has ended is not."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "deploy" / "slurm.sbatch"

UP = "touch up; while :; do sleep 0.05; done"
"""A run that trains."""


@pytest.mark.parametrize(
    ("run", "code", "asked"),
    [
        ("exit 0", 0, ""),
        ("exit 7", 7, ""),
        ("exit 130", 130, ""),
        ("trap 'echo saved; exit 130' USR1; " + UP, 130, "requeue 42\n"),
        ("trap 'trap \"exit 1\" USR1; touch heard; sleep 1; exit 130' USR1; " + UP, 130, "requeue 42\n"),
    ],
    ids=["finished", "failed", "stopped by `reversi stop`", "out of time", "warned twice"],
)
def test_a_slurm_job_whose_time_is_up_saves_its_run_and_is_queued_again(
    run: str, code: int, asked: str, tmp_path: Path
) -> None:
    for name, body in (("reversi", f'echo "$@" > arguments\n{run}'), ("scontrol", 'echo "$@" > asked')):
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_JOB_NAME": "night",
        "SLURM_JOB_ID": "42",
        "SLURM_SUBMIT_DIR": str(tmp_path),
    }
    command = ["bash", str(SCRIPT), "experiment=reversi8_patterns"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as job:
        if "up" in run:
            while not (tmp_path / "up").exists():
                time.sleep(0.05)
            job.send_signal(signal.SIGUSR1)
            if "heard" in run:  # while it saves it is preempted too
                while not (tmp_path / "heard").exists():
                    time.sleep(0.05)
                job.send_signal(signal.SIGTERM)
        assert job.wait(60) == code
    expected = f"train run.name=night run.dir={tmp_path}/runs resume=auto experiment=reversi8_patterns\n"
    assert (tmp_path / "arguments").read_text() == expected
    assert ((tmp_path / "asked").read_text() if (tmp_path / "asked").exists() else "") == asked
