"""The Ray launcher: every part is a Ray actor, wired so that the driver only passes on reports.

Records flow actor -> replay -> learner, and weights learner -> weights actor -> everyone, without passing through the
driver (`scripts/ray/driver.py`).
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import ray

from actors.remote import RemoteRecords, SelfPlayActor
from actors.worker import ActorReport
from evaluator.remote import GateActor
from learner.algorithms.sample_kinds import sample_kind
from learner.remote import LearnerActor, WeightActor
from learner.replay.remote import ReplayActor
from scripts.config.job import with_absolute_paths
from scripts.launch.redis_run import RedisRun, redis_of
from scripts.launch.validation_games import validation_games
from scripts.ray.actor_pool import ActorPool, Parts, group_of, trimmed
from scripts.ray.cluster import options, placement_of, ray_of
from scripts.ray.driver import Driver
from scripts.ray.placement import ActorPlace, Placement, another_place
from scripts.ray.recovery import (
    Held,
    incarnation,
    initial_weights,
    newest_version,
    nothing_saved,
    restarted,
    saved_games,
    saved_state,
)
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.role import Role
from scripts.run.control import MOST_ON_A_CLUSTER, TargetWatcher
from scripts.run.session import Session, registry_url
from scripts.run.training import training_of

GATE_SLICE_S = 2.0
"""Seconds of a gate match per round of the gate."""

RESTARTED: dict[str, Any] = {"max_restarts": 1000}
"""Options of every role: Ray restarts it under the same handle, and the driver counts its deaths.  The number only ends
a process that dies in its constructor again and again, of which the driver hears nothing: a second or two each."""

KEPT_UP: dict[str, Any] = {**RESTARTED, "max_task_retries": -1}
"""Options of the roles that others call: their calls wait while it is restarted."""

REPLAY_CALLS = 4 * MOST_ON_A_CLUSTER
"""Calls that the replay in memory serves at once.  Every actor may be waiting there for room with deliveries in flight,
and the learner's call, which makes room, must still be served."""

INCARNATIONS_PER_START = 1_000_000
"""Incarnation numbers of an actor that each start of a run has to itself; more than the actors that can join in it."""


def run_ray(session: Session) -> None:
    """Start or join Ray, start the roles of the run, and train as `Driver.run` says."""
    session.job = job = with_absolute_paths(session.job)
    with redis_of(job.replay, session.folder.path) as redis, ray_of(job.cluster):
        placement = placement_of(job, lambda: session.interrupt.requested)
        session.remove_passed_over()
        watcher = TargetWatcher(session.folder.path, job)
        Driver(session, _Wiring(session, placement, redis).parts(watcher), watcher).run()


class _Wiring:
    """The roles of a job, wired to each other; replay and weights are started here, as the others call them."""

    def __init__(self, session: Session, placement: Placement, redis: RedisRun | None) -> None:
        self.session, self.placement = session, placement
        self.weights = WeightActor.options(**options(placement.weights), **KEPT_UP).remote()
        self.replay, self.records = _replay_of(session, placement, redis)
        self.stateless = redis is not None
        first_incarnation = INCARNATIONS_PER_START * (redis.start if redis else session.starts)
        self.incarnations: dict[int, Iterator[int]] = defaultdict(lambda: itertools.count(first_incarnation))
        self.validation = ray.put(validation_games(session))
        self.common = {"game": session.job.game.name, "seed": session.job.run.seed}

    def parts(self, watcher: TargetWatcher) -> Parts:
        """Return every role; of the actors, as many as were asked for."""
        session, places = self.session, self.placement.actors
        target = dict(Counter(map(group_of, places))) | (watcher.changed() or {})
        first = trimmed(places, target)
        return Parts(
            learner=self.role("learner", self.learner, lambda: ("round", session.fraction), session.learner),
            gate=self.role("gate", self.gate, lambda: ("round", GATE_SLICE_S, session.spent), session.gate),
            actors=ActorPool(
                [self.actor(index, place) for index, place in enumerate(first)],
                lambda group, index: self.actor(index, another_place(session.job, self.placement, group)),
                target,
            ),
            replay=self.role("replay", lambda _: self.replay, lambda: ("report",), session.replay),
            weights=self.role("weights", lambda _: self.weights, lambda: ("newest",), lambda _: None),
            stateless=self.stateless,
        )

    def role(
        self,
        name: str,
        start: Callable[[bool], Any],
        next_round: Callable[[], tuple[Any, ...]],
        on_report: Callable[[Any], None],
        **more: Any,
    ) -> Role:
        """Return a role that may die as often as the job allows."""
        return Role(name, start, next_round, on_report, RestartPolicy(self.session.job.cluster.max_restarts), **more)

    def actor(self, index: int, actor: ActorPlace) -> Role:
        """Return the role of one actor."""
        session = self.session

        def on_report(report: ActorReport) -> None:
            role.played(report.playing_s, delivered=report.games > 0)
            session.actor(report)

        role = self.role(
            f"actor-{index}",
            lambda resumes: self.worker(index, actor, resumes),
            lambda: ("round", session.fraction),
            on_report,
            group=group_of(actor),
            games=getattr(actor.config, "games", 0),
        )
        return role

    def learner(self, _: bool) -> Any:
        """Start the learner."""
        job, folder = self.session.job, self.session.folder.path
        return LearnerActor.options(**options(self.placement.learner), **RESTARTED).remote(
            config=job.learner,
            algorithm=job.algorithm,
            network=job.network,
            source=Held(self.replay),
            sink=Held(self.weights),
            newest=newest_version(registry_url(job, folder)),
            saved=saved_state(folder, "learner"),
            init=initial_weights(folder),
            validation=Held(functools.partial(ray.get, self.validation)),
            **self.common,
        )

    def gate(self, _: bool) -> Any:
        """Start the gate."""
        job, folder = self.session.job, self.session.folder.path
        return GateActor.options(**options(self.placement.gate), **RESTARTED).remote(
            config=job.gate,
            registry=registry_url(job, folder),
            saved=saved_state(folder, "gate"),
            store=Held(self.weights),
            keep_rejected=job.registry.keep_rejected,
            begun_from=job.begun_from,
            owner=self.session.folder.owner,
            training=training_of(job, folder.name),
            **self.common,
        )

    def worker(self, index: int, actor: ActorPlace, resumes: bool) -> Any:
        """Start the worker of an actor, under a new producer name each time, unless it resumes."""
        folder = self.session.folder.path
        return SelfPlayActor.options(**options(actor.place), **RESTARTED).remote(
            index=index,
            config=actor.config,
            search=self.session.job.search,
            weights=Held(self.weights),
            records=Held(self.records),
            incarnation=functools.partial(incarnation, next(self.incarnations[index])),
            saved=saved_games(folder, f"actor-{index}") if resumes else nothing_saved,
            background=True,
            keep_every=self.session.job.keep_every,
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
        "saved": saved_state(folder, "replay"),
    }
    if redis is None:
        replay = ReplayActor.options(**options(placement.replay), **KEPT_UP, max_concurrency=REPLAY_CALLS).remote(
            **storage
        )
        return replay, RemoteRecords(replay)
    from learner.replay.redis.remote import RedisReplayActor
    from learner.replay.redis.sink import RedisSink

    replay = RedisReplayActor.options(**options(placement.replay), **KEPT_UP).remote(
        **storage, server=redis.server, key=redis.key, restarted=restarted
    )
    return replay, RedisSink.of(redis.config, redis.server, redis.key)
