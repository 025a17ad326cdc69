"""Which roles get their next round, and which actors' rounds are in progress and worth waiting for."""

from __future__ import annotations

import time

from scripts.ray.health import REPORT_EVERY_S
from scripts.ray.roles import Parts, Role
from scripts.ray.scaling import ActorScaling
from scripts.ray.supervisor import Supervisor
from scripts.run.session import Session

LATE_S = 5.0
"""An actor is late after this many seconds without an answer, and after twice the usual time of a round.  Checkpoints
and the end of the run do not wait for a late actor."""

RELEASE_GRACE_S = 2.0
"""No actor is late within this many seconds of a release of the waits for room in the replay: it may have waited."""


class Rounds:
    """Starts the rounds of a run; every role has one at a time."""

    def __init__(self, session: Session, parts: Parts, supervisor: Supervisor, scaling: ActorScaling) -> None:
        self._session, self._parts, self._supervisor, self._scaling = session, parts, supervisor, scaling
        self._last_release_at = float("-inf")

    def start_next(self, *, play: bool = True) -> None:
        """Start the next round of every idle role while the run continues, of actors only if `play`; actors that are
        leaving get none."""
        parts, now, goes_on = self._parts, time.monotonic(), self._session.goes_on
        self._scaling.remove_idle_leavers()
        if play and goes_on and self._session.plays_on:
            for role in parts.actors.members:
                if role.idle and not role.leaving:
                    self._supervisor.start_round(role)
        if parts.learner.idle and goes_on:
            self._supervisor.start_round(parts.learner)
        if parts.gate.idle:
            self._supervisor.start_round(parts.gate)
        for role in (parts.replay, parts.weights):
            if role.idle and now - role.last_call_at >= REPORT_EVERY_S:
                self._supervisor.start_round(role)

    def note_release(self) -> None:
        """Note that the replay lets go the actors that wait there for room."""
        self._last_release_at = time.monotonic()

    def actors_playing(self) -> list[Role]:
        """Return the actors whose round is in progress and not late."""
        late_s, now = max(LATE_S, 2 * self._parts.actors.median_playing_s), time.monotonic()
        grace_until = self._last_release_at + RELEASE_GRACE_S
        return [
            role
            for role in self._parts.actors.members
            if role.up and role.calls and not role.leaving and now <= max(role.last_call_at + late_s, grace_until)
        ]
