"""Ray itself: start it or join a cluster, and place the roles on its nodes; every failure is a one-line error."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from reversi.capacity import cores
from reversi.errors import ConfigError, RunError, UnreachableError, first_line
from reversi.temporary import private_folder
from scripts.config.cluster import ClusterConfig, LocalClusterConfig, RayClusterConfig
from scripts.config.job import JobConfig
from scripts.ray.environment import at_home, home_in, in_job
from scripts.ray.placement import Node, Place, Placement, cluster_placement, local_placement, places_to_request
from scripts.run.processes import children, kill

POLL_S = 1.0
"""Seconds between two checks of a cluster that has no room yet."""

STARTS = 3
"""Attempts to start Ray on this machine before the run gives up."""

TOO_LATE = "timed out during startup"
"""Part of Ray's message when a busy machine did not start it within 30 s, which cannot be changed."""

OF_THE_GROUP = {signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP}
"""Signals that terminals, `timeout` and service managers send to every process of a run; SIGINT is blocked by Ray."""

RAYLET = "/raylet/raylet "
"""Part of the command line of Ray's process for this machine, the parent of its workers."""

GONE_S = 2.0
"""Longest wait for killed processes of Ray, which could still write into the folder that is removed next."""

AVAILABLE = 0.999
"""Share of a resource that counts as all of it, as Ray rounds its sums."""


OUR_CODE = Path(__file__).absolute().parents[2]
"""The folder with this code."""


@contextmanager
def ray_of(config: ClusterConfig) -> Iterator[None]:
    """Start Ray on this machine, or join the cluster at `cluster.address`; end or leave it afterwards."""
    own = private_folder() if isinstance(config, LocalClusterConfig) else nullcontext()
    with own as folder, _connected(config, folder):
        yield


@contextmanager
def _connected(config: ClusterConfig, folder: Path | None) -> Iterator[None]:
    """Start Ray here, with its sockets, files and home in this folder, or join a cluster; end or leave it afterwards.

    The processes of a Ray that ends are killed: they have nothing left to do, and workers need up to 3 s to exit, on
    which some crash or hang for ever, with all their memory (a destructor of Ray 2.60 posts to an event loop that is
    gone). The raylet outlives our connection to it: without one Ray ends a process whose parent is gone, such as a run
    that was left in the background. `scripts/ray/environment.py` must have prepared the process. A plain `ray.init()`
    would join, or hang on, any Ray that was left behind on the machine.

    Ray lets workers import from the folder in which the driver is then, before all others: that is the one with our
    code, and not the user's, where a folder `learner` or another version of this program may be.  It is also the folder
    in which the roles are, so that paths in a job must be absolute.
    """
    where = _local(config, folder) if isinstance(config, LocalClusterConfig) else _joined(config)
    place = "this machine" if isinstance(config, LocalClusterConfig) else f"cluster.address={config.address}"
    others = set(_children())
    try:
        with _own_signals(), _in_folder(OUR_CODE), at_home(home_in(folder)) if folder else nullcontext():
            _init(where, STARTS if folder else 1)
    except Exception as error:  # of a start that takes too long Ray says no more than that
        token = "; is the token right?" if isinstance(config, RayClusterConfig) else ""
        raise UnreachableError(f"cannot use Ray at {place}: {first_line(error)}{token}") from error
    try:
        yield
    finally:
        started = [child for child in children(os.getpid()) if child[0] not in others]
        if isinstance(config, LocalClusterConfig):
            kill(child for child, title in started if RAYLET not in title)
        with _own_signals():
            ray.shutdown()
        if isinstance(config, LocalClusterConfig):
            kill(child for child, _ in started)
            psutil.wait_procs([child for child, _ in started], timeout=GONE_S)


def placement_of(job: JobConfig, given_up: Callable[[], bool]) -> Placement:
    """Lay the job out on the Ray that was joined, waiting `cluster.start_timeout_s` for nodes that are still starting.

    An autoscaler is asked for the nodes, as nothing is started that would make it add any.

    given_up  asked every second; once true the last complaint is raised
    """
    if isinstance(job.cluster, LocalClusterConfig):
        resources = ray.cluster_resources()
        return local_placement(job, int(resources.get("GPU", 0)))
    driver = ray.get_runtime_context().get_node_id()
    deadline, announced = time.monotonic() + job.cluster.start_timeout_s, False
    while True:
        try:
            placement = cluster_placement(job, nodes(), driver)
            _check_available(placement)
            if announced:
                _request([])
            return placement
        except ConfigError as error:
            if given_up() or time.monotonic() >= deadline:
                if announced:
                    _request([])
                raise
            if not announced:
                _request(places_to_request(job))
                print(f"waiting {job.cluster.start_timeout_s:g} s for nodes: {error}", file=sys.stderr, flush=True)
                announced = True
        time.sleep(POLL_S)


def nodes() -> list[Node]:
    """Return the nodes of the cluster that are alive, the head first."""
    alive = [
        Node(
            id=node["NodeID"],
            name=node["NodeManagerHostname"],
            resources=node["Resources"],
            labels=node.get("Labels") or {},
        )
        for node in ray.nodes()
        if node["Alive"]
    ]
    return sorted(alive, key=lambda node: "node:__internal_head__" not in node.resources)


