"""`train`: a training job from its overrides to its summary, as `reversi train`, tests and notebooks call it."""

from __future__ import annotations

import itertools
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reversi.errors import ConfigError, NameTakenError, RunError, UsageError, printable
from reversi.runs import find_run
from reversi.urls import masked
from scripts.config.compose import AUTO, RESUME, changes_of, compose, recompose, to_yaml, with_changes
from scripts.config.overrides import names_run, resumed_run
from scripts.ray.environment import in_job
from scripts.run.exit_record import NOTHING_KEPT, recorded_exit
from scripts.run.interrupt import Interrupt

if TYPE_CHECKING:
    from scripts.config.job import JobConfig
    from scripts.run.folder import RunFolder
    from scripts.run.session import Session


log = logging.getLogger(__name__)

LOG_BYTES, OLD_LOGS = 8 << 20, 3
"""Size at which `logs/run.log` is rotated, and the number of old files kept: at most 32 MB per run."""


@dataclass(frozen=True)
class Trained:
    """What `train` returns."""

    folder: Path
    """The run's folder; it is gone if the run was stopped before anything was trained."""
    finished: bool
    """False if the run was stopped by a signal, `reversi stop` or the page of a job."""


def train(overrides: list[str]) -> Trained:
    """Train the job that `overrides` of `conf/` describe, or go on with the run that `resume=` among them names.

    `resume=auto` goes on with the run of that `run.name` if there is one, and begins it if not: what a scheduler runs
    again and again until the run is finished.  The other overrides are then those of the whole job, every time.

    It takes the main thread, whose signals stop the run; a notebook has it free.  What goes wrong is raised as a
    ReversiError.
    """
    from scripts.run.control import sets_actors

    if threading.current_thread() is not threading.main_thread():
        raise UsageError(
            "train must be called in the main thread, as signals stop a run; start `reversi train` as a process"
        )

    resume, rest = resumed_run(overrides)
    if resume == AUTO:
        return _begun_or_resumed(rest)
    if resume is not None:
        values = recompose(find_run(resume) / "config.yaml", rest)
        return train_composed(values, resume, counts_actors=any(map(sets_actors, rest)))
    return _begun(rest)


def _begun(overrides: list[str]) -> Trained:
    """Begin a new run; under the next free name, as NAME-2, where no name was given and another run has the default."""
    values = compose(overrides)
    if names_run(overrides):
        return train_composed(values)
    base = values["run"]["name"]
    for number in itertools.count(2):
        try:
            return train_composed(values)
        except NameTakenError:
            values = compose([*overrides, f"run.name={base}-{number}"])
    raise AssertionError("there is always another number")


def _begun_or_resumed(overrides: list[str]) -> Trained:
    """Begin the job of these overrides, or go on with its run; one that is finished is left as it is."""
    from scripts.config.job import job_of
    from scripts.run.control import sets_actors
    from scripts.run.folder import is_left_over
    from scripts.run.status import config_of, state_of

    if not names_run(overrides):
        raise ConfigError(f"{RESUME}={AUTO} needs a run.name, by which the run is found again")
    values = compose(overrides)
    run = job_of(values).run
    folder = Path(run.dir).absolute() / run.name
    if not folder.exists() or is_left_over(folder):
        return train_composed(values)
    saved = config_of(folder)
    changes = changes_of(saved, values)
    state, _ = state_of(folder, wrote_metrics=True)
    if state == "finished" and not changes:
        print(f"{run.name} is finished; everything in {folder}")
        return Trained(folder, True)
    counts_actors = any(sets_actors(f"{key}=") for key in changes)
    again = with_changes(folder / "config.yaml", changes) | {"tracking": values["tracking"]}
    return train_composed(again, str(folder), counts_actors)


