"""The roles of a run on Ray: the state of each, its process, and how to end that process."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from scripts.ray.restart_policy import RestartPolicy

if TYPE_CHECKING:
    from scripts.ray.actor_pool import ActorPool


@dataclass(frozen=True, kw_only=True)
class Process:
    """The process of a role, as reported by itself."""

    pid: int
    node: str
    rss_mb: float


@dataclass(eq=False)
class Role:
    """One remote part: how to start it, how to start a round, what receives its report, and its state."""

    name: str
    start: Callable[[], Any]
    """Starts a process and returns its handle; an actor gets a new producer name each time."""
    start_round: Callable[[Any], Any]
    """Starts a round on a handle and returns the reference to its report."""
    on_report: Callable[[Any], None]
    """Receives the report."""
    restart_policy: RestartPolicy
    """Counts its deaths and decides when it restarts."""
    by_ray: bool = False
    """Whether Ray restarts it, under the same handle."""
    group: str | None = None
    """Group of an actor; None for the other roles."""
    games: int = 0
    """Games that an actor has in progress at any time."""
    handle: Any = None
    """None before its first start, while it is dead, and once it has left."""
    restarts: int = 0
    """Restarts after deaths."""
    up: bool = False
    """Whether it has answered since its last start."""
    was_up: bool = False
    """Whether it has ever answered."""
    restart_at: float | None = None
    """When to restart it (monotonic clock, as for all times here); None unless it is dead."""
    cut_off: bool = False
    """Whether this actor could not reach the Redis server when it last delivered games."""
    leaving: bool = False
    """Whether it is a surplus actor whose current round is its last."""
    saved: bytes | None = None
    """State to restore it from, until its first round is started."""
    calls: int = 0
    """Calls in flight."""
    last_call_at: float = 0.0
    """When the last call was made."""
    playing_s: float = 0.0
    """Seconds of play in an actor's last round, without waiting for the replay."""
    process: Process | None = None
    """Its process as last reported; None before the first report and after a death."""
    last_measured_at: float = 0.0
    """When that report was requested."""

    @property
    def given_up(self) -> bool:
        """Whether it is dead and is not restarted."""
        return self.handle is None and self.restart_at is None

    @property
    def idle(self) -> bool:
        """Whether it has a process and no call in flight."""
        return self.handle is not None and self.calls == 0

    @property
    def free(self) -> bool:
        """Whether it is up and idle."""
        return self.up and self.idle

    def clear_process(self, restart_at: float | None = None) -> None:
        """Note that its process is gone; another one starts at `restart_at`, or none."""
        self.handle, self.process, self.up, self.calls, self.restart_at = None, None, False, 0, restart_at


@dataclass(frozen=True)
class Parts:
    """The roles of a run."""

    learner: Role
    gate: Role
    actors: ActorPool
    replay: Role
    weights: Role
    stateless: bool
    """Whether resumed actors begin new games, under new producer names, instead of restoring a state: over Redis."""

    @property
    def all(self) -> tuple[Role, ...]:
        """Every role."""
        return (self.learner, self.gate, *self.actors.members, self.replay, self.weights)


def measure_process(handle: Any) -> Any:
    """Request a role's process, node and memory."""
    return handle.__ray_call__.remote(_process)


def _process(part: object) -> Process:
    node = ray.get_runtime_context().get_node_id()
    return Process(pid=os.getpid(), node=node, rss_mb=psutil.Process().memory_info().rss / (1 << 20))


def end_process(role: Role) -> None:
    """Kill the process of a role.  `ray.kill` asks the process to exit, which a stopped process cannot do."""
    if role.process is None:
        ray.kill(role.handle, no_restart=not role.by_ray)
    elif role.process.node == ray.get_runtime_context().get_node_id():
        _end(role.process.pid)
    else:
        there = NodeAffinitySchedulingStrategy(role.process.node, soft=False)
        ray.remote(num_cpus=0)(_end).options(scheduling_strategy=there).remote(role.process.pid)


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
