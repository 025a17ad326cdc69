"""What the driver asks of Ray about an actor: calls and their answers, its process, and the end of that."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Sequence
from typing import Any

import psutil
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from scripts.ray.cluster import object_store_mb
from scripts.ray.role import Process

TOKEN = secrets.token_hex(8)
"""Tells this process from every other."""


class ActorCalls:
    """Calls to the actors of a run; one fails with the process that it was made to, and Ray does not repeat it."""

    def call(self, handle: Any, method: str, *arguments: Any) -> Any:
        """Call a method; return the reference to its answer."""
        return getattr(handle, method).options(max_task_retries=0).remote(*arguments)

    def measure(self, handle: Any) -> Any:
        """Request a report of an actor's process; return the reference to it."""
        return handle.__ray_call__.options(max_task_retries=0).remote(_measured)

    def wait(self, references: Sequence[Any], timeout_s: float) -> list[Any]:
        """Return the references whose answers arrive within `timeout_s`, at once if there are some."""
        done, rest = ray.wait(list(references), num_returns=1, timeout=timeout_s)
        if done and rest:
            done += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        return list(done)

    def answer(self, reference: Any) -> Any:
        """Return the answer to a call that `wait` has returned, or raise the RayError by which it failed."""
        return ray.get(reference)

    def kill(self, handle: Any, process: Process | None) -> None:
        """Kill an actor's process; Ray starts another one.

        `ray.kill` asks the process to exit, which a stopped process cannot do.
        """
        if process is None:
            ray.kill(handle, no_restart=False)
        elif process.node == ray.get_runtime_context().get_node_id():
            _kill(process.pid)
        else:
            there = NodeAffinitySchedulingStrategy(process.node, soft=False)
            ray.remote(num_cpus=0)(_kill).options(scheduling_strategy=there).remote(process.pid)

    def end(self, handle: Any, process: Process | None) -> None:
        """End an actor for good.

        Ray would ask a process without handles to exit by itself, but some hang while they do and never end.
        """
        ray.kill(handle)
        if process is not None:
            self.kill(handle, process)

    def object_store_mb(self) -> float:
        """Return how much of the object stores is used, in MB, all nodes together."""
        return object_store_mb()


def measure_process(handle: Any) -> Any:
    """Request a report of an actor's process; return the reference to it."""
    return ActorCalls().measure(handle)


def _measured(part: object) -> Process:
    node, rss_mb = ray.get_runtime_context().get_node_id(), psutil.Process().memory_info().rss / (1 << 20)
    return Process(pid=os.getpid(), node=node, token=TOKEN, rss_mb=rss_mb)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
