"""Which process runs on which node: all processes of a run are placed on the nodes before any of them is started.

Ray would wait silently for a request that no node can satisfy; here it is a one-line error.  On a cluster each process
is assigned to its node, so that the actual layout is the one that was computed; if a node dies Ray uses another one
that fits.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from actors.config import ActorConfig, GamesActorConfig, actor_threads
from reversi.errors import ConfigError
from scripts.config.cluster import ActorGroupConfig, RayClusterConfig, RoleConfig
from scripts.config.job import JobConfig

OF_RAY_ITSELF = ("node:", "memory", "object_store_memory", "bundle", "accelerator_type:")
"""Prefixes of the resources that Ray adds to every node and that no process here requests."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One machine of the cluster."""

    id: str
    name: str
    resources: Mapping[str, float]
    """Its total resources: `CPU`, `GPU` and custom ones."""
    labels: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        labels = [f"{key}={value}" for key, value in sorted(self.labels.items()) if not key.startswith("ray.io/")]
        return " ".join([self.name, _written(self.resources), *labels])


@dataclass(frozen=True, kw_only=True)
class Place:
    """What one process of the run reserves, and where."""

    role: str
    """Its name in errors, and the group of the configuration that sets it."""
    request: Mapping[str, float]
    """Amounts by resource; those that are 0 are left out."""
    threads: int
    """Threads of every library in the process."""
    labels: Mapping[str, str] = field(default_factory=dict)
    beside_driver: bool = False
    node: str | None = None
    """Id of the node chosen for it; None leaves the choice to Ray."""

    def fits(self, node: Node, free: Mapping[str, float]) -> bool:
        """Whether `node` has the labels, and of every resource enough in `free`."""
        return all(node.labels.get(key) == value for key, value in self.labels.items()) and all(
            free.get(name, 0.0) >= amount - 1e-6 for name, amount in self.request.items()
        )

    def __str__(self) -> str:
        labels = [f"with {key}={value}" for key, value in sorted(self.labels.items())]
        return " ".join([_written(self.request, " and ") or "a node", *labels])


