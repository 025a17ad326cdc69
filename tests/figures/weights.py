"""A model sent to a thousand actors, and the cost for the learner beside them.

Ray, the weights actor, the learner's `RemoteSink`, the actors' `RemoteWeights`, an archive of 10 MB and the training
steps are real.  The actors are simulated: they share a few processes of this machine, ask once per round as actors do,
evenly spread, and discard the archive.  So there is one node, one object store and no network; on a cluster the work of
the crowd's processes is done on the actors' machines.  The learner has a core to itself, as it has a machine to itself
on a cluster, and the rest of the simulation has the other cores.  These still share memory and caches with the learner,
unlike separate machines; so the learner is also measured while the same crowd pulls weights published by another
process.  The difference between the two is the cost of publishing.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from reversi.errors import ReversiError
from scripts.bench.measure import Row, ratio, row
from scripts.bench.setup import Settings, algorithm_config, learner_config, random_weights, training_batches

if TYPE_CHECKING:
    from reversi.model.weights import Weights

TURN_S = 20.0
"""Length of a turn in seconds."""

ROUND_S = 2.0
"""Seconds between two requests of an actor: a round of self-play."""

BLOCKS, CHANNELS = 8, 128
"""The network that is sent: 9.5 MB on 8x8, whichever network the learner trains."""

PROCESSES, THREADS = 4, 16
"""Processes that the crowd shares, and threads in each; a thread serves one actor at a time."""

LEAD_S = 0.5
"""Seconds from the request to the start of a turn."""

WATCH_S = 0.2
"""Seconds between two checks of the object store."""


@dataclass
class PullStats:
    """Measurements of a part of the crowd in a turn."""

    arrived_s: list[float] = field(default_factory=list)
    """End of each pull, by the machine's monotonic clock."""
    pull_s: list[float] = field(default_factory=list)
    """Duration of each pull, including the request."""
    ask_s: list[float] = field(default_factory=list)
    """Duration of each request for which there was nothing newer."""
    put_off: int = 0
    """Rounds continued without the answer or the archive, which is left to the next one."""
    bytes: int = 0
    """Bytes received."""


class SimulatedActors:
    """A part of the actors, reduced to their weights: one `RemoteWeights` each, served by a few threads in turn."""

    def __init__(self, store: Any, numbers: Sequence[int], of: int) -> None:
        """The actors called `numbers`, out of `of` actors; the number sets the time in a round at which each asks."""
        from actors.remote import RemoteWeights

        self._actors = [(number / of, RemoteWeights(store)) for number in numbers]

    def work(self, version: int, start_s: float, end_s: float) -> PullStats:
        """Ask once a round, from `start_s` to `end_s`, for `version` until it comes and then for a newer one."""
        shares = [self._actors[first::THREADS] for first in range(THREADS)]
        with ThreadPoolExecutor(THREADS) as pool:
            return together(list(pool.map(lambda share: _rounds(share, version, start_s, end_s), shares)))


def _rounds(actors: Sequence[tuple[float, Any]], version: int, start_s: float, end_s: float) -> PullStats:
    from actors.remote import WAIT_S

    stats, held = PullStats(), dict.fromkeys(range(len(actors)), version - 1)
    at_s = start_s
    while actors:
        for index, (phase, weights) in enumerate(actors):
            if (due_s := at_s + phase * ROUND_S) >= end_s:
                return stats
            time.sleep(max(0.0, due_s - time.monotonic()))
            began_s = time.monotonic()
            data = weights.fetch("latest", held[index])
            ended_s = time.monotonic()
            if data is not None:
                held[index] = version
                stats.arrived_s.append(ended_s)
                stats.pull_s.append(ended_s - began_s)
                stats.bytes += len(data)
            elif ended_s - began_s < WAIT_S:
                stats.ask_s.append(ended_s - began_s)
            else:
                stats.put_off += 1
        at_s += ROUND_S
    return stats


def p99(values: Sequence[float]) -> float:
    """Return the smallest of the values that 99 % of them do not exceed."""
    return float(np.quantile(values, 0.99, method="inverted_cdf"))


def together(parts: Sequence[PullStats]) -> PullStats:
    """Return the measurements of several parts as one."""
    return PullStats(
        [each for part in parts for each in part.arrived_s],
        [each for part in parts for each in part.pull_s],
        [each for part in parts for each in part.ask_s],
        sum(part.put_off for part in parts),
        sum(part.bytes for part in parts),
    )


@dataclass(frozen=True)
class Trained:
    """Measurements of the learner in a turn."""

    samples_per_s: float
    samples_per_cpu_s: float
    """Per CPU time of the process, including Ray's threads in it; other work on the machine changes it little."""
    published_s: float
    """Start of the first step, after the publication was handed over, by the machine's monotonic clock."""
    publish_s: float
    """Seconds by which publishing delayed the first step."""


