"""Change the number of actors of a training run without a restart: some start, or finish their round and end.

RUN is a run's folder or its name in runs/, the newest run if it is left out; with --address (or
RAY_API_SERVER_ADDRESS) a job on a Ray cluster, by its run's name or its own.  The number is kept when the run is
stopped and resumed, unless an override sets another one on resume.  Actors that the cluster has no room for wait for a
node; `reversi status` shows how many are alive.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reversi import json
from reversi.capacity import cores
from reversi.errors import RunError, UsageError
from reversi.runs import find_run
from scripts.arguments.cluster import add_cluster, names_cluster
from scripts.arguments.common import add_json, natural
from scripts.run.folder import lock_holder

if TYPE_CHECKING:
    from scripts.config.job import JobConfig

EXAMPLES = """
reversi scale runs/long 3
reversi scale night 40 --address http://head:8265
reversi scale night 2 --group gpu --address http://head:8265
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run, the number, the group, the cluster and the output format."""
    parser.add_argument(
        "what", nargs="?", metavar="RUN", help="a run's folder or name, or a job (default: the newest run)"
    )
    parser.add_argument("count", type=natural, metavar="N", help="number of actors to have")
    parser.add_argument("--group", metavar="NAME", help="group of actors, if there are several (cpu, gpu)")
    add_cluster(parser)
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Write the target where the driver reads it, and print it."""
    answer = _ask_job(args) if names_cluster(args) else _ask_here(find_run(args.what), args.group, args.count)
    if args.json:
        print(json.dumps(answer))
    else:
        before = "as many as fit" if answer["before"] is None else answer["before"]
        group = "" if answer["group"] == "actors" else f" of group {answer['group']}"
        print(f"run {answer['run']}: {answer['count']} actors{group} asked for, {before} before")
    return 0


def _ask_here(folder: Path, group: str | None, count: int) -> dict[str, Any]:
    from scripts.config.compose import recompose
    from scripts.config.job import job_of
    from scripts.run.control import check_target, groups_of, read_target, write_target

    job = job_of(recompose(folder / "config.yaml", []))
    groups = groups_of(job)
    target = {
        name: number for name, number in read_target(folder).items() if name in groups
    }  # not of an earlier cluster
    chosen = _group(group, groups)
    before = target.get(chosen, groups.get(chosen))
    target[chosen] = count
    check_target(job, target)
    if not lock_holder(folder):
        raise RunError(
            f"run {folder.name!r} is not training; go on with it by `reversi train resume={folder} "
            f"{_key(job, chosen)}={count}`"
        )
    write_target(folder, target)
    _warn(job, count)
    return {"run": folder.name, "group": chosen, "count": count, "before": before}


def _ask_job(args: argparse.Namespace) -> dict[str, Any]:
    """Run the command on the head, where the run's folder is."""
    from scripts.ray.jobs import JOB_COMMAND, Jobs

    if args.what is None:
        raise UsageError("expected RUN, the job, and N, the number of actors, with --address")
    jobs = Jobs(args.address, args.token_file)
    job = jobs.find(args.what)
    if job.over:
        raise RunError(f"job {job.id} is over: {job.state}; launch it again with resume={job.folder}")
    folder = Path(job.folder)
    if (folder / "config.yaml").is_file():
        return _ask_here(folder, args.group, args.count)
    group = ("--group", args.group) if args.group else ()
    command = (*JOB_COMMAND, "scale", job.folder, str(args.count), *group, "--json")
    answer: dict[str, Any] = json.loads(jobs.run_command(command, run=job.run, runtime_env=jobs.runtime_env(job.id)))
    return answer


def _group(given: str | None, groups: dict[str, int | None]) -> str:
    """Return the group named by --group, else the only group that has actors."""
    used = [name for name, count in groups.items() if count != 0]
    if given is None and len(used) != 1:
        raise UsageError(f"expected --group, one of {', '.join(groups)}, as this run has several; got none")
    return used[0] if given is None else given


def _key(job: JobConfig, group: str) -> str:
    return f"cluster.actors.{group}.count" if job.cluster.kind == "ray" else "actors.count"


def _warn(job: JobConfig, count: int) -> None:
    """Print a warning if a run on this machine will have more threads than the machine has cores."""
    from actors.config import actor_threads

    threads = count * actor_threads(job.actors) + job.learner.threads
    if job.cluster.kind == "local" and threads > cores():
        print(f"{threads} threads of actors and learner will share {cores()} cores", file=sys.stderr)