def train_composed(values: dict[str, Any], resume: str | None = None, counts_actors: bool = False) -> Trained:
    """Train the job of a composed configuration, new or in the folder `resume`.

    counts_actors  whether the command line sets the number of actors, which then overrides what `reversi scale` set
    """
    from learner.algorithms.compatibility import check_fit, check_learner
    from reversi.games.rules import game_named
    from reversi.model.info import Origin
    from scripts.config.job import job_of
    from scripts.launch.preflight import (
        check_cluster_job,
        check_game_files,
        check_machine,
        check_openings,
        check_replay,
        model_to_begin_with,
    )
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
    init = None if resume else model_to_begin_with(job)
    if init is not None:
        origin = Origin(model=str(job.init), version=init.weights.version, sha256=init.sha256)
        job, values = replace(job, begun_from=origin), {**values, "begun_from": asdict(origin)}
    with Interrupt() as interrupt:
        folder = RunFolder.resume(resume) if resume else RunFolder.create(job.run.dir, job.run.name)
        interrupt.on_request = folder.note_stop
        if interrupt.requested:
            folder.note_stop()
        try:
            if init is not None:
                folder.write_init(init.data)
            with _logged_to(folder.path / "logs" / "run.log"):
                return Trained(folder.path, _session(job, folder, values, interrupt, counts_actors))
        except BaseException:
            if folder.disposable:
                _discard(job, folder)
            raise
        finally:
            folder.close()


def _session(
    job: JobConfig, folder: RunFolder, values: dict[str, Any], interrupt: Interrupt, counts_actors: bool
) -> bool:
    """Train until the run ends or is stopped; return whether it ended.

    Of a resumed run the folder stays as it was until all checks are passed, and its configuration until every part has
    taken its state from the checkpoint: what refuses the new settings leaves a run that the old ones go on with.
    """
    from scripts.launch.preflight import check_registry
    from scripts.launch.warm import warm
    from scripts.run.control import forget_target
    from scripts.run.progress import Progress
    from scripts.run.session import Session
    from scripts.run.summary import announce, summarise
    from scripts.run.tracking import open_trackers
    from scripts.run.tracking.alerts import alerted
    from scripts.run.watch.beside import page_of
    from scripts.run.watch.report import write_report

    session = Session(job, folder, interrupt, Progress([], sys.stdout, hang_up=interrupt.request))
    if folder.resumed:
        session.load_checkpoint()
    registry = session.open_registry()
    check_registry(job, registry)
    registry.claim(may_have_models=folder.resumed)
    if counts_actors:
        forget_target(folder.path)
    if folder.resumed:
        session.on_begin = lambda: folder.write_setup(to_yaml(values))
    else:
        folder.write_setup(to_yaml(values))
    trackers = open_trackers(job.tracking, folder.path, values, folder.owner.run)
    session.progress.open(trackers)
    with alerted(trackers), recorded_exit(folder, interrupt) as recorder:
        announce(session)
        with page_of(folder.path, job.tracking):
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
            if job.tracking.jsonl is not None:
                write_report(folder.path)
            return True
        if folder.disposable:
            _discard(job, folder)
            print(NOTHING_KEPT)
        else:
            again = f"go on with:  {session.resume_command}" if session.resumable else folder.start_again
            print(f"{recorder.record('stopped').summary}; {again}")
        return False


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


class _Lines(logging.Formatter):
    """Writes what happened as printable lines, without the secrets of URLs."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's lines, control characters written out."""
        return "\n".join(printable(masked(line)) for line in super().format(record).split("\n"))


@contextmanager
def _logged_to(path: Path) -> Iterator[None]:
    """Write the process's log to a file in the meantime; RunError if that cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    before = root.level, logging.raiseExceptions, threading.excepthook
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.raiseExceptions = False  # what a full disk does not take is not worth a traceback on the terminal
    threading.excepthook = _log_end_of_thread
    try:
        yield
    finally:
        root.setLevel(before[0])
        logging.raiseExceptions, threading.excepthook = before[1:]
        root.removeHandler(handler)
        handler.close()


def _log_end_of_thread(end: threading.ExceptHookArgs) -> None:
    """Note a thread's last exception in the log, and not on the terminal: those who wait for the thread tell of it."""
    name = end.thread.name if end.thread is not None else "a thread"
    log.error("%s ended by %s", name, end.exc_type.__name__, exc_info=end.exc_value)