def large_model(settings: Settings) -> Weights:
    """Return weights of the network to send."""
    return random_weights(dataclasses.replace(settings, blocks=BLOCKS, channels=CHANNELS))


def archive_of(model: Weights, version: int) -> bytes:
    """Return a model in the form in which it is sent."""
    return dataclasses.replace(model, version=version).to_bytes()


class Training:
    """The learner's loop: real steps, and an archive handed over by `RemoteSink` at the beginning of a turn."""

    def __init__(self, store: Any, settings: Settings) -> None:
        from learner.remote import RemoteSink
        from learner.training.trainer import Trainer

        self._sink, self._model = RemoteSink(store), large_model(settings)
        training = settings.training
        self._batch, self._batches = training.batch, training_batches(training)
        self._trainer = Trainer(
            training.game, training.network, learner_config(training), algorithm_config(training), 0
        )
        for _ in range(3):
            self._trainer.step(next(self._batches), 0.0)

    def work(self, version: int | None, start_s: float, end_s: float) -> Trained:
        """Train from `start_s` to `end_s`; publish `version` first, unless it is None."""
        data = None if version is None else archive_of(self._model, version)
        time.sleep(max(0.0, start_s - time.monotonic()))
        began_s, spent_s = time.monotonic(), time.process_time()
        if data is not None:
            self._sink.publish(data, False)
        published_s, steps = time.monotonic(), 0
        while (now_s := time.monotonic()) < end_s:
            self._trainer.step(next(self._batches), 0.0)
            steps += 1
        samples, cpu_s = steps * self._batch, time.process_time() - spent_s
        return Trained(samples / (now_s - began_s), samples / cpu_s, published_s, published_s - began_s)


@dataclass(frozen=True)
class Turn:
    """Measurements of all processes in a turn."""

    trained: Trained
    pulls: PullStats
    cpu_s: dict[str, float]
    """CPU seconds of the weights actor, of Ray's own processes and of the crowd's."""
    store_bytes: float
    """Largest size of the object store's contents."""


class FanoutScenario:
    """All processes of the simulation on a Ray that has been started."""

    def __init__(self, settings: Settings, actors: int) -> None:
        import ray

        from learner.remote import RemoteSink, WeightActor
        from scripts.launch.ray import KEPT_UP
        from scripts.ray.actor_calls import measure_process

        self.store = WeightActor.options(num_cpus=0, **KEPT_UP).remote()
        self._sink = RemoteSink(self.store)
        self._model = large_model(settings)
        numbers = range(actors)
        crowd, training = ray.remote(num_cpus=0)(SimulatedActors), ray.remote(num_cpus=0)(Training)
        self._crowd = [crowd.remote(self.store, numbers[first::PROCESSES], actors) for first in range(PROCESSES)]
        threads = {"env_vars": {"OMP_NUM_THREADS": str(settings.learner_threads)}}
        self._learner = training.options(runtime_env=threads).remote(self.store, settings)
        handles = (self._learner, self.store, *self._crowd)
        learner, store, *crowds = (
            psutil.Process(each.pid) for each in ray.get([measure_process(part) for part in handles])
        )
        rays = [each for each in psutil.Process().children() if each.name() in ("raylet", "gcs_server")]
        self._processes = {"weights": [store], "ray": rays, "crowd": crowds}
        first, *others = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else [0]
        for process in (learner, store, *crowds, *rays) if others else ():
            _keep_to(process, [first] if process is learner else others)
        self._capacity = ray.cluster_resources()["object_store_memory"]
        self._version = 0

    def alone(self) -> Trained:
        """Let the learner train for a turn."""
        import ray

        start_s = time.monotonic() + LEAD_S
        trained: Trained = ray.get(self._learner.work.remote(None, start_s, start_s + TURN_S))
        return trained

    def beside(self, *, learner_publishes: bool) -> Turn:
        """Let it train while the crowd pulls a version published by the learner or by this process."""
        import ray

        self._version += 1
        data = None if learner_publishes else archive_of(self._model, self._version)
        start_s = time.monotonic() + LEAD_S
        end_s = start_s + TURN_S
        training = self._learner.work.remote(self._version if learner_publishes else None, start_s, end_s)
        crowd = [part.work.remote(self._version, start_s, end_s) for part in self._crowd]
        before, most = self._cpu_s(), 0.0
        if data is not None:
            time.sleep(max(0.0, start_s - time.monotonic()))
            self._sink.publish(data, False)
        while ray.wait([training, *crowd], num_returns=1 + PROCESSES, timeout=WATCH_S)[1]:
            free = ray.available_resources().get("object_store_memory", self._capacity)
            most = max(most, self._capacity - free)
        after = self._cpu_s()
        spent = {name: after[name] - before[name] for name in after}
        return Turn(ray.get(training), together(ray.get(crowd)), spent, most)

    def _cpu_s(self) -> dict[str, float]:
        return {
            name: sum(sum(process.cpu_times()[:2]) for process in processes)
            for name, processes in self._processes.items()
        }


