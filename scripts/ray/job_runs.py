"""The run of a job, read from its folder, here or on the cluster's head, and the command that launches it again."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from scripts.run.exit_record import exit_record_of
from scripts.run.status import RunStatus, read_status

if TYPE_CHECKING:
    from scripts.ray.jobs import Job, Jobs

JOB_COMMAND = ("python", "-m", "scripts.cli")
"""How a job calls `reversi`: the code that is installed on the nodes, or that was sent with the job."""

IF_RUN = 'if test -f "$0/config.yaml"; then exec "$@"; else echo null; fi'
"""Shell program that runs a command if the folder that it is given first is a run's."""


def run_of(jobs: Jobs, job: Job) -> RunStatus | None:
    """Return the status of a job's run; None if there is no run in its folder.

    The run may not have made the folder yet, or have removed it because nothing had been trained.  RunError if the head
    cannot read it or does not answer in time.
    """
    folder = Path(job.folder)
    if (folder / "config.yaml").is_file():
        return read_status(folder)
    question = ("sh", "-c", IF_RUN, job.folder, *JOB_COMMAND, "status", job.folder, "--json")
    answer = json.loads(jobs.run_command(question, run=job.run, runtime_env=jobs.runtime_env(job.id)))
    if answer is None:
        return None
    return RunStatus(**(answer | {"ended": answer["ended"] and exit_record_of(answer["ended"])}))


def launch_command(status: RunStatus, address: str) -> str | None:
    """Return the command that launches a job's run again; None if it trains, or if nothing of it was kept."""
    if status.state == "training" or status.resume_command is None:
        return None
    again = f"reversi launch --address {quote(address)} resume={quote(status.folder)}"
    return " ".join(filter(None, (again, status.more)))
