"""The Ray launcher: every part is a Ray actor, wired so that the driver only passes on reports.

Records flow actor -> replay -> learner, and weights learner -> weights actor -> everyone, without passing through the
driver (`scripts/job/driver.py`).
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from actors.remote import RemoteRecords, SelfPlayActor
from actors.worker import ActorReport
from evaluator.remote import GateActor
from learner.remote import LearnerActor, WeightActor
from learner.replay.remote import ReplayActor
from scripts.cluster.placement import ActorPlace, Placement, another_place
from scripts.cluster.ray_cluster import options, placement_of, ray_of
from scripts.job.control import MOST_ON_A_CLUSTER, TargetWatcher
from scripts.job.driver import Driver
from scripts.job.redis_run import RedisRun, redis_of
from scripts.job.run_folder import checkpoints_in, newest_whole
from scripts.job.sitting import Sitting, registry_url
from scripts.job.validation_games import validation_games
from scripts.supervision.actor_pool import ActorPool, group_of, trimmed
from scripts.supervision.restart_policy import RestartPolicy
from scripts.supervision.roles import Parts, Role, measured

GATE_SLICE_S = 2.0
"""Seconds of a gate match per round of the gate."""

KEPT_UP: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}
"""Options of Ray actors that others call: Ray restarts them under the same handle, and calls wait meanwhile.  The
driver counts their deaths and limits them."""

REPLAY_CALLS = 4 * MOST_ON_A_CLUSTER
"""Calls that the replay in memory serves at once.  Every actor may be waiting there for room with deliveries in flight,
and the learner's call, which makes room, must still be served."""

STARTS_APART = 1_000_000
"""Producer numbers reserved per start of a run; more than the restarts a role can have."""


def run_ray(sitting: Sitting) -> None:
    """Train on Ray actors until the time is up or a signal arrives, then save; the last candidate still gets its match.

    There is a checkpoint before the last candidate is offered, one when the gate has it and one when it is judged:
    whenever the run is stopped or killed, the candidate is offered and judged exactly once.
    """
    job = sitting.job
    with redis_of(job.replay, sitting.folder.path) as redis, ray_of(job.cluster):
        placement = placement_of(job, lambda: sitting.interrupt.requested)
        watcher = TargetWatcher(sitting.folder.path, job)
        driver = Driver(sitting, _parts_of(sitting, placement, redis, watcher), watcher)
        if not driver.wait_until_up():
            return
        sitting.begin()
        while sitting.goes_on:
            driver.turn()
            if sitting.checkpoint_due:
                driver.save()
        driver.stop_play()
        driver.save_at_last()
        if not sitting.interrupt.requested:
            driver.offer_last()
            driver.save_at_last()
            driver.finish_gate()
            driver.save_at_last(judged=True)
        driver.leave_behind()


def _parts_of(sitting: Sitting, placement: Placement, redis: RedisRun | None, watcher: TargetWatcher) -> Parts:
    """Return every role of the job, wired to the others; replay and weights are started here."""
    job, progress, folder = sitting.job, sitting.progress, sitting.folder.path
    common = {"game": job.game.name, "seed": job.run.seed}
    weights = WeightActor.options(**options(placement.weights), **KEPT_UP).remote()
    replay, records = _replay_of(sitting, placement, redis)
    first_epoch = STARTS_APART * (redis.start if redis else sitting.starts)
    epochs: dict[int, Iterator[int]] = defaultdict(lambda: itertools.count(first_epoch))
    validation = validation_games(sitting)

    def learner() -> Any:
        return LearnerActor.options(**options(placement.learner)).remote(
            config=job.learner,
            algorithm=job.algorithm,
            network=job.network,
            source=replay,
            sink=weights,
            newest=sitting.newest_version(),
            validation=validation,
            **common,
        )

    def gate() -> Any:
        return GateActor.options(**options(placement.gate)).remote(
            config=job.gate, registry=registry_url(job, folder), store=weights, **common
        )

    def worker(index: int, actor: ActorPlace) -> Any:
        return SelfPlayActor.options(**options(actor.place)).remote(
            index=index,
            config=actor.config,
            search=job.search,
            weights=weights,
            records=records,
            epoch=next(epochs[index]),
            background=True,
            **common,
        )

    def actor(index: int, place: ActorPlace, awaited: bool) -> Role:
        def hear(report: ActorReport) -> None:
            made.took_s = report.playing_s
            sitting.actor(report)

        made = Role(
            f"actor-{index}",
            lambda: worker(index, place),
            lambda a: a.round.remote(sitting.fraction),
            hear,
            restart_policy(),
            group=group_of(place),
            games=getattr(place.config, "games", 0),
            awaited=awaited,
        )
        return made

    def restart_policy() -> RestartPolicy:
        return RestartPolicy(job.cluster.max_restarts)

    target = dict(Counter(map(group_of, placement.actors))) | (watcher.changed() or {})
    first = trimmed(placement.actors, target)
    return Parts(
        learner=Role("learner", learner, lambda a: a.round.remote(sitting.fraction), sitting.learner, restart_policy()),
        gate=Role("gate", gate, lambda a: a.round.remote(GATE_SLICE_S), progress.gate, restart_policy()),
        actors=ActorPool(
            [actor(index, place, awaited=True) for index, place in enumerate(first)],
            lambda group, index: actor(index, another_place(job, placement, group), awaited=False),
            target,
        ),
        replay=Role(
            "replay", lambda: replay, lambda a: a.report.remote(), sitting.replay, restart_policy(), by_ray=True
        ),
        weights=Role("weights", lambda: weights, measured, lambda _: None, restart_policy(), by_ray=True),
        stateless=redis is not None,
    )


def _replay_of(sitting: Sitting, placement: Placement, redis: RedisRun | None) -> tuple[Any, Any]:
    """Return the replay actor and the sink for the workers' records: that actor, or the Redis stream that it reads."""
    job, folder = sitting.job, sitting.folder.path
    storage = {
        "game": job.game.name,
        "seed": job.run.seed,
        "config": job.replay,
        "rejected_dir": str(folder / "rejected"),
        "algorithm": job.algorithm,
        "saved": functools.partial(_saved_replay, folder),
    }
    if redis is None:
        replay = ReplayActor.options(**options(placement.replay), **KEPT_UP, max_concurrency=REPLAY_CALLS).remote(
            **storage
        )
        return replay, RemoteRecords(replay)
    from learner.replay.redis_remote import RedisReplayActor
    from learner.replay.redis_sink import RedisSink

    replay = RedisReplayActor.options(**options(placement.replay), **KEPT_UP).remote(
        **storage, server=redis.server, key=redis.key
    )
    return replay, RedisSink.of(redis.config, redis.server, redis.key)


def _saved_replay(folder: Path) -> bytes | None:
    """Return the last saved replay state of the run in `folder`, None if there is none yet."""
    if not checkpoints_in(folder):
        return None
    return newest_whole(folder).get("replay.safetensors")