def _keep_to(process: psutil.Process, cores: Sequence[int]) -> None:
    """Restrict every thread of a process, and those that they start, to some cores."""
    for thread in process.threads():
        os.sched_setaffinity(thread.id, cores)


def bench_weights(settings: Settings, actors: int) -> Iterator[Row]:
    """A version of 10 MB sent to `actors`, repeatedly, beside a learner that trains; and the learner alone."""
    from scripts.config.cluster import LocalClusterConfig
    from scripts.ray.environment import prepare

    config = LocalClusterConfig(kind="local", object_store_mb=200, max_restarts=0, stall_s=60)
    prepare(config)
    from ray.exceptions import RayError

    from scripts.ray.cluster import ray_of

    try:
        with ray_of(config):
            scenario = FanoutScenario(settings, actors)
            turns = [
                (scenario.alone(), scenario.beside(learner_publishes=False), scenario.beside(learner_publishes=True))
                for _ in range(settings.repeats)
            ]
    except RayError as error:
        raise ReversiError(f"a process of the scenario failed: {str(error).strip().splitlines()[-1]}") from error
    if not all(turn.pulls.pull_s and turn.pulls.ask_s for _, _, turn in turns):
        raise ReversiError(f"this machine is too busy: within {TURN_S:g} s nobody was sent weights, or told of none")
    alone, bystander, beside = zip(*turns, strict=True)
    yield from rows_of(settings, actors, alone, [turn.trained for turn in bystander], beside)


def rows_of(
    settings: Settings, actors: int, alone: Sequence[Trained], bystander: Sequence[Trained], beside: Sequence[Turn]
) -> Iterator[Row]:
    sent_mb = beside[0].pulls.bytes / len(beside[0].pulls.pull_s) / 1e6
    note = (
        f"{actors} simulated actors in {PROCESSES} processes of one node, {sent_mb:.1f} MB every {TURN_S:g} s, "
        f"each asks every {ROUND_S:g} s"
    )

    def per_minute(name: str) -> list[float]:
        return [turn.cpu_s[name] * 60 / TURN_S for turn in beside]

    def of_each(name: str, unit: str, values: Sequence[float]) -> Row:
        return row(name, list(values), unit, note)

    yield of_each("weights_pulls_per_turn", "pulls", [len(turn.pulls.pull_s) for turn in beside])
    yield of_each("weights_pull_ms", "ms", [1000 * median(turn.pulls.pull_s) for turn in beside])
    yield of_each("weights_pull_p99_ms", "ms", [1000 * p99(turn.pulls.pull_s) for turn in beside])
    yield of_each("weights_ask_ms", "ms", [1000 * median(turn.pulls.ask_s) for turn in beside])
    yield of_each("weights_put_off_per_turn", "rounds", [turn.pulls.put_off for turn in beside])
    last = [max(turn.pulls.arrived_s) - turn.trained.published_s for turn in beside]
    yield of_each("weights_reach_all_s", "s", last)
    yield of_each("weights_moved_mb_per_min", "MB/min", [turn.pulls.bytes / 1e6 * 60 / TURN_S for turn in beside])
    yield of_each("weights_actor_cpu_s_per_min", "s/min", per_minute("weights"))
    yield of_each("weights_ray_cpu_s_per_min", "s/min", per_minute("ray"))
    yield of_each("weights_crowd_cpu_s_per_min", "s/min", per_minute("crowd"))
    yield of_each("weights_object_store_mb", "MB", [turn.store_bytes / 1e6 for turn in beside])
    yield of_each("learner_publish_ms", "ms", [1000 * turn.trained.publish_s for turn in beside])
    learner = f"{settings.training}, threads {settings.learner_threads}"
    for name, rate, others, whom in (
        ("learner_beside_weights", "samples_per_s", alone, "the learner alone"),
        ("learner_cpu_beside_weights", "samples_per_cpu_s", alone, "the learner alone"),
        ("learner_to_bystander", "samples_per_s", bystander, "one that did not publish what the same crowd pulled"),
    ):
        rates = [getattr(turn.trained, rate) for turn in beside]
        yield ratio(name, rates, [getattr(each, rate) for each in others], f"{learner}, to {whom}; {note}")
