"""The Ray launcher: every part an actor, one call under way per role, and a driver that only passes reports on.

Records flow actor -> replay -> learner and weights learner -> weights actor -> everyone without the driver.  It asks
each role for its next round when the last one is answered, restarts a role that died (a bounded number of times), saves
checkpoints and stops everything within seconds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from actors.remote import RemoteRecords, SelfPlayActor
from evaluator.remote import GateActor
from learner.remote import LearnerActor, WeightActor
from learner.replay.remote import ReplayActor
from learner.replay.transport import ReplayReport
from reversi.errors import ReversiError, RunError
from scripts.game_files import validation_games
from scripts.launch import GATE_SLICE_S
from scripts.placement import ActorPlace, Placement
from scripts.ray_cluster import options, placement_of, ray_of
from scripts.redis_run import RedisRun, redis_of
from scripts.sitting import Sitting, registry_url

log = logging.getLogger(__name__)

POLL_S = 0.25
"""Longest the driver waits before it looks at the clock and at signals."""

WATCH_EVERY_S = 1.0
"""Seconds between two looks at the replay; asked without a pause, the answers alone took a whole core."""

STATE_TIMEOUT_S = 60.0
"""Longest a role may take to hand out its state; the replay's is the largest, some 100 MB."""


@dataclass
class Role:
    """One remote part: how to start it, how to ask for a round, what to do with the answer."""

    name: str
    start: Callable[[int], Any]
    ask: Callable[[Any], Any]
    hear: Callable[[Any], None]
    handle: Any = None
    starts: int = 0


def run_ray(sitting: Sitting) -> None:
    """Train on Ray actors until the time is up or a signal comes, then save; the last candidate gets its match."""
    job = sitting.job
    with redis_of(job.replay, sitting.folder.path) as redis, ray_of(job.cluster):
        driver = Driver(sitting, placement_of(job, lambda: sitting.interrupt.requested), redis)
        driver.wait_until_up()
        sitting.begin()
        while sitting.goes_on:
            driver.turn()
            if sitting.checkpoint_due:
                driver.saved(sitting.save(driver.state()))
        driver.stop_play()
        sitting.save(driver.state())
        if not sitting.interrupt.requested:
            driver.finish_gate()
            sitting.save(driver.state())


