"""One session of a run, from start or resume to its end: reports of the parts and checkpoints, on any cluster."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from actors.config import GamesActorConfig
from learner.replay.redis.config import RedisReplayConfig
from reversi.errors import ConfigError, CorruptFileError, ReversiError, RunError
from reversi.model.registry import Registry
from reversi.model.training import Spent
from scripts.config.job import JobConfig
from scripts.run.durations import duration_text
from scripts.run.exit_record import read_exit_record
from scripts.run.folder import RunFolder, read_json, versions
from scripts.run.interrupt import Interrupt
from scripts.run.kept_games import KeptGames
from scripts.run.progress import Progress
from scripts.run.stopping_criteria import StoppingCriteria, raised_limit
from scripts.run.training import training_of

if TYPE_CHECKING:
    from actors.worker import ActorReport
    from evaluator.gate_report import GateReport
    from learner.algorithms.reports import FullValidation, ValidationReport
    from learner.learner import LearnerReport
    from learner.replay.transport import ReplayReport

log = logging.getLogger(__name__)

SAVE_AGAIN_S = 5.0
"""Seconds between two attempts to save a run at its end."""

LAST_SAVE_S = 12 * 3600.0
"""Longest time in seconds that a run waits at its end for room on a full disk, which someone has to make."""


@dataclass
class Session:
    """Everything a launcher needs besides the parts that it starts."""

    job: JobConfig
    folder: RunFolder
    interrupt: Interrupt
    progress: Progress
    checkpoint: dict[str, bytes] = field(default_factory=dict)
    """Files of the checkpoint to resume from; empty for a new run, and once its parts are restored."""
    starts: int = 0
    """How often the run was started before."""
    validation: ValidationReport | None = None
    """The last candidate's results on all validation games."""
    last_offered: bool = False
    """Whether the run's last candidate has been offered to the gate, in this session or one before."""
    repeats: bool = False
    """Whether a resumed run repeats, bit for bit, what came after the checkpoint (`JobConfig.repeats`)."""
    on_begin: Callable[[], None] = field(default=lambda: None)
    """Called once every part has its state and training begins."""
    criteria: StoppingCriteria = field(init=False)
    """How far training is, and when it is finished."""
    _kept: KeptGames = field(init=False)
    _number: int = 0
    _saved: float = field(default_factory=time.monotonic)
    _due: bool = False

    def __post_init__(self) -> None:
        self.criteria = StoppingCriteria(self.job.run)
        self._kept = KeptGames(self.folder.path, self.job.run.keep_games)

    def load_checkpoint(self) -> None:
        """Load the newest checkpoint; over Redis a run without one continues from the games in the stream."""
        where = self.folder.path
        if self.resumable and not self.folder.checkpoints():
            return
        self.checkpoint = self.folder.newest_checkpoint()
        state = read_json(self.checkpoint, "run.json", where)
        try:
            self._number = int(state["number"])
            self.criteria.before_s = float(state["elapsed_s"])
            self.starts = int(state["starts"]) + 1
            self.criteria.games = int(state["games"])
            before = float(state["fraction"])
            missing = [name for name in state["parts"] if name not in self.checkpoint]
            self.progress.restore(state["progress"])
            self.repeats = self.job.repeats and state["setup"] == self._setup
            end = state["end"]
            last = read_exit_record(where)
            finished = end["reached"] and last is not None and last.how == "finished"
            if not finished:
                self.criteria.restore(end)
                # a run that has been given more time or games will have another last candidate
                self.last_offered = bool(end["last_offered"]) and not self.goes_on
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(
                f"{where}: the newest checkpoint's run.json lacks {error}; use the version of this program that "
                "wrote it"
            ) from error
        if missing:
            raise CorruptFileError(
                f"{where}: the newest checkpoint lacks {missing[0]}; remove it to resume from the last"
            )
        if finished:
            self._expect_more()
        if self.fraction < before - 0.01 and self.job.learner.final_learning_rate < 1:
            log.warning(
                "the run is longer now, %.0f %% done instead of %.0f: its learning rate rises again",
                100 * self.fraction,
                100 * before,
            )

    def remove_passed_over(self) -> None:
        """Remove the checkpoints newer than the one that was loaded, which are damaged: the next ones replace them."""
        for place in self.folder.checkpoints():
            if int(place.name) > self._number:
                shutil.rmtree(place, ignore_errors=True)

    def _expect_more(self) -> None:
        """Raise ConfigError for a finished run that was not given more minutes or games."""
        run, criteria = self.job.run, self.criteria
        if run.minutes is not None and criteria.time_is_up:
            again = f"{self.resume_command} {raised_limit(run.minutes, None, criteria.before_s, 0)}"
            trained = f"{duration_text(criteria.before_s)} of {duration_text(60 * run.minutes)}"
            raise ConfigError(f"this run has trained {trained}; give it more, as in {again}")
        if run.games is not None and criteria.games_are_played:
            again = f"{self.resume_command} {raised_limit(None, run.games, 0.0, criteria.games)}"
            raise ConfigError(f"this run has played its {run.games} games; give it more, as in {again}")

    def begin(self) -> None:
        """Start the clock: training begins."""
        self.on_begin()
        self.folder.trained = True
        self.criteria.begin()
        self._saved = time.monotonic()
        minutes = self.job.run.minutes
        self.progress.begin(self.criteria.before_s, None if minutes is None else 60 * minutes, self.job.run.games)

    @property
    def fraction(self) -> float:
        """Share of the run that has passed, 0 to 1; schedules follow it."""
        return self.criteria.fraction

    @property
    def spent(self) -> Spent:
        """What the run has spent so far, in all sessions."""
        return self.progress.spent

    @property
    def plays_on(self) -> bool:
        """False when the run's games are played, or all game files are read."""
        return self.criteria.plays_on

    @property
    def goes_on(self) -> bool:
        """False when training is finished or a signal stopped the run."""
        return not (self.interrupt.requested or self.criteria.training_finished)

    def actor(self, report: ActorReport) -> None:
        """Take the report of an actor's round; once all game files are read, a checkpoint is due."""
        if report.version >= 0:  # before the first weights a round is empty; games of files can be read again
            self.folder.trained = True
        if report.finished and self.criteria.on_files_read():
            self._due = True
        self._kept.add(report.sample)
        self.progress.actor(replace(report, games=0, positions=0) if self.reads_files else report)

    def learner(self, report: LearnerReport) -> None:
        """Take the report of a round of training."""
        if report.steps:
            self.folder.trained = True
        self.criteria.on_learner_round(report.steps, report.finished)
        self.progress.learner(report)

    def gate(self, report: GateReport) -> None:
        """Take the report of a round of the gate."""
        if report.verdict is not None:
            self.folder.trained = True
        if report.games:
            self._kept.match(report.candidate_version, report.games)
        self.progress.gate(report)

    def offered(self, validation: FullValidation) -> None:
        """Take the last candidate's validation; once that is done the candidate is offered."""
        self.last_offered, self.validation = validation.done, validation.report
        self.progress.validation(validation)

    def replay(self, report: ReplayReport) -> None:
        """Take the replay's report."""
        self.criteria.games = report.games_total
        if self.reads_files:
            self.progress.taken(report)
        self.progress.replay(report)

    @property
    def reads_files(self) -> bool:
        """Whether the games come from files: after a death they are delivered again, and only the replay counts each
        once."""
        return isinstance(self.job.actors, GamesActorConfig)

    def reread_game_files(self) -> None:
        """Note that the games of files, which may all have been read, are delivered again from the first."""
        log.warning("the replay has died: the game files are read again from the first")
        self.criteria.on_files_reread()

    @property
    def checkpoint_due(self) -> bool:
        """True when the last save is `run.checkpoint_minutes` old, or older than the end of the game files."""
        return self._due or time.monotonic() - self._saved >= 60 * self.job.run.checkpoint_minutes

    def save(self, parts: Mapping[str, bytes], *, at_end: bool = False, judged: bool = False) -> None:
        """Write a checkpoint of all `parts` (file name to archive) and of the session itself.

        at_end  whether training has ended, so that nothing follows that the checkpoint lacks
        judged  whether the last candidate's match is over too

        A full disk does not end a run in progress: one line reports it, and the next checkpoint tries again.  At the
        end of a run this retries for `LAST_SAVE_S` and then raises RunError, or at once if a signal requested the end.
        """
        self._kept.flush()
        number = self._number + 1
        files = {**parts, "run.json": json.dumps(self._state(number, parts, judged)).encode()}
        last_try, warned = time.monotonic() + LAST_SAVE_S, False
        while True:
            try:
                self.folder.save_checkpoint(number, files)
                self._number, self.folder.saved_all = number, at_end
                break
            except RunError as error:
                if self.interrupt.requested or time.monotonic() > last_try:
                    raise
                if not warned:
                    log.warning("not saved: %s", error)
                    with contextlib.suppress(OSError):  # standard error may be a file on that disk
                        print(f"not saved, tried again until it is: {error}", file=sys.stderr, flush=True)
                warned = True
            if self.goes_on:
                break
            time.sleep(SAVE_AGAIN_S)
        self._saved, self._due = time.monotonic(), False

    def _state(self, number: int, parts: Mapping[str, bytes], judged: bool) -> dict[str, Any]:
        return {
            "number": number,
            "elapsed_s": self.criteria.elapsed_s,
            "starts": self.starts,
            "games": self.criteria.games,
            "fraction": self.fraction,
            "parts": sorted(parts),
            "progress": self.progress.state(),
            "setup": self._setup,
            "end": {
                "reached": judged and not self.interrupt.requested,
                **self.criteria.state(),
                "last_offered": self.last_offered,
            },
        }

    @property
    def _setup(self) -> str:
        """Digest of everything that determines a run: configuration, kind of machine, package versions."""
        return hashlib.sha256(json.dumps([asdict(self.job), versions()], sort_keys=True).encode()).hexdigest()

    def open_registry(self) -> Registry:
        """Return the registry the run publishes to."""
        url, job = registry_url(self.job, self.folder.path), self.job
        training = training_of(job, self.folder.path.name)
        return Registry(url, create=True, begun_from=job.begun_from, owner=self.folder.owner, training=training)

    def newest_version(self) -> int:
        """Return the highest version in the registry, -1 if it is empty."""
        return max((model.version for model in self.open_registry().models()), default=-1)

    @property
    def shown_path(self) -> str:
        """The run's folder, relative to the current one if possible."""
        path, here = self.folder.path, Path.cwd()
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    @property
    def resumable(self) -> bool:
        """Whether the run can be resumed: from a checkpoint or, over Redis, from the games in the stream."""
        return bool(self.folder.checkpoints()) or isinstance(self.job.replay, RedisReplayConfig)

    @property
    def resume_command(self) -> str:
        """The command line that resumes this run."""
        return f"reversi train resume={quote(self.shown_path)}"

    def with_resume_hint(self, error: ReversiError) -> ReversiError:
        """Return the error that ends this run with how to go on and where to read more."""
        if self.folder.disposable:
            return error
        next_step = self.folder.start_again
        if self.resumable:
            where = "the last checkpoint" if self.folder.checkpoints() else "what redis holds"
            next_step = f"go on from {where} with: {self.resume_command}"
        return type(error)(f"{error}; {next_step}; see {self.folder.path / 'logs' / 'run.log'}")


def registry_url(job: JobConfig, folder: Path) -> str:
    """Return the URL of the job's registry: what the configuration says, or the folder `registry` of the run."""
    return job.registry.url or str(folder / "registry")
