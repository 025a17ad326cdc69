"""The Ray launcher: every part is a Ray actor, wired so that the driver only passes on reports.

Records flow actor -> replay -> learner, and weights learner -> weights actor -> everyone, without passing through the
driver (`scripts/ray/driver.py`).
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from actors.remote import RemoteRecords, SelfPlayActor
from actors.worker import ActorReport
from evaluator.remote import GateActor
from learner.algorithms.sample_kinds import sample_kind
from learner.remote import LearnerActor, WeightActor
from learner.replay.remote import ReplayActor
from scripts.launch.redis_run import RedisRun, redis_of
from scripts.launch.validation_games import validation_games
from scripts.ray.actor_pool import ActorPool, group_of, trimmed
from scripts.ray.cluster import options, placement_of, ray_of
from scripts.ray.driver import Driver
from scripts.ray.placement import ActorPlace, Placement, another_place
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.roles import Parts, Role, measure_process
from scripts.run.control import MOST_ON_A_CLUSTER, TargetWatcher
from scripts.run.folder import checkpoints_in, newest_whole
from scripts.run.session import Session, registry_url

GATE_SLICE_S = 2.0
"""Seconds of a gate match per round of the gate."""

KEPT_UP: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}
"""Options of Ray actors that others call: Ray restarts them under the same handle, and calls wait meanwhile.  The
driver counts their deaths and limits them."""

REPLAY_CALLS = 4 * MOST_ON_A_CLUSTER
"""Calls that the replay in memory serves at once.  Every actor may be waiting there for room with deliveries in flight,
and the learner's call, which makes room, must still be served."""

INCARNATIONS_PER_START = 1_000_000
"""Incarnation numbers of an actor that each start of a run has to itself; more than the restarts an actor can have."""


def run_ray(session: Session) -> None:
    """Start or join Ray, start the roles of the run, and train as `Driver.run` says."""
    job = session.job
    with redis_of(job.replay, session.folder.path) as redis, ray_of(job.cluster):
        placement = placement_of(job, lambda: session.interrupt.requested)
        watcher = TargetWatcher(session.folder.path, job)
        Driver(session, _Wiring(session, placement, redis).parts(watcher), watcher).run()


class _Wiring:
    """The roles of a job, wired to each other; replay and weights are started here, the others by their roles."""

    def __init__(self, session: Session, placement: Placement, redis: RedisRun | None) -> None:
        self.session, self.placement = session, placement
        self.weights = WeightActor.options(**options(placement.weights), **KEPT_UP).remote()
        self.replay, self.records = _replay_of(session, placement, redis)
        self.stateless = redis is not None
        first_incarnation = INCARNATIONS_PER_START * (redis.start if redis else session.starts)
        self.incarnations: dict[int, Iterator[int]] = defaultdict(lambda: itertools.count(first_incarnation))
        self.validation = validation_games(session)
        self.common = {"game": session.job.game.name, "seed": session.job.run.seed}

    def parts(self, watcher: TargetWatcher) -> Parts:
        """Return every role; of the actors, as many as were asked for."""
        session, places = self.session, self.placement.actors
        target = dict(Counter(map(group_of, places))) | (watcher.changed() or {})
        first = trimmed(places, target)
        return Parts(
            learner=self.role("learner", self.learner, lambda a: a.round.remote(session.fraction), session.learner),
            gate=self.role("gate", self.gate, lambda a: a.round.remote(GATE_SLICE_S), session.gate),
            actors=ActorPool(
                [self.actor(index, place) for index, place in enumerate(first)],
                lambda group, index: self.actor(index, another_place(session.job, self.placement, group)),
                target,
            ),
            replay=self.role("replay", lambda: self.replay, lambda a: a.report.remote(), session.replay, by_ray=True),
            weights=self.role("weights", lambda: self.weights, measure_process, lambda _: None, by_ray=True),
            stateless=self.stateless,
        )

    def role(
        self,
        name: str,
        start: Callable[[], Any],
        start_round: Callable[[Any], Any],
        on_report: Callable[[Any], None],
        **more: Any,
    ) -> Role:
        """Return a role that may die as often as the job allows."""
        return Role(name, start, start_round, on_report, RestartPolicy(self.session.job.cluster.max_restarts), **more)

    def actor(self, index: int, actor: ActorPlace) -> Role:
        """Return the role of one actor."""
        session = self.session

        def on_report(report: ActorReport) -> None:
            role.playing_s = report.playing_s
            if report.games:
                role.cut_off = False
            session.actor(report)

        role = self.role(
            f"actor-{index}",
            lambda: self.worker(index, actor),
            lambda a: a.round.remote(session.fraction),
            on_report,
            group=group_of(actor),
            games=getattr(actor.config, "games", 0),
        )
        return role

    def learner(self) -> Any:
        """Start the learner."""
        session, job = self.session, self.session.job
        return LearnerActor.options(**options(self.placement.learner)).remote(
            config=job.learner,
            algorithm=job.algorithm,
            network=job.network,
            source=self.replay,
            sink=self.weights,
            newest=session.newest_version(),
            validation=self.validation,
            **self.common,
        )

    def gate(self) -> Any:
        """Start the gate."""
        job = self.session.job
        return GateActor.options(**options(self.placement.gate)).remote(
            config=job.gate,
            registry=registry_url(job, self.session.folder.path),
            store=self.weights,
            keep_rejected=job.registry.keep_rejected,
            **self.common,
        )

    def worker(self, index: int, actor: ActorPlace) -> Any:
        """Start the worker of an actor, under a new producer name each time."""
        return SelfPlayActor.options(**options(actor.place)).remote(
            index=index,
            config=actor.config,
            search=self.session.job.search,
            weights=self.weights,
            records=self.records,
            incarnation=next(self.incarnations[index]),
            background=True,
            **self.common,
        )


def _replay_of(session: Session, placement: Placement, redis: RedisRun | None) -> tuple[Any, Any]:
    """Return the replay actor and the sink for the workers' records: that actor, or the Redis stream that it reads."""
    job, folder = session.job, session.folder.path
    storage = {
        "game": job.game.name,
        "seed": job.run.seed,
        "config": job.replay,
        "rejected_dir": str(folder / "rejected"),
        "kind": sample_kind(job.algorithm),
        "saved": functools.partial(_saved_replay, folder),
    }
    if redis is None:
        replay = ReplayActor.options(**options(placement.replay), **KEPT_UP, max_concurrency=REPLAY_CALLS).remote(
            **storage
        )
        return replay, RemoteRecords(replay)
    from learner.replay.redis.remote import RedisReplayActor
    from learner.replay.redis.sink import RedisSink

    replay = RedisReplayActor.options(**options(placement.replay), **KEPT_UP).remote(
        **storage, server=redis.server, key=redis.key
    )
    return replay, RedisSink.of(redis.config, redis.server, redis.key)


def _saved_replay(folder: Path) -> bytes | None:
    """Return the last saved replay state of the run in `folder`, None if there is none yet."""
    if not checkpoints_in(folder):
        return None
    return newest_whole(folder, "replay.safetensors").get("replay.safetensors")
