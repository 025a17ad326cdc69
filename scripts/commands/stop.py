"""Save and stop a run, wait until it has ended, and print the command that resumes it.

RUN is a run's folder or its name in runs/, by default the newest; with --address (or RAY_API_SERVER_ADDRESS) a job on a
Ray cluster, by its run's name or its own.  A run that has already ended is left as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import time
from pathlib import Path
from typing import Any

from reversi.errors import RunError, UsageError
from scripts.arguments.cluster import add_cluster, names_cluster
from scripts.arguments.common import add_json, positive
from scripts.run.interrupt import NOTHING_KEPT, NOTHING_LOST, SAVED
from scripts.run.state import find_run, lock_holder, read_run

EXAMPLES = """
reversi stop
reversi stop runs/long
reversi stop night --address http://head:8265
"""

POLL_S = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run, the cluster, the time limit and the output format."""
    parser.add_argument("what", nargs="?", metavar="RUN", help="a run's folder or name, or a job (default: the newest)")
    add_cluster(parser)
    parser.add_argument("--timeout", type=positive, default=120, metavar="S", help="seconds to wait (default 120)")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Stop the run and print how to resume it."""
    answer = _stop_job(args) if names_cluster(args) else _stop_here(find_run(args.what), args.timeout)
    if args.json:
        print(json.dumps(answer))
    elif answer["resume"]:
        print(f"run {answer['run']} {answer['said']}; go on with:  {answer['resume']}")
    else:
        print(f"run {answer['run']} {answer['said']}")
    return 0 if answer["saved"] else 1


def _stop_here(folder: Path, timeout_s: float) -> dict[str, Any]:
    from scripts.run.folder import checkpoints_in

    before = checkpoints_in(folder)
    held, pid = lock_holder(folder)
    if held and pid is None:
        raise RunError(
            f"run {folder.name!r} is held on another machine: stop it there or, if it is a job, by --address"
        )
    began = time.monotonic()
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        while lock_holder(folder)[0]:
            if time.monotonic() - began >= timeout_s:
                raise RunError(f"run {folder.name!r} did not stop within {timeout_s:g} s; end it by `kill {pid}`")
            time.sleep(POLL_S)
    if not folder.exists():  # nothing had been trained, so it has removed itself
        return {"run": folder.name, "said": NOTHING_KEPT, "saved": True, "resume": None}
    state = read_run(folder)
    ended = SAVED if checkpoints_in(folder) != before else "ended without a new checkpoint"
    said = f"{ended} in {time.monotonic() - began:.1f} s" if pid else f"was not running: {state.state}"
    return {"run": folder.name, "said": said, "saved": state.checkpoint is not None, "resume": state.resume_command}


def _stop_job(args: argparse.Namespace) -> dict[str, Any]:
    from scripts.ray.jobs import Jobs

    if args.what is None:
        raise UsageError("expected a job or a run's name with --address, got none; `reversi status` lists them")
    jobs = Jobs(args.address, args.token_file)
    job = jobs.find(args.what)
    resume = f"reversi launch --address {shlex.quote(jobs.address)} resume={shlex.quote(job.folder)}"
    if job.over:
        return {"run": job.run, "job": job.id, "said": f"was not running: {job.state}", "saved": True, "resume": resume}
    began = time.monotonic()
    job = jobs.stop(job.id, args.timeout)
    lines = [line for line in jobs.log(job.id).splitlines() if line.strip()]
    if any(NOTHING_KEPT in line for line in lines[-20:]):
        return {"run": job.run, "job": job.id, "said": NOTHING_KEPT, "saved": True, "resume": None}
    if any(NOTHING_LOST in line for line in lines[-20:]):
        return {"run": job.run, "job": job.id, "said": NOTHING_LOST, "saved": True, "resume": resume}
    saved = any(SAVED in line for line in lines[-20:]) or job.state == "succeeded"
    said = f"{SAVED} in {time.monotonic() - began:.1f} s" if saved else f"ended unsaved: {lines[-1] if lines else ''}"
    return {"run": job.run, "job": job.id, "said": said, "saved": saved, "resume": resume}
