"""What the process of a role begins with: at a resume, and when Ray has started it again after a death.

The run's folder is on the driver's node alone, so a role on another node reads it through a task there.  Everything
here is passed to the roles and called in their processes.
"""

from __future__ import annotations

import functools
import logging
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray import cloudpickle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from reversi.errors import UnreachableError
from reversi.model.registry import Registry
from scripts.run.folder import checkpoints_in, init_of, newest_whole

log = logging.getLogger(__name__)

REGISTRY_RETRY_S = 10.0
"""Seconds between two attempts to read a registry that cannot be reached."""


class OnDriverNode:
    """A function that runs on the node of the process that made this, whichever node calls it."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function, self._node = function, ray.get_runtime_context().get_node_id()

    def __call__(self) -> Any:
        """Call the function, here if this is the node, else in a task that reserves nothing."""
        if ray.get_runtime_context().get_node_id() == self._node:
            return self._function()
        there = NodeAffinitySchedulingStrategy(self._node, soft=False)
        return ray.get(ray.remote(num_cpus=0)(_called).options(scheduling_strategy=there).remote(self._function))


class Held:
    """An argument of an actor that arrives there as `value`, with handles and references that this process holds.

    Without this Ray prints an error at every start, that an actor whose arguments are lost could not be started again.
    """

    def __init__(self, value: Any) -> None:
        self._data = cloudpickle.dumps(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return cloudpickle.loads, (self._data,)


def restarted() -> bool:
    """Return whether Ray has started this actor's process again after a death."""
    return bool(ray.get_runtime_context().was_current_actor_reconstructed)


def saved_state(folder: Path, role: str) -> Callable[[], bytes | None]:
    """Return a function that reads a role's state in the newest whole checkpoint in `folder`; None if it has none."""
    return OnDriverNode(functools.partial(_saved, folder, f"{role}.safetensors"))


def initial_weights(folder: Path) -> Callable[[], bytes | None]:
    """Return a function that reads the weights with which the run in `folder` began; None if it began from nothing."""
    return OnDriverNode(functools.partial(init_of, folder))


def saved_games(folder: Path, role: str) -> Callable[[], bytes | None]:
    """Return the same for an actor, which begins new games after a death: its deliveries since were counted already."""
    return functools.partial(_unless_restarted, saved_state(folder, role))


def nothing_saved() -> None:
    """Stand for the state of an actor that joins a run."""


def incarnation(first: int) -> int:
    """Return the number of this actor's process: `first`, or after a death one that no other process has."""
    return 1 << 62 | secrets.randbits(62) if restarted() else first


def newest_version(url: str) -> Callable[[], int]:
    """Return a function that reads the highest version in a registry, -1 if it is empty, as soon as it is reachable."""
    return OnDriverNode(functools.partial(_newest_version, url))


def _called(function: Callable[[], Any]) -> Any:
    return function()


def _saved(folder: Path, file: str) -> bytes | None:
    return newest_whole(folder, file).get(file) if checkpoints_in(folder) else None


def _unless_restarted(saved: Callable[[], bytes | None]) -> bytes | None:
    return None if restarted() else saved()


def _newest_version(url: str) -> int:
    while True:
        try:
            return max((model.version for model in Registry(url, create=True).models()), default=-1)
        except UnreachableError as error:
            log.warning("the newest version is not known, tried again until it is: %s", error)
            time.sleep(REGISTRY_RETRY_S)
