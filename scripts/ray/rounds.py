"""Which roles get their next round, which actors join and leave, as `reversi scale` asks, and which are waited for."""

from __future__ import annotations

import functools
import logging
from typing import Any

from scripts.ray.actor_pool import Parts
from scripts.ray.clock import Clock
from scripts.ray.health import REPORT_EVERY_S
from scripts.ray.role import Role
from scripts.ray.supervisor import Supervisor
from scripts.run.control import TargetWatcher
from scripts.run.session import Session

log = logging.getLogger(__name__)

CHECK_EVERY_S = 1.0
"""Seconds between two checks of the target that `reversi scale` sets."""

LATE_S = 5.0
"""An actor is late after this many seconds without an answer, and after twice the usual time of a round.  Checkpoints
and the end of the run do not wait for a late actor."""

RELEASE_GRACE_S = 2.0
"""No actor is late within this many seconds of a release of the waits for room in the replay: it may have waited."""


class Rounds:
    """Starts the rounds of a run; every role has one at a time."""

    def __init__(
        self, session: Session, parts: Parts, supervisor: Supervisor, watcher: TargetWatcher, clock: Clock
    ) -> None:
        self._session, self._parts, self._supervisor, self._clock = session, parts, supervisor, clock
        self._watcher, self._last_check_at = watcher, float("-inf")
        self._last_release_at = float("-inf")

    def start_next(self, *, play: bool = True) -> None:
        """Start the next round of every idle role while the run continues, of actors only if `play`; actors that are
        leaving get none."""
        parts, now, goes_on = self._parts, self._clock.monotonic(), self._session.goes_on
        self._remove_idle_leavers()
        if play and goes_on and self._session.plays_on:
            for role in parts.actors.members:
                if role.idle and not role.leaving:
                    self._supervisor.start_round(role)
        if parts.learner.idle and goes_on:
            self._supervisor.start_round(parts.learner)
        if parts.gate.idle:
            self._supervisor.start_round(parts.gate)
        for role in (parts.replay, parts.weights):
            if role.idle and (not role.up or now - role.last_call_at >= REPORT_EVERY_S):
                self._supervisor.start_round(role)

    def note_release(self) -> None:
        """Note that the replay lets go the actors that wait there for room."""
        self._last_release_at = self._clock.monotonic()

    def actors_playing(self) -> list[Role]:
        """Return the actors whose round is in progress and not late."""
        late_s, now = max(LATE_S, 2 * self._parts.actors.median_playing_s), self._clock.monotonic()
        grace_until = self._last_release_at + RELEASE_GRACE_S
        return [
            role
            for role in self._parts.actors.members
            if role.up and role.busy and not role.leaving and now <= max(role.last_call_at + late_s, grace_until)
        ]

    def check_target(self) -> None:
        """Check the target from time to time; start new actors, or mark others as leaving."""
        if self._clock.monotonic() - self._last_check_at < CHECK_EVERY_S:
            return
        self._last_check_at = self._clock.monotonic()
        if (target := self._watcher.changed()) is None:
            return
        pool = self._parts.actors
        pool.target |= target
        for role in pool.grow():
            log.info("%s joins", role.name)
            self._supervisor.start(role)
        for role in pool.shrink():
            log.info("%s is to leave after its round", role.name)
            if not role.up:
                self._remove(role)

    def _remove_idle_leavers(self) -> None:
        """Remove the leaving actors whose last round has ended, once everything that they delivered is stored."""
        for role in self._parts.actors.members:
            if role.idle and role.leaving:
                self._supervisor.request(role, "settled", functools.partial(self._remove, role))

    def _remove(self, role: Role, _: Any = None) -> None:
        abandoned = role.games if role.was_up or role.resumes else 0
        self._supervisor.remove_actor(role)
        log.info("%s has left; its %d games in progress are abandoned", role.name, abandoned)
