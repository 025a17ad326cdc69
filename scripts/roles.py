"""The roles of a run on Ray: what each is, which process it has, and how that process is ended."""

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

from scripts.restart_policy import RestartPolicy

if TYPE_CHECKING:
    from scripts.actor_pool import ActorPool


@dataclass(frozen=True, kw_only=True)
class Process:
    """Where a role runs, as it says itself."""

    pid: int
    node: str
    rss_mb: float


@dataclass(eq=False)
class Role:
    """One remote part: how to start it, how to ask for a round, what to do with the answer, and how it is."""

    name: str
    start: Callable[[], Any]
    """Starts a process and returns its handle; an actor gets another producer's name each time."""
    ask: Callable[[Any], Any]
    """Begins a round by a handle and returns the reference of its answer."""
    hear: Callable[[Any], None]
    """Takes the answer."""
    restart_policy: RestartPolicy
    """Its deaths, and when it starts again after one."""
    by_ray: bool = False
    """Whether Ray starts it again itself, under the same handle."""
    group: str | None = None
    """Of an actor, the group it belongs to."""
    games: int = 0
    """Of an actor, the games it has in progress at any time."""
    awaited: bool = True
    """Whether the run's clock waits for it: room was found for it before it was started."""
    handle: Any = None
    """None before its first start, while it is dead, and once it has left."""
    restarts: int = 0
    """Deaths that were answered by a new start."""
    up: bool = False
    """Whether it has answered since it was started."""
    due: float | None = None
    """When, by the monotonic clock as all times here, it is to be started again; None unless it is dead."""
    leaving: bool = False
    """Whether it has been dismissed: the round under way is its last one."""
    saved: bytes | None = None
    """What it goes on from, as long as it has not been asked for its first round since."""
    calls: int = 0
    """Calls under way."""
    asked: float = 0.0
    """When the last call was made."""
    took_s: float = 0.0
    """Of an actor, the seconds that its last round played; waiting for the replay is not its own."""
    process: Process | None = None
    """What it said last of its process; None before, and after a death."""
    measured: float = 0.0
    """When it was asked for that."""

    @property
    def idle(self) -> bool:
        """Whether it is there and no call is under way."""
        return self.handle is not None and self.calls == 0

    @property
    def free(self) -> bool:
        """Whether it can be asked: it is up and idle."""
        return self.up and self.idle


@dataclass(frozen=True)
class Parts:
    """The roles of a run."""

    learner: Role
    gate: Role
    actors: ActorPool
    replay: Role
    weights: Role
    stateless: bool
    """Whether actors begin anew instead of going on from a checkpoint: over Redis, under new producers' names."""

    @property
    def all(self) -> tuple[Role, ...]:
        """Every role."""
        return (self.learner, self.gate, *self.actors.members, self.replay, self.weights)


def measured(handle: Any) -> Any:
    """Ask a role which process it is and how large."""
    return handle.__ray_call__.remote(_process)


def _process(part: object) -> Process:
    node = ray.get_runtime_context().get_node_id()
    return Process(pid=os.getpid(), node=node, rss_mb=psutil.Process().memory_info().rss / (1 << 20))


def end_process(role: Role) -> None:
    """End the process of a role.  Ray's own way asks the process, which one that is stopped does not hear."""
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
