"""Submit a training job to a Ray cluster: `reversi train` runs on the head, its roles on the nodes.

The overrides are those of `reversi train`; they are checked here before anything is sent.  The run's folder must be an
absolute path, on the head or on a shared disk.  The job keeps running without this terminal; `reversi status` and
`reversi stop` find it by the run's name, and `resume=FOLDER` launches a stopped run again.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reversi.errors import ConfigError, UsageError
from reversi.urls import has_password
from scripts.arguments.cluster import add_cluster
from scripts.arguments.common import add_json

if TYPE_CHECKING:
    from scripts.config.cluster import RayClusterConfig
    from scripts.ray.jobs import Jobs

EXAMPLES = """
reversi launch --address http://head:8265 run.dir=/shared/runs run.name=night run.minutes=600
reversi launch --address http://head:8265 --follow run.dir=/shared/runs cluster.learner.gpus=1
reversi launch --address http://head:8265 resume=/shared/runs/night run.minutes=1200
"""


@dataclass(frozen=True)
class Order:
    """What to submit."""

    run: str
    folder: str
    overrides: tuple[str, ...]
    runtime_env: dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the cluster, --follow and the overrides."""
    add_cluster(parser)
    parser.add_argument(
        "--follow", action="store_true", help="show the job's output until it ends; Ctrl-C leaves the job running"
    )
    add_json(parser, "one JSON object")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="overrides, as for `reversi train`")


def run(args: argparse.Namespace) -> int:
    """Check and submit the job; with --follow wait until it ends and return its exit code."""
    order = order_of(args.overrides)
    from scripts.ray.jobs import JOB_COMMAND, Jobs

    jobs = Jobs(args.address, args.token_file)
    before = [job for job in jobs.all() if job.folder == order.folder]
    job = jobs.submit(
        (*JOB_COMMAND, "train", *order.overrides),
        run=order.run,
        folder=order.folder,
        runtime_env=jobs.runtime_env(before[-1].id) if before else order.runtime_env,
    )
    if args.json:
        print(json.dumps({"job": job.id, "run": job.run, "folder": job.folder, "address": jobs.address}), flush=True)
    else:
        at = f"--address {shlex.quote(jobs.address)}"
        print(
            f"launched job {job.id}: run {job.run} in {job.folder}\n"
            f"  look:  reversi status {job.run} {at}\n"
            f"  stop:  reversi stop {job.run} {at}",
            flush=True,
        )
    return _follow(jobs, job.id) if args.follow else 0


def order_of(overrides: list[str]) -> Order:
    """Return what to submit for `overrides`, or raise the error that the job would fail with."""
    if secret := [item.partition("=")[0] for item in overrides if has_password(item)]:
        raise UsageError(
            f"{secret[0]}: a password on a job's command line is shown by the cluster's dashboard; put it into an "
            f"environment variable of the nodes"
        )
    from scripts.config.compose import AUTO

    folders = [item.partition("=")[2] for item in overrides if item.startswith("resume=")]
    return _again(folders[-1], overrides) if folders and folders[-1] != AUTO else _new(overrides)


def _new(overrides: list[str]) -> Order:
    from scripts.config.cluster import RayClusterConfig
    from scripts.config.compose import compose
    from scripts.config.job import job_of
    from scripts.launch.preflight import check_cluster_job

    if not any(item.startswith("cluster=") for item in overrides):
        overrides = [*overrides, "cluster=ray"]
    job = job_of(compose(overrides))
    if not isinstance(job.cluster, RayClusterConfig):
        raise ConfigError(f"expected a Ray cluster to launch on, as cluster=ray, got cluster.kind={job.cluster.kind}")
    check_cluster_job(job)
    named = [item for item in overrides if not item.startswith("run.name=")]  # the default one is of this second
    return Order(
        job.run.name,
        str(Path(job.run.dir) / job.run.name),
        (*named, f"run.name={job.run.name}"),
        _runtime_env(job.cluster),
    )


def _again(folder: str, overrides: list[str]) -> Order:
    if not Path(folder).is_absolute():
        raise ConfigError(f"resume must be an absolute path for a job on a cluster, got {folder!r}")
    return Order(Path(folder).name, str(Path(folder)), tuple(overrides), _runtime_env(None))


def _runtime_env(cluster: RayClusterConfig | None) -> dict[str, Any]:
    from scripts.ray.jobs import STOP_WAIT_S

    environment = dict(cluster.env_vars if cluster else {}) | {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_WAIT_S)}
    runtime: dict[str, Any] = {"env_vars": environment}
    if cluster and cluster.working_dir is not None:
        runtime |= {"working_dir": cluster.working_dir, "excludes": list(cluster.excludes)}
    return runtime


def _follow(jobs: Jobs, id: str) -> int:
    try:
        job = jobs.follow(id, sys.stdout)
    except KeyboardInterrupt:
        print(f"\njob {id} goes on; stop it with:  reversi stop {id} --address {jobs.address}", file=sys.stderr)
        raise
    print(f"job {job.id} {job.state}", file=sys.stderr)
    if job.state == "stopped":
        return 130
    return job.exit_code if job.exit_code is not None else int(job.state != "succeeded")
