"""Show a run: games, versions, the champion, the health of its roles, the last checkpoint.

RUN is a run's folder or its name in runs/, by default the newest run, the one that trained last.  With --address (or
RAY_API_SERVER_ADDRESS) it is a job on a Ray cluster, by its run's name or its own; without RUN all jobs are listed.  If
the run's folder is not on this machine, it is read on the cluster's head, which takes some seconds.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from reversi import json
from reversi.errors import RunError, UsageError, printable
from reversi.runs import find_run
from scripts.arguments.cluster import add_cluster, names_cluster
from scripts.arguments.common import add_json
from scripts.run.durations import duration_text
from scripts.run.folder import start_again
from scripts.run.status import RunStatus, read_status

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.ray.jobs import Job

EXAMPLES = """
reversi status
reversi status night --watch
reversi status runs/long --json
reversi status night --address http://head:8265
"""


WATCH_S = 2.0
"""Seconds between two looks of --watch."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run, the cluster and the output format."""
    parser.add_argument(
        "what", nargs="?", metavar="RUN", help="a run's folder or name, or a job (default: the newest run)"
    )
    add_cluster(parser)
    parser.add_argument("--watch", action="store_true", help="show it again every two seconds, until it has ended")
    add_json(parser, "one JSON object, or a list of jobs")


def run(args: argparse.Namespace) -> int:
    """Print the status of the run, and of its job if it has one."""
    if args.watch and (names_cluster(args) or args.json):
        raise UsageError("expected --watch with a run of this machine and without --json; see `reversi watch`")
    if args.watch:
        return _watch(find_run(args.what))
    if not names_cluster(args):
        status = read_status(find_run(args.what))
        _show(args.json, asdict(status), _lines(status, status.resume_command))
        return 0
    from scripts.ray.jobs import Jobs, launch_command, run_of

    jobs = Jobs(args.address, args.token_file)
    if args.what is None:
        _list(args.json, jobs.all())
        return 0
    job = jobs.find(args.what)
    run_status, why = None, f"nothing in {job.folder}; {job.message}"
    try:
        run_status = run_of(jobs, job)
    except RunError as error:
        why = str(error)
    lines = [f"job {job.id}: {job.state}, started {job.started} UTC{f', ended {job.ended}' if job.ended else ''}"]
    if run_status is None:
        lines.append(f"run {job.run}: {why}")
    else:
        lines += _lines(run_status, launch_command(run_status, jobs.address))
    _show(args.json, {"job": asdict(job), "run": asdict(run_status) if run_status else None}, lines)
    return 0


def _watch(folder: Path) -> int:
    """Show the status of a run in place until the run has ended, or Ctrl-C."""
    import time

    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        while True:
            status = read_status(folder)
            live.update(Text("\n".join(_lines(status, status.resume_command))), refresh=True)
            if status.state != "training":
                return 0
            time.sleep(WATCH_S)


def _list(as_json: bool, jobs: list[Job]) -> None:
    if as_json:
        print(json.dumps([asdict(job) for job in jobs]))
        return
    for job in jobs:
        print(printable(f"{job.state:<9}  {job.started or '-':<19}  {job.id}  {job.folder}"))
    if not jobs:
        print("no jobs yet")


def _lines(status: RunStatus, resume_command: str | None) -> list[str]:
    """Return the status for people; a run that has ended is resumed by `resume_command`, if anything of it was kept."""
    speed, memory = f", {status.positions_per_s:,.0f} positions/s now", f", {status.resident_mb:,.0f} MB here"
    champion = "none yet" if status.champion is None else f"version {status.champion}"
    lines = [
        f"run {status.run}: {status.state}{f' in process {status.pid}' if status.pid else ''}, {status.folder}",
        f"  {status.game}, {duration_text(status.elapsed_s)} of training, {status.games:,} games"
        f"{speed if status.state == 'training' else ''}",
        f"  learner at step {status.step:,}, version {status.version}; champion {champion}, "
        f"{status.candidates} models in the registry",
        f"  {status.restarts} restarts{memory if status.state == 'training' else ''}; last metrics "
        f"{_ago(status.metrics_age_s)}",
        f"  last checkpoint {_ago(status.checkpoint_age_s)}",
    ]
    lines += [
        f"  {role}: " + ", ".join(f"{name} {value:,.0f}" for name, value in values.items())
        for role, values in status.health.items()
    ]
    actors = status.health.get("actors", {})
    if missing := max(0.0, actors.get("wanted", 0.0) - actors.get("alive", 0.0)):
        lines.append(f"  {missing:,.0f} actors start, or wait for a node with room")
    if status.actors_asked:
        counts = ", ".join(f"{count:,} {group}" for group, count in status.actors_asked.items())
        lines.append(f"  asked for by reversi scale: {counts}")
    if status.state == "training":
        return lines
    if status.ended is not None and (status.ended.error or status.ended.lost):
        lines.append(f"  the last session {status.ended.summary}")
    if status.ended is None and status.state == "died":
        lines.append("  no record of its end: it was killed")
    if resume_command is None:
        return [*lines, f"nothing was saved; {start_again(status.name_free)}"]
    return [*lines, f"go on with:  {resume_command}"]


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{duration_text(seconds)} ago"


def _show(as_json: bool, value: dict[str, Any], lines: list[str]) -> None:
    print(json.dumps(value) if as_json else "\n".join(map(printable, lines)))
