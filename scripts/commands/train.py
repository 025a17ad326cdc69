"""`reversi train`: the command line of a training job, Hydra's flags and sweeps included."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reversi.errors import ConfigError, ReversiError, UsageError, closest, did_you_mean
from reversi.urls import masked
from scripts.config.compose import AUTO, RESUME, compose, each_job
from scripts.config.overrides import resumed_run, spelled, without_config_dir
from scripts.launch.train import Trained, train, train_composed
from scripts.run.interrupt import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from scripts.config.job import JobConfig

SWEEP = {"--multirun", "-m"}
"""Hydra's flags for a sweep: one job after another for each value of `key=a,b`."""

SHOWING = {"--cfg", "-c", "--info", "-i", "--hydra-help", "--version", "--shell-completion", "-sc"}
"""Hydra's flags that print something and train nothing."""

HYDRA_FLAGS = SHOWING | {"--resolve", "--package", "-p"}
"""The other flags of Hydra's command line that have an effect here: those for `--cfg`."""


def run(overrides: list[str]) -> int:
    """Train the job that `overrides` describe; return the exit code."""
    overrides = without_config_dir(overrides)
    if SWEEP.intersection(overrides):
        return _sweep([item for item in overrides if item not in SWEEP])
    flags = [item.partition("=")[0] for item in overrides if item.startswith("-")]
    if unknown := [flag for flag in flags if flag not in HYDRA_FLAGS]:
        setting = f"{RESUME}=" if unknown[0] == f"--{RESUME}" else None
        question = did_you_mean(setting or closest(unknown[0], HYDRA_FLAGS | SWEEP | {"--config-dir", "--help"}))
        raise UsageError(f"unknown option {unknown[0]!r}{question} see 'reversi train --help'")
    if flags:
        return _show(overrides)
    return _exit_code(train(overrides))


def _exit_code(trained: Trained) -> int:
    return 0 if trained.finished else EXIT_INTERRUPTED


def _sweep(overrides: list[str]) -> int:
    """Train every job of a sweep, one after the other, until one is stopped; return the exit code of the first that
    failed.

    What is wrong with any of them is said before the first begins.  Hydra's own launcher would make folders beside the
    runs', give all of them one name, and go on after Ctrl-C.
    """
    from scripts.config.job import job_of

    if any(item.startswith(("-", f"{RESUME}=")) for item in overrides):
        raise ConfigError(f"with --multirun only overrides of new runs can be given, got {' '.join(overrides)!r}")
    jobs = each_job(overrides)
    composed = [_numbered(job, number) for number, job in enumerate(jobs)]
    _check_registries([job_of(values) for values in composed])
    failed: dict[int, int] = {}
    for number, (job, values) in enumerate(zip(jobs, composed, strict=True), start=1):
        print(f"job {number} of {len(jobs)}: {' '.join(job)}", flush=True)
        try:
            if not train_composed(values).finished:
                return EXIT_INTERRUPTED
        except ReversiError as error:
            failed[number] = error.exit_code
            print(f"job {number} of {len(jobs)} failed: {error}", file=sys.stderr, flush=True)
    if failed:
        print(f"{len(failed)} of {len(jobs)} jobs failed: {', '.join(map(str, failed))}", file=sys.stderr)
    return next(iter(failed.values()), 0)


def _numbered(job: list[str], number: int) -> dict[str, Any]:
    """Return the configuration of a sweep's job with its number after its name, and so in all that is made of the name,
    such as the URL of `registry=s3`."""
    from scripts.config.job import job_of

    name = job_of(compose(job)).run.name
    return compose([*job, f"run.name='{name}-{number}'"])


def _check_registries(jobs: list[JobConfig]) -> None:
    """Raise ConfigError if two jobs of a sweep would publish to one registry: the first candidate of the second would
    be judged against the champion of the first."""
    from scripts.run.session import registry_url

    first: dict[str, int] = {}
    for number, job in enumerate(jobs, start=1):
        url = registry_url(job, Path(job.run.dir) / job.run.name).removeprefix("file://")
        place = url.rstrip("/") if "://" in url else str(Path(url).resolve())
        if (other := first.setdefault(place, number)) != number:
            raise ConfigError(
                f"registry.url must differ between the jobs of a sweep, as {url.rstrip('/')}/${{run.name}} does, but "
                f"jobs {other} and {number} have {masked(url)!r}"
            )


def _show(arguments: list[str]) -> int:
    """Let Hydra's own command line print what its flags (--cfg, --info, ...) ask for."""
    import hydra
    from omegaconf import DictConfig

    overrides = [item for item in arguments if "=" in item and not item.startswith("-")]
    flags = [item for item in arguments if item not in overrides]
    if not SHOWING.intersection(flag.partition("=")[0] for flag in flags):
        raise UsageError(f"{flags[0]} is for --cfg, as in 'reversi train --cfg job {flags[0]}'")
    resume, rest = resumed_run(overrides)
    if resume not in (None, AUTO):
        raise UsageError(f"Hydra's flags are about new runs, got resume={resume}; its configuration is in config.yaml")
    compose(rest)  # bad keys get our one line

    @hydra.main(version_base="1.3", config_path="pkg://conf", config_name="train")
    def main(config: DictConfig) -> None:
        """Train nothing."""

    sys.argv = ["reversi train", *spelled(overrides), *flags]
    shown = io.StringIO()
    try:
        with redirect_stdout(shown):
            main()
    finally:  # Hydra would answer a closed pipe or a full disk with a traceback
        print(shown.getvalue(), end="")
    return 0