def object_store_mb() -> float:
    """Return how much of the object stores is used, in MB, all nodes together; two questions to the head, 1 ms."""
    name = "object_store_memory"
    used: float = ray.cluster_resources().get(name, 0.0) - ray.available_resources().get(name, 0.0)
    return max(0.0, used) / (1 << 20)


def options(place: Place) -> dict[str, Any]:
    """Return Ray's options for a process at `place`, the threads of every library in it included.

    Ray would set OMP_NUM_THREADS itself.  A process without a share of a GPU does not see any: Ray hides it.
    """
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    request = dict(place.request)
    chosen: dict[str, Any] = {
        "num_cpus": request.pop("CPU", 0.0),
        "num_gpus": request.pop("GPU", 0.0),
        "runtime_env": {"env_vars": dict.fromkeys(names, str(place.threads))},
    }
    if request:
        chosen["resources"] = request
    if place.labels:
        chosen["label_selector"] = dict(place.labels)
    if place.node is not None:
        chosen["scheduling_strategy"] = NodeAffinitySchedulingStrategy(place.node, soft=not place.beside_driver)
    return chosen


def _init(where: dict[str, Any], starts: int) -> None:
    """Connect to Ray; a local Ray that was not up in time is ended and started again, at most `starts` times in all."""
    for left in reversed(range(starts)):
        before = set(_children())
        try:
            ray.init(**where, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
            return
        except SystemExit as error:  # by Ray's handler of a SIGTERM that came to another thread than this one
            raise KeyboardInterrupt from error
        except Exception as error:
            if TOO_LATE not in str(error) or not left:
                raise
        ray.shutdown()
        kill(child for child in _children() if child not in before)
        print("Ray was not up within its 30 s on this busy machine; starting it again", file=sys.stderr, flush=True)


def _children() -> list[psutil.Process]:
    return [child for child, _ in children(os.getpid())]


def _local(config: LocalClusterConfig, folder: Path | None) -> dict[str, Any]:
    return {
        "address": "local",
        "_temp_dir": str(folder),
        "num_cpus": cores(),
        "include_dashboard": False,
        "object_store_memory": config.object_store_mb << 20,
        "runtime_env": {"env_vars": {"HOME": home} if os.path.isabs(home := os.path.expanduser("~")) else {}},
    }


def _joined(config: RayClusterConfig) -> dict[str, Any]:
    address = os.environ.get("RAY_ADDRESS", "") if config.address == "auto" else config.address
    if not address:  # Ray's own "auto" takes any Ray that runs on the machine, whosever it is
        raise ConfigError(
            "cluster.address=auto is for jobs on a cluster, which have RAY_ADDRESS; submit one by `reversi launch`, or "
            "name the head, as in cluster.address=HOST:6379"
        )
    _check_reachable(address)
    settings: dict[str, Any] = {"address": address, "namespace": config.namespace}
    if not in_job() and config.env_vars:
        settings["runtime_env"] = {"env_vars": config.env_vars}
    return settings


def _request(places: Sequence[Place]) -> None:
    """Ask the cluster's autoscaler, if it has one, for room for these places, until the next call."""
    from ray.autoscaler.sdk import request_resources

    wanted = [place for place in places if place.request]
    request_resources(
        bundles=[dict(place.request) for place in wanted],
        bundle_label_selectors=[dict(place.labels) for place in wanted],
    )


def _check_available(placement: Placement) -> None:
    """Raise ConfigError for a layout that fits the nodes, but not next to what other jobs have reserved there."""
    free = ray.available_resources()
    wanted: dict[str, float] = {}
    places = (placement.replay, placement.weights, placement.gate, placement.learner)
    for place in (*places, *(actor.place for actor in placement.actors)):
        for name, amount in place.request.items():
            wanted[name] = wanted.get(name, 0.0) + amount
    for name, amount in wanted.items():
        if free.get(name, 0.0) < AVAILABLE * amount:
            raise ConfigError(
                f"the run wants {amount:g} {name} of the cluster and {free.get(name, 0.0):g} are free, as other jobs "
                f"hold the rest; stop them or lower cluster.actors"
            )


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    """Let this process be in another folder meanwhile."""
    try:
        before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise RunError(f"cannot be in the current folder: {error.strerror}; go to another one") from error
    os.chdir(folder)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our signal handlers, and block signals to the run's whole group in the processes that are started meanwhile.

    Ray's own handler of SIGTERM ends this process, and the signal ends Ray's processes, before anything is saved.
    Blocked signals stay blocked in those processes, and come to this one as soon as its handlers are back.  Without
    their parent Ray's processes end in any case.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, OF_THE_GROUP)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_reachable(address: str) -> None:
    """Raise UnreachableError within seconds where `ray.init` would wait minutes for a cluster that is gone."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except (OSError, ValueError) as error:
        raise UnreachableError(
            f"no Ray answers at cluster.address={address} ({error}); start one, or take cluster=local"
        ) from error
