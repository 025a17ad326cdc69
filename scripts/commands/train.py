"""`reversi train`: compose the job, open its run folder, launch it, report what came out."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reversi.errors import ConfigError, RunError, UsageError
from reversi.runs import find_run
from reversi.urls import masked
from scripts.config.compose import RESUME, compose, each_job, plain, recompose, to_yaml
from scripts.ray.environment import in_job
from scripts.run.exit_record import NOTHING_KEPT, recorded_exit
from scripts.run.interrupt import EXIT_INTERRUPTED, Interrupt

if TYPE_CHECKING:
    from scripts.config.job import JobConfig
    from scripts.run.folder import RunFolder
    from scripts.run.session import Session


log = logging.getLogger(__name__)

SWEEP = {"--multirun", "-m"}
"""Hydra's flags for a sweep: one job after another for each value of `key=a,b`."""

HYDRA_FLAGS = {
    *("--cfg", "-c", "--resolve", "--package", "-p", "--info", "-i", "--run", "-r", "--hydra-help", "--version"),
    *("--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd", "--shell-completion", "-sc"),
    "--experimental-rerun",
}
"""The other flags of Hydra's command line."""

SHOWING = {"--cfg", "-c", "--info", "-i", "--hydra-help", "--version", "--shell-completion", "-sc"}
"""The flags that only print something."""

LOG_BYTES, OLD_LOGS = 8 << 20, 3
"""Size at which `logs/run.log` is rotated, and the number of old files kept: at most 32 MB per run."""


def run(overrides: list[str]) -> int:
    """Train the job that `overrides` describe; return the exit code."""
    if SWEEP.intersection(overrides):
        return _sweep([item for item in overrides if item not in SWEEP])
    flags = [item.partition("=")[0] for item in overrides if item.startswith("-")]
    if unknown := [flag for flag in flags if flag not in HYDRA_FLAGS]:
        raise UsageError(f"unknown option {unknown[0]!r}; see 'reversi train --help'")
    if flags:
        return _hand_to_hydra(overrides)
    from scripts.run.control import sets_actors

    folders = [item.partition("=")[2] for item in overrides if item.startswith(f"{RESUME}=")]
    rest = [item for item in overrides if not item.startswith(f"{RESUME}=")]
    if folders and folders[-1] not in ("", "null"):
        return train(_resumed_values(folders[-1], rest), folders[-1], counts_actors=any(map(sets_actors, rest)))
    return train(compose(rest), None)


def train(values: dict[str, Any], resume: str | None, counts_actors: bool = False) -> int:
    """Run the job of a composed configuration, new or in the folder `resume`; return the exit code.

    counts_actors  whether the command line sets the number of actors, which then overrides what `reversi scale` set
    """
    from learner.algorithms.compatibility import check_fit, check_learner
    from reversi.games.rules import game_named
    from scripts.config.job import job_of
    from scripts.launch.preflight import (
        check_cluster_job,
        check_game_files,
        check_machine,
        check_openings,
        check_replay,
    )
    from scripts.run.control import forget_target
    from scripts.run.folder import RunFolder

    job = job_of(values)
    check_fit(job.algorithm, job.network, job.actors.kind, game_named(job.game.name))
    check_learner(job.algorithm, job.learner)
    check_machine(job)
    if in_job():
        check_cluster_job(job)
    check_replay(job)
    check_openings(job)
    check_game_files(job)
    with Interrupt() as interrupt:
        folder = RunFolder.resume(resume) if resume else RunFolder.create(job.run.dir, job.run.name)
        interrupt.on_request = folder.note_stop
        if interrupt.requested:
            folder.note_stop()
        if counts_actors:
            forget_target(folder.path)
        try:
            with _logged_to(folder.path / "logs" / "run.log"):
                return _sit(job, folder, values, interrupt, bool(resume))
        except BaseException:
            if folder.disposable:
                _discard(job, folder)
            raise
        finally:
            folder.close()


