"""The serial launcher: actors, learner and gate in one `for` loop, without Ray or other processes.

It is meant for debugging and tests, and is the place to read how the parts work together; `scripts/launch/ray.py`
runs the same classes in parallel.

All work is divided by counts: a turn of the loop is one draw of the learner, one ply of the gate's match, and, if there
was nothing to learn from or the games are read from files, a round of every actor.  A turn depends only on the state
before it, and a checkpoint between two turns contains all of that state.  So a run with `run.minutes=null` on one
machine's CPU is the same every time, bit for bit, however often it is stopped, killed and resumed: weights, optimiser,
average, replay, random state, counters, gate and registry.  Only measured times differ (seconds of a match, of a run).
With `run.minutes` the schedules follow the clock, and runs are not reproducible.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager

from actors.worker import Worker
from evaluator.gate import Gate
from learner.algorithms.sample_kinds import sample_kind
from learner.learner import Learner
from learner.replay.memory import MemoryReplay
from learner.replay.transport import Replay
from learner.weight_store import WeightStore
from reversi.errors import ReversiError, TrainingDivergedError
from reversi.games.rules import game_named
from scripts.launch.redis_run import RedisRun, redis_of
from scripts.launch.validation_games import validation_games
from scripts.run.folder import init_of
from scripts.run.session import Session

log = logging.getLogger(__name__)


class ReplaySink:
    """A `RecordSink` over a replay in the same process."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def push(self, data: bytes) -> None:
        """Add the records at once; the loop only plays while there is room."""
        self._replay.add(data)


class SerialParts:
    """Every part of a job, in this process."""

    def __init__(self, session: Session, redis: RedisRun | None, replay: Replay) -> None:
        job = session.job
        game = game_named(job.game.name)
        self.store = WeightStore()
        self.replay = replay
        self._redis = redis
        self.learner = Learner(
            config=job.learner,
            algorithm=job.algorithm,
            network=job.network,
            game=game,
            source=self.replay,
            sink=self.store,
            seed=job.run.seed,
            newest=-1 if session.repeats else session.newest_version(),
            validation=validation_games(session),
        )
        self.gate = Gate(
            job.gate,
            game,
            session.open_registry(),
            source=self.store,
            sink=self.store,
            seed=job.run.seed,
            keep_rejected=job.registry.keep_rejected,
            repeats=session.repeats,
            by_clock=not session.job.repeats,
        )
        self.workers = [
            Worker(
                index=index,
                game=game.name,
                config=job.actors,
                search=job.search,
                seed=job.run.seed,
                weights=self.store,
                records=ReplaySink(self.replay),
                incarnation=redis.start if redis else session.starts,
                keep_every=job.keep_every,
            )
            for index in range(job.actor_count)
        ]

    def state(self) -> dict[str, bytes]:
        """Return every part's state by the name of its file."""
        return {name: part.state() for name, part in self._named()}

    def restore(self, session: Session) -> None:
        """Restore the parts from the checkpoint of `session`, which is then let go; for a new run it is empty, and the
        learner begins with the model of `init=`, if there is one.

        Over Redis workers are not restored: the deliveries they made after the checkpoint were already taken under
        their old names.
        """
        if not session.checkpoint and (weights := init_of(session.folder.path)) is not None:
            self.learner.begin_from(weights)
        for name, part in self._named():
            if name in session.checkpoint and not (isinstance(part, Worker) and self._redis):
                part.restore(session.checkpoint[name])
        session.checkpoint.clear()

    def _named(self) -> list[tuple[str, Learner | Replay | Gate | Worker]]:
        workers = [(f"actor-{index}.safetensors", worker) for index, worker in enumerate(self.workers)]
        return [
            ("learner.safetensors", self.learner),
            ("replay.safetensors", self.replay),
            ("gate.safetensors", self.gate),
            *workers,
        ]


def run_serial(session: Session) -> None:
    """Train until the session is over, then save; the last candidate still gets its match.

    A run that an error ends is saved first, if that is possible.
    """
    with redis_of(session.job.replay, session.folder.path) as redis, replay_of(session, redis) as replay:
        parts = SerialParts(session, redis, replay)
        try:
            _run(session, parts)
        except Exception as error:
            _save_after(error, session, parts)
            if isinstance(error, ReversiError):
                raise session.with_resume_hint(error) from error
            raise


@contextmanager
def replay_of(session: Session, redis: RedisRun | None) -> Iterator[Replay]:
    """Yield the job's replay, in this process; over Redis its thread and connections are closed afterwards."""
    job, rejected = session.job, session.folder.path / "rejected"
    kind = sample_kind(job.algorithm)
    memory = MemoryReplay(game_named(job.game.name), job.replay, kind, job.run.seed, rejected)
    if redis is None:
        yield memory
        return
    from learner.replay.redis.replay import RedisReplay

    with closing(RedisReplay(memory, redis.config, redis.server, redis.key)) as replay:
        yield replay


def _run(session: Session, parts: SerialParts) -> None:
    parts.restore(session)
    session.begin()
    while session.goes_on:
        _turn(session, parts)
        if session.checkpoint_due:
            session.save(parts.state())
    if not session.interrupt.requested:
        session.save(parts.state(), at_end=True)
        _finish(session, parts)
    session.save(parts.state(), at_end=True, judged=session.last_offered)


def _save_after(error: Exception, session: Session, parts: SerialParts) -> None:
    """Write a checkpoint of a run that `error` ends, unless the last one is worth more.

    It is after `TrainingDivergedError`, and where a resumed run repeats what came after it bit for bit: the error came
    in the middle of a turn, and from there the run would go on as no other.
    """
    log.error("the run ends by %r", error, exc_info=error)
    if not session.folder.trained or session.job.repeats or isinstance(error, TrainingDivergedError):
        return
    session.interrupt.request()
    try:
        session.save(parts.state(), at_end=True)
    except Exception as another:
        log.error("not saved: %s", another)


def _turn(session: Session, parts: SerialParts) -> None:
    """Learn from one draw, advance the gate's match by a ply, and play if there was nothing to learn from; games from
    files are read at every turn, so that soon all are there to draw from."""
    learned = parts.learner.round(session.fraction, draws=1)
    session.learner(learned)
    session.gate(parts.gate.round(0, session.spent))
    if (not learned.steps or session.reads_files) and session.plays_on and parts.replay.room():
        for worker in parts.workers:
            session.actor(worker.round(session.fraction))
    session.replay(parts.replay.report())
    session.progress.tick()


def _finish(session: Session, parts: SerialParts) -> None:
    """Offer the last candidate, unless an earlier session did, and play the gate's matches to their end."""
    while not session.last_offered and not session.interrupt.requested:
        session.offered(parts.learner.offer_candidate())
    while parts.gate.poll() and not session.interrupt.requested:
        session.gate(parts.gate.round(0, session.spent))
        session.progress.tick()