@dataclass(frozen=True, kw_only=True)
class ActorPlace:
    """One actor: how it makes games, and where."""

    config: ActorConfig
    place: Place


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Every process of a run."""

    learner: Place
    replay: Place
    weights: Place
    gate: Place
    actors: tuple[ActorPlace, ...]


def local_placement(job: JobConfig, gpus: int) -> Placement:
    """Place a run on this machine: no CPUs are reserved, as threads are set; the GPUs are shared."""
    devices = [job.learner.device, *[job.actor_device] * job.actor_count]
    wanted = sum(device != "cpu" for device in devices)
    share = 1 / math.ceil(wanted / gpus) if wanted and gpus else 0.0

    def place(role: str, threads: int, device: str = "cpu") -> Place:
        return Place(role=role, request={} if device == "cpu" or not share else {"GPU": share}, threads=threads)

    actor = ActorPlace(config=job.actors, place=place("actors", actor_threads(job.actors), job.actor_device))
    return Placement(
        learner=place("learner", job.learner.threads, job.learner.device),
        replay=place("replay", 1),
        weights=place("weights", 1),
        gate=place("gate", 1),
        actors=(actor,) * job.actor_count,
    )


def cluster_placement(job: JobConfig, nodes: Iterable[Node], driver: str) -> Placement:
    """Place a run on `nodes`, first the roles, then the actors, group by group.

    driver  id of the node with the run's folder

    Raises ConfigError, which names the first process without room.  A group with count=null takes the remaining room;
    there must be at least one actor.
    """
    cluster = job.cluster
    assert isinstance(cluster, RayClusterConfig)
    room = _Room(nodes, driver)

    def role(name: str, config: RoleConfig, threads: int) -> Place:
        return room.take(_wanted(name, config, threads))

    roles = {
        "replay": role("replay", cluster.replay, 1),
        "weights": role("weights", cluster.weights, 1),
        "gate": role("gate", cluster.gate, 1),
        "learner": role("learner", cluster.learner, job.learner.threads),
    }
    actors: list[ActorPlace] = []
    for name, group in sorted(cluster.actors.items(), key=lambda item: item[1].count is None):
        actors += _group(job, name, group, room, len(actors))
    if not actors:
        raise ConfigError(f"expected room for an actor beside the other roles, found none on {room}")
    return Placement(**roles, actors=tuple(actors))


def places_to_request(job: JobConfig) -> list[Place]:
    """Return the places that a job on a cluster needs at least, for an autoscaler, which may have no nodes yet: those
    of all roles and actors, of a group with count=null one."""
    cluster = job.cluster
    assert isinstance(cluster, RayClusterConfig)
    roles = {"replay": (cluster.replay, 1), "weights": (cluster.weights, 1), "gate": (cluster.gate, 1)}
    roles["learner"] = cluster.learner, job.learner.threads
    places = [_wanted(name, config, threads) for name, (config, threads) in roles.items()]
    for name, group in cluster.actors.items():
        if group.count != 0:
            wanted = _wanted(f"actors.{name}", group, actor_threads(job.actors_of(name)))
            places += [wanted] * (1 if group.count is None else group.count)
    return places


def another_place(job: JobConfig, placement: Placement, group: str) -> ActorPlace:
    """Return the place of one more actor of a group; Ray chooses its node, or lets it wait for one."""
    if not isinstance(job.cluster, RayClusterConfig):
        return placement.actors[0]
    config = job.actors_of(group)
    place = _wanted(f"actors.{group}", job.cluster.actors[group], actor_threads(config))
    return ActorPlace(config=config, place=place)


def _group(job: JobConfig, name: str, group: ActorGroupConfig, room: _Room, others: int) -> list[ActorPlace]:
    """Return the places of one group; `others` are placed already."""
    if group.count == 0:
        return []
    config = job.actors_of(name)
    wanted = _wanted(f"actors.{name}", group, actor_threads(config))
    count = group.count
    if isinstance(config, GamesActorConfig):  # one reads all the files, which are where the driver is
        wanted, count = dataclasses.replace(wanted, beside_driver=True), min(1 - others, 1 if count is None else count)
    if count is None and not any(wanted.request.get(kind) for kind in ("CPU", "GPU")):
        raise ConfigError(f"cluster.actors.{name} with count=null must reserve cpus or gpus, got neither")
    places: list[ActorPlace] = []
    while count is None or len(places) < count:
        if count is None and not room.has(wanted):
            break
        places.append(ActorPlace(config=config, place=room.take(wanted)))
    return places


def _wanted(role: str, config: RoleConfig, threads: int) -> Place:
    cpus = float(threads) if config.cpus is None else config.cpus
    request = {"CPU": cpus, "GPU": config.gpus, **config.resources}
    return Place(
        role=role,
        request={name: amount for name, amount in request.items() if amount},
        threads=threads,
        labels=config.labels,
        beside_driver=config.beside_driver,
    )


class _Room:
    """The free resources of every node."""

    def __init__(self, nodes: Iterable[Node], driver: str) -> None:
        self._nodes, self._driver = list(nodes), driver
        self._free = {node.id: dict(node.resources) for node in self._nodes}

    def has(self, place: Place) -> bool:
        return bool(self._candidates(place))

    def take(self, place: Place) -> Place:
        """Return `place` with the node it gets: the one with most CPUs left, those with a GPU last if it wants none."""
        candidates = self._candidates(place)
        if not candidates:
            free = "the driver's node does not have" if place.beside_driver else "no node has"
            raise ConfigError(
                f"cluster.{place.role} needs {place}, but {free} that much free; nodes: {self}; lower it or add such a "
                "node"
            )
        best = max(candidates, key=lambda node: (not self._spared(node, place), self._free[node.id].get("CPU", 0.0)))
        for name, amount in place.request.items():
            self._free[best.id][name] -= amount
        return dataclasses.replace(place, node=best.id)

    def _candidates(self, place: Place) -> list[Node]:
        nodes = [node for node in self._nodes if node.id == self._driver or not place.beside_driver]
        return [node for node in nodes if place.fits(node, self._free[node.id])]

    def _spared(self, node: Node, place: Place) -> bool:
        return bool(node.resources.get("GPU")) and "GPU" not in place.request

    def __str__(self) -> str:
        return "; ".join(map(str, self._nodes)) or "none"


def _written(resources: Mapping[str, float], between: str = " ") -> str:
    named = {key: amount for key, amount in resources.items() if not key.startswith(OF_RAY_ITSELF)}
    return between.join(f"{amount:g} {name}" for name, amount in sorted(named.items()))
