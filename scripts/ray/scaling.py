"""Actors that join and leave a run while it trains, as `reversi scale` asks."""

from __future__ import annotations

import functools
import logging
import time
from typing import Any

from scripts.ray.actor_pool import ActorPool
from scripts.ray.roles import Role
from scripts.ray.supervisor import Supervisor
from scripts.run.control import TargetWatcher

log = logging.getLogger(__name__)

CHECK_EVERY_S = 1.0
"""Seconds between two checks of the target that `reversi scale` sets."""


class ActorScaling:
    """Makes the actors of a run as many as their target says."""

    def __init__(self, pool: ActorPool, watcher: TargetWatcher, supervisor: Supervisor) -> None:
        self._pool, self._watcher, self._supervisor = pool, watcher, supervisor
        self._last_check_at = float("-inf")

    def check_target(self) -> None:
        """Check the target from time to time; start new actors, or mark others as leaving."""
        if time.monotonic() - self._last_check_at < CHECK_EVERY_S:
            return
        self._last_check_at = time.monotonic()
        if (target := self._watcher.changed()) is None:
            return
        self._pool.target |= target
        for role in self._pool.grow():
            log.info("%s joins", role.name)
            self._supervisor.start(role)
        for role in self._pool.shrink():
            log.info("%s is to leave after its round", role.name)
            if not role.up:
                self._remove(role)

    def remove_idle_leavers(self) -> None:
        """Remove the leaving actors whose last round has ended, once everything that they delivered is stored."""
        for role in self._pool.members:
            if role.idle and role.leaving:
                self._supervisor.call(role, role.handle.settled.remote(), functools.partial(self._remove, role))

    def _remove(self, role: Role, _: Any = None) -> None:
        abandoned = role.games if role.up or role.saved is not None else 0
        self._supervisor.remove_actor(role)
        log.info("%s has left; its %d games in progress are abandoned", role.name, abandoned)
