"""Submit a training job to a Ray cluster: `reversi train` runs on the head, its roles on the nodes.

The overrides are those of `reversi train`; they are checked here before anything is sent.  The run's folder must be an
absolute path, on the head or on a shared disk.  The job keeps running without this terminal; `reversi status` and
`reversi stop` find it by the run's name, and `resume=FOLDER` launches a stopped run again.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reversi import json
from reversi.errors import ConfigError, UsageError
from reversi.urls import has_password
from scripts.arguments.cluster import add_cluster
from scripts.arguments.common import add_json

if TYPE_CHECKING:
    from scripts.config.cluster import RayClusterConfig
    from scripts.ray.jobs import Job, Jobs

EXAMPLES = """
reversi launch --address http://head:8265 run.dir=/shared/runs run.name=night
reversi launch --follow run.dir=/shared/runs cluster.learner.gpus=1
reversi launch --config-dir my_conf experiment=mine run.dir=/shared/runs
reversi launch resume=/shared/runs/night run.minutes=1200
"""

PAGE_PORT = 8766
"""Port of the run's page on the head, unless the job says otherwise."""


@dataclass(frozen=True)
class Order:
    """What to submit."""

    run: str
    folder: str
    overrides: tuple[str, ...]
    cluster: RayClusterConfig
    config_dir: Path | None
    named: bool
    """Whether the name was given, and is not the default one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the cluster, --follow and the overrides."""
    add_cluster(parser)
    parser.add_argument(
        "--follow", action="store_true", help="show the job's output until it ends; Ctrl-C leaves the job running"
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="folder with groups as in conf/, such as experiment/mine.yaml, which is sent along",
    )
    add_json(parser, "one JSON object")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="overrides, as for `reversi train`")


def run(args: argparse.Namespace) -> int:
    """Check and submit the job; with --follow wait until it ends and return its exit code."""
    from scripts.ray.jobs import Jobs, saved_config

    jobs: Jobs | None = None

    def config_on_head(folder: str) -> str:
        nonlocal jobs
        jobs = jobs or Jobs(args.address, args.token_file)
        return saved_config(jobs, folder)

    order = order_of(args.overrides, args.config_dir, config_on_head)
    jobs = jobs or Jobs(args.address, args.token_file)
    job = _submit(jobs, order)
    if args.json:
        print(json.dumps({"job": job.id, "run": job.run, "folder": job.folder, "address": jobs.address}), flush=True)
    else:
        at = f"--address {shlex.quote(jobs.address)}"
        print(
            f"launched job {job.id}: run {job.run} in {job.folder}\n"
            f"  look:  reversi status {job.run} {at}\n"
            f"  watch: reversi watch {job.run} {at}\n"
            f"  stop:  reversi stop {job.run} {at}",
            flush=True,
        )
    return _follow(jobs, job.id) if args.follow else 0


def order_of(
    overrides: list[str], config_dir: Path | None = None, config_on_head: Callable[[str], str] | None = None
) -> Order:
    """Return what to submit for `overrides`, or raise the error that the job would fail with.

    config_on_head  reads the configuration of a run whose folder is not on this machine
    """
    from scripts.config.cluster import RayClusterConfig
    from scripts.config.compose import AUTO, compose, recomposed
    from scripts.config.job import job_of
    from scripts.config.overrides import config_dir_override, names_run, resumed_run, spelled
    from scripts.launch.preflight import check_cluster_job

    _check(overrides, config_dir)
    overrides = spelled(overrides)
    resume, rest = resumed_run(overrides)
    goes_on = resume not in (None, AUTO)
    own = [] if config_dir is None else [config_dir_override(config_dir)]
    if goes_on:
        assert resume is not None
        if not Path(resume).is_absolute():
            raise ConfigError(f"resume must be an absolute path for a job on a cluster, got {resume!r}")
        saved = Path(resume) / "config.yaml"
        text = saved.read_text(encoding="utf-8") if saved.is_file() or not config_on_head else config_on_head(resume)
        job, folder = job_of(recomposed(text, [*rest, *own])), str(Path(resume))
    else:
        if not any(item.startswith("cluster=") for item in overrides):
            overrides, rest = [*overrides, "cluster=ray"], [*rest, "cluster=ray"]
        job = job_of(compose([*rest, *own]))
        asked = any(item.startswith("tracking.port=") for item in overrides)
        if job.tracking.jsonl is not None and job.tracking.port is None and not asked:
            overrides = [*overrides, f"tracking.port={PAGE_PORT}"]
        folder = str(Path(job.run.dir) / job.run.name)
    if not isinstance(job.cluster, RayClusterConfig):
        raise ConfigError(f"expected a Ray cluster to launch on, as cluster=ray, got cluster.kind={job.cluster.kind}")
    check_cluster_job(job)
    named = names_run(overrides) or goes_on
    if not goes_on:  # the default name is of this second
        overrides = [*(item for item in overrides if not item.startswith("run.name=")), f"run.name={job.run.name}"]
    return Order(Path(folder).name, folder, tuple(overrides), job.cluster, config_dir, named)


def _check(overrides: list[str], config_dir: Path | None) -> None:
    """Raise UsageError for what must not be on a job's command line."""
    from scripts.config.overrides import SEARCH_PATH, config_dir_override

    if secret := [item.partition("=")[0] for item in overrides if has_password(item)]:
        raise UsageError(
            f"{secret[0]}: a password on a job's command line is shown by the cluster's dashboard; put it into an "
            f"environment variable of the nodes"
        )
    if any(item.startswith(SEARCH_PATH) for item in overrides):
        raise UsageError(
            f"{SEARCH_PATH} names folders that the head may lack; use --config-dir DIR, which is sent along"
        )
    if config_dir is not None:
        config_dir_override(config_dir)


def runtime_env(cluster: RayClusterConfig, package: Path | None) -> dict[str, Any]:
    """Return Ray's runtime environment of a job: its variables, and the package that is sent."""
    from scripts.ray.jobs import STOP_WAIT_S

    environment = dict(cluster.env_vars) | {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_WAIT_S)}
    return {"env_vars": environment} | ({} if package is None else {"working_dir": str(package)})


def _submit(jobs: Jobs, order: Order) -> Job:
    """Submit a job; where another one has the default name of this second, under the next free one, as NAME-2."""
    from scripts.config.overrides import CONFIG_DIR
    from scripts.launch.code_package import CONFIG, code_package
    from scripts.ray.jobs import JOB_COMMAND

    base, taken = order, {job.folder for job in jobs.all()}
    for number in itertools.count(2):
        if order.named or order.folder not in taken:
            break
        folder = f"{base.folder}-{number}"
        name = Path(folder).name
        order = replace(base, run=name, folder=folder, overrides=(*base.overrides[:-1], f"run.name={name}"))
    own = () if order.config_dir is None else (f"{CONFIG_DIR[0]}={CONFIG}",)
    with code_package(order.cluster.working_dir, order.cluster.excludes, order.config_dir) as package:
        return jobs.submit(
            (*JOB_COMMAND, "train", *own, *order.overrides),
            run=order.run,
            folder=order.folder,
            runtime_env=runtime_env(order.cluster, package),
        )


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
