"""Save and stop a run, wait until it has ended, and print the command that resumes it.

RUN is a run's folder or its name in runs/, by default the newest run, the one that trained last; with --address (or
RAY_API_SERVER_ADDRESS) a job on a Ray cluster, by its run's name or its own.  A run that has ended, or is stopping, is
left alone.  Exit code 1 if it is not saved: training was lost, or it does not say how it ended.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path
from typing import Any

from reversi import json
from reversi.errors import RunError, UsageError, printable
from reversi.runs import find_run
from scripts.arguments.cluster import add_cluster, names_cluster
from scripts.arguments.common import add_json, positive
from scripts.run.exit_record import NOTHING_KEPT
from scripts.run.folder import LockHolder, is_stopping, lock_holder
from scripts.run.status import RunStatus, read_status

EXAMPLES = """
reversi stop
reversi stop runs/long
reversi stop night --address http://head:8265
"""

POLL_S = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run, the cluster, the time limit and the output format."""
    parser.add_argument(
        "what", nargs="?", metavar="RUN", help="a run's folder or name, or a job (default: the newest run)"
    )
    add_cluster(parser)
    parser.add_argument("--timeout", type=positive, default=120, metavar="S", help="seconds to wait (default 120)")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Stop the run and print how to resume it."""
    answer = _stop_job(args) if names_cluster(args) else _stop_here(find_run(args.what), args.timeout)
    if args.json:
        print(json.dumps(answer))
    elif answer["resume"]:
        print(printable(f"run {answer['run']} {answer['said']}; go on with:  {answer['resume']}"))
    else:
        print(printable(f"run {answer['run']} {answer['said']}"))
    return 0 if answer["saved"] else 1


def _stop_here(folder: Path, timeout_s: float) -> dict[str, Any]:
    holder, began = lock_holder(folder), time.monotonic()
    if holder is not None:
        _end(holder, folder, timeout_s)
        if not (folder / "config.yaml").exists():  # nothing had been trained, so it has removed itself
            return {"run": folder.name, "said": NOTHING_KEPT, "saved": True, "resume": None}
    status = read_status(folder)
    message = f"was not running: {_ended_before(status)}" if holder is None else _ended_now(status, began)
    return {"run": folder.name, "said": message, "saved": status.is_saved, "resume": status.resume_command}


def _end(holder: LockHolder, folder: Path, timeout_s: float) -> None:
    """Signal the process that holds a run, unless it is stopping already, and wait until it has ended."""
    if holder.pid is None:
        raise RunError(
            f"run {folder.name!r} is held on another machine: stop it there or, if it is a job, by --address"
        )
    deadline = time.monotonic() + timeout_s
    if not is_stopping(folder):  # a second signal would end it unsaved
        os.kill(holder.pid, signal.SIGTERM)
    while lock_holder(folder):
        if time.monotonic() >= deadline:
            raise RunError(f"run {folder.name!r} did not stop within {timeout_s:g} s; end it by `kill {holder.pid}`")
        time.sleep(POLL_S)


def _stop_job(args: argparse.Namespace) -> dict[str, Any]:
    from scripts.ray.jobs import Jobs, launch_command, run_of

    if args.what is None:
        raise UsageError("expected a job or a run's name with --address, got none; `reversi status` lists them")
    jobs = Jobs(args.address, args.token_file)
    job = jobs.find(args.what)
    was_over, began = job.over, time.monotonic()
    if not was_over:
        job = jobs.stop(job.id, args.timeout)
    try:
        status = run_of(jobs, job)
    except RunError as error:
        raise RunError(f"job {job.id} has {job.state}; whether its run is saved is not known: {error}") from error
    answer = {"run": job.run, "job": job.id}
    if status is None:
        kept_nothing = job.state == "stopped" and not was_over
        message = NOTHING_KEPT if kept_nothing else f"{job.state}: nothing in {job.folder}; {job.message}"
        return answer | {"said": message, "saved": kept_nothing, "resume": None}
    message = f"was not running: {job.state}; {_ended_before(status)}" if was_over else _ended_now(status, began)
    return answer | {"said": message, "saved": status.is_saved, "resume": launch_command(status, jobs.address)}


def _ended_now(status: RunStatus, began: float) -> str:
    words = status.ended.summary if status.ended else "ended without a record of how"
    return f"{words} in {time.monotonic() - began:.1f} s"


def _ended_before(status: RunStatus) -> str:
    return f"{status.state}, {status.ended.summary}" if status.ended and status.ended.error else status.state