def _sit(job: JobConfig, folder: RunFolder, values: dict[str, Any], interrupt: Interrupt, resumed: bool) -> int:
    from scripts.launch.preflight import check_registry
    from scripts.launch.warm import warm
    from scripts.run.progress import Progress
    from scripts.run.session import Session
    from scripts.run.summary import announce, summarise
    from scripts.run.tracking import open_trackers

    session = Session(
        job, folder, interrupt, Progress(open_trackers(job.tracking, folder.path, values), hang_up=interrupt.request)
    )
    if resumed:
        session.load_checkpoint()
    check_registry(job, session.open_registry())
    folder.write_setup(to_yaml(values))
    with recorded_exit(folder, interrupt) as recorder:
        announce(session)
        warm(job)
        if not interrupt.requested:
            try:
                _launch(session)
            finally:
                session.progress.end()
        if not interrupt.requested:
            summarise(session)
        if not interrupt.requested:
            recorder.record("finished")
            return 0
        if folder.disposable:
            _discard(job, folder)
            print(NOTHING_KEPT)
        else:
            again = f"go on with:  {session.resume_command}" if session.resumable else folder.start_again
            print(f"{recorder.record('stopped').summary}; {again}")
        return EXIT_INTERRUPTED


def _discard(job: JobConfig, folder: RunFolder) -> None:
    """Remove all of a run in which nothing was trained: its name stays free."""
    from scripts.launch.redis_run import forget

    forget(job.replay, folder.path)
    folder.discard()


def _launch(session: Session) -> None:
    if session.job.cluster.kind == "serial":
        from scripts.launch.serial import run_serial

        run_serial(session)
    else:
        from scripts.ray.environment import prepare

        prepare(session.job.cluster)
        from scripts.launch.ray import run_ray

        run_ray(session)


def _resumed_values(path: str, overrides: list[str]) -> dict[str, Any]:
    return recompose(find_run(path) / "config.yaml", overrides)


def _sweep(overrides: list[str]) -> int:
    """Train every job of a sweep, one after the other, until one fails or is stopped; return its exit code.

    What is wrong with any of them is said before the first begins.  Hydra's own launcher would make folders beside the
    runs', give all of them one name, and go on after Ctrl-C.
    """
    from scripts.config.job import job_of

    if any(item.startswith(("-", f"{RESUME}=")) for item in overrides):
        raise ConfigError(f"with --multirun only overrides of new runs can be given, got {' '.join(overrides)!r}")
    jobs = each_job(overrides)
    composed = [_numbered(job, number) for number, job in enumerate(jobs)]
    _check_registries([job_of(values) for values in composed])
    code = 0
    for number, (job, values) in enumerate(zip(jobs, composed, strict=True)):
        print(f"job {number + 1} of {len(jobs)}: {' '.join(job)}")
        if code := train(values, None):
            break
    return code


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


def _hand_to_hydra(arguments: list[str]) -> int:
    """Let Hydra's own command line handle its flags (--cfg, --info, ...); it calls `train` where they ask for a run."""
    import hydra
    from omegaconf import DictConfig

    compose([item for item in arguments if "=" in item and not item.startswith("-")])  # bad keys get our one line
    exit_codes: list[int] = []

    @hydra.main(version_base="1.3", config_path="pkg://conf", config_name="train")
    def main(config: DictConfig) -> None:
        exit_codes.append(train(plain(config), None))

    sys.argv = ["reversi train", *arguments]
    if not SHOWING.intersection(item.partition("=")[0] for item in arguments):
        main()
        return max(exit_codes, default=0)
    shown = io.StringIO()
    try:
        with redirect_stdout(shown):
            main()
    finally:  # Hydra would answer a closed pipe or a full disk with a traceback
        print(shown.getvalue(), end="")
    return 0


@contextmanager
def _logged_to(path: Path) -> Iterator[None]:
    """Write the process's log to a file in the meantime; RunError if that cannot be written."""
    logging.raiseExceptions = False  # what a full disk does not take is not worth a traceback on the terminal
    threading.excepthook = _log_end_of_thread
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def _log_end_of_thread(end: threading.ExceptHookArgs) -> None:
    """Note a thread's last exception in the log, and not on the terminal: those who wait for the thread tell of it."""
    name = end.thread.name if end.thread is not None else "a thread"
    log.error("%s ended by %s", name, end.exc_type.__name__, exc_info=end.exc_value)