class Driver:
    """Holds the handles of a run and keeps one call of every role under way."""

    def __init__(self, sitting: Sitting, placement: Placement, redis: RedisRun | None) -> None:
        self._sitting = sitting
        job, progress, folder = sitting.job, sitting.progress, sitting.folder.path
        common = {"game": job.game.name, "seed": job.run.seed}
        self._weights = WeightActor.options(
            **options(placement.weights), max_restarts=job.cluster.max_restarts
        ).remote()
        self._replay, records = _replay_of(sitting, placement, redis)
        epoch = 1000 * (redis.start if redis else sitting.starts)

        validation = validation_games(sitting)

        def learner(starts: int) -> Any:
            return LearnerActor.options(**options(placement.learner)).remote(
                config=job.learner,
                algorithm=job.algorithm,
                network=job.network,
                source=self._replay,
                sink=self._weights,
                newest=sitting.newest_version(),
                validation=validation,
                **common,
            )

        def gate(starts: int) -> Any:
            return GateActor.options(**options(placement.gate)).remote(
                config=job.gate, registry=registry_url(job, folder), store=self._weights, **common
            )

        def worker(index: int, actor: ActorPlace) -> Callable[[int], Any]:
            return lambda starts: SelfPlayActor.options(**options(actor.place)).remote(
                index=index,
                config=actor.config,
                search=job.search,
                weights=self._weights,
                records=records,
                epoch=epoch + starts,
                background=True,
                **common,
            )

        self._learner = Role("learner", learner, lambda a: a.round.remote(sitting.fraction), sitting.learner)
        self._gate = Role("gate", gate, lambda a: a.round.remote(GATE_SLICE_S), progress.gate)
        self._workers = [
            Role(f"actor-{index}", worker(index, actor), lambda a: a.round.remote(sitting.fraction), sitting.actor)
            for index, actor in enumerate(placement.actors)
        ]
        self._replay_watch = Role("replay", lambda _: self._replay, lambda a: a.report.remote(), self._hear_replay)
        self._drawn = 0
        self._watched = 0.0
        self._pending: dict[Any, Role] = {}
        self._roles = (self._learner, self._gate, *self._workers, self._replay_watch)
        for role in self._roles:
            role.handle = role.start(0)
        # Over Redis an actor that starts again needs a new producer's name, so it begins new games.
        self._kept = tuple(role for role in self._roles if not (redis and role in self._workers))
        self._restore(sitting.checkpoint, self._kept)
        for role in self._roles:
            self._ask(role)

    def wait_until_up(self) -> None:
        """Let every process start, which takes Ray some seconds: the clock of the run begins when games do."""
        waiting = {role.name for role in self._pending.values()}
        while waiting and not self._sitting.interrupt.requested:
            for role in self._hear(POLL_S):
                waiting.discard(role.name)
                if role is not self._replay_watch:
                    self._ask(role)

    def turn(self) -> None:
        """Hear every round that is done and ask for the next ones; waits at most `POLL_S`."""
        for role in self._hear(POLL_S):
            if role is not self._replay_watch and (role not in self._workers or self._sitting.plays_on):
                self._ask(role)
        if self._idle([self._replay_watch]) and time.monotonic() - self._watched >= WATCH_EVERY_S:
            self._ask(self._replay_watch)
        self._sitting.progress.tick()

    def stop_play(self) -> None:
        """Let the rounds under way end, with the replay's waits released, and ask for no more."""
        self._stop_replay()
        while not self._idle([self._learner, self._replay_watch, *self._workers]):
            self._hear(POLL_S)

    def finish_gate(self) -> None:
        """Offer the learner's last averaged weights and play the gate's matches to their end."""
        look = not self._sitting.interrupt.requested
        self._sitting.offered(ray.get(self._learner.handle.offer_candidate.remote(look)))
        while not self._sitting.interrupt.requested and (self._pending or ray.get(self._gate.handle.busy.remote())):
            if not self._pending:
                self._ask(self._gate)
            self._hear(POLL_S)
            self._sitting.progress.tick()

    def state(self) -> dict[str, bytes]:
        """Return every part's state by the name of its file.

        The actors come first, between two rounds, and the replay last: what they have delivered it then holds.  While
        they finish their rounds the learner goes on, or an actor that waits for room would wait for ever.  Over Redis
        nobody waits for them: they are not part of it, and what they deliver is kept by the server.
        """
        while not self._idle([role for role in self._kept if role in self._workers]):
            for role in self._hear(POLL_S):
                if role not in (*self._workers, self._replay_watch):
                    self._ask(role)
        kept = (*self._workers, self._gate, self._learner, self._replay_watch)
        return {f"{role.name}.safetensors": self._state_of(role) for role in kept if role in self._kept}

    def saved(self, place: str) -> None:
        """Tell the learner where the last good checkpoint lies, and go on playing after `state`."""
        self._learner.handle.saved.remote(place)
        for role in self._workers if self._sitting.plays_on else ():
            if self._idle([role]):
                self._ask(role)

    def _stop_replay(self) -> None:
        try:
            ray.get(self._replay.stop.remote())
        except RayError as error:
            raise self._end(f"the replay could not be stopped: {_last_line(error)}", error) from error

    def _state_of(self, role: Role) -> bytes:
        try:
            state: bytes = ray.get(role.handle.state.remote(), timeout=STATE_TIMEOUT_S)
        except (RayError, TimeoutError) as error:
            raise self._end(f"the {role.name} did not hand out its state: {_last_line(error)}", error) from error
        return state

    def _end(self, what: str, error: Exception) -> RunError:
        """Return the error that ends the run: what happened, how to go on, where to read more."""
        log.error(what, exc_info=error)
        there = self._sitting.folder.checkpoints()
        again = f"go on from the last checkpoint with: {self._sitting.resume_command}" if there else "start it again"
        return RunError(f"{what}; {again}; see {self._sitting.folder.path / 'logs' / 'run.log'}")

    def _idle(self, roles: list[Role]) -> bool:
        return not any(role in roles for role in self._pending.values())

    def _hear(self, timeout_s: float) -> list[Role]:
        """Take the rounds that are answered within `timeout_s`; return the roles that are free now."""
        if not self._pending:
            return []
        done, _ = ray.wait(list(self._pending), num_returns=1, timeout=timeout_s)
        free = []
        for reference in done:
            role = self._pending.pop(reference)
            try:
                role.hear(ray.get(reference))
            except RayActorError as error:
                self._restart(role, error)
            except RayTaskError as error:
                if isinstance(error.cause, ReversiError):
                    raise error.cause from None
                self._restart(role, error)
            free.append(role)
        return free

    def _ask(self, role: Role) -> None:
        if role is self._replay_watch:
            self._watched = time.monotonic()
        self._pending[role.ask(role.handle)] = role

    def _restore(self, files: dict[str, bytes], roles: Iterable[Role]) -> None:
        """Give each of `roles` its part of a checkpoint, if it has one, and wait until all have taken it."""
        named = {f"{role.name}.safetensors": role.handle for role in roles}
        taken = [handle.restore.remote(files[name]) for name, handle in named.items() if name in files]
        try:
            ray.get(taken)
        except RayTaskError as error:
            if isinstance(error.cause, ReversiError):
                raise error.cause from None
            raise

    def _hear_replay(self, report: ReplayReport) -> None:
        """Hear what the replay holds; one that has drawn less than before is a new one, and needs its checkpoint.

        That is so over Redis alone: Ray starts it again, it finds its window in the stream, calls wait meanwhile.
        """
        if report.samples_total < self._drawn:
            log.error("the replay died and was started again")
            self._sitting.progress.restarted()
            if self._sitting.folder.checkpoints():
                self._restore(self._sitting.folder.newest_checkpoint(), [self._replay_watch])
            self._drawn = 0
        else:
            self._drawn = report.samples_total
            self._sitting.replay(report)

    def _restart(self, role: Role, error: RayError) -> None:
        """Start a role again after its death; one death too many ends the run.

        The learner and the gate go on from the last checkpoint.  An actor begins new games under a new producer name:
        its old sequence numbers have been counted already.
        """
        log.error("%s died", role.name, exc_info=error)
        role.starts += 1
        self._sitting.progress.restarted()
        if role.starts > self._sitting.job.cluster.max_restarts or role is self._replay_watch:
            times = f"{role.starts} times, the last time" if role.starts > 1 else "and ended the run,"
            raise self._end(f"the {role.name} died {times} by {_last_line(error)!r}", error) from error
        role.handle = role.start(role.starts)
        if role not in self._workers and self._sitting.folder.checkpoints():
            self._restore(self._sitting.folder.newest_checkpoint(), [role])


def _replay_of(sitting: Sitting, placement: Placement, redis: RedisRun | None) -> tuple[Any, Any]:
    """Return the replay's actor and what the workers deliver to: the actor, or the Redis stream that it follows."""
    job = sitting.job
    storage = {
        "game": job.game.name,
        "seed": job.run.seed,
        "config": job.replay,
        "rejected_dir": str(sitting.folder.path / "rejected"),
        "algorithm": job.algorithm,
    }
    if redis is None:
        replay = ReplayActor.options(**options(placement.replay), max_concurrency=1000).remote(**storage)
        return replay, RemoteRecords(replay)
    from learner.replay.redis_remote import RedisReplayActor
    from learner.replay.redis_sink import RedisSink

    van = RedisReplayActor.options(
        **options(placement.replay), max_restarts=job.cluster.max_restarts, max_task_retries=-1
    ).remote(**storage, server=redis.server, key=redis.key)
    return van, RedisSink.of(redis.config, redis.server, redis.key)


def _last_line(error: Exception) -> str:
    """Return the first sentence of the last line; Ray goes on for paragraphs, which the log has."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().split(". ")[0]
