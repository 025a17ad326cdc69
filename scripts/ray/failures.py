"""What a call that failed says about its role, and what follows: a restart, a pause, or the end of the run."""

from __future__ import annotations

import logging
import time
from typing import Any

from ray.exceptions import ActorUnavailableError, RayActorError, RayError, RayTaskError

from reversi.errors import ReversiError, UnreachableError
from scripts.ray.calls import Call, CallKind
from scripts.ray.lifecycle import Lifecycle, last_sentence
from scripts.ray.roles import Parts, Role, end_process

log = logging.getLogger(__name__)

UNREACHABLE_RETRY_S = 1.0
"""Seconds after which an unreachable actor is called again."""


class FailureHandler:
    """Decides whether a role of a failed call has died, is unreachable, or has only lost an answer."""

    def __init__(self, parts: Parts, lifecycle: Lifecycle) -> None:
        self._parts, self._lifecycle = parts, lifecycle
        self.tolerant = False
        """Whether failures of actors, and of the last rounds of others, are only logged: the run is being saved after
        an error, and they must not prevent that."""
        self._unreachable: dict[Role, tuple[Any, float]] = {}

    def handle(self, call: Call, error: RayError) -> None:
        """Handle a call that failed with `error`; raises the error if it ends the run."""
        role, cause = call.role, error.cause if isinstance(error, RayTaskError) else None
        if self.tolerant and role.group is not None:
            log.error("%s failed while the run ends: %s", role.name, error)
            role.clear_process()
        elif isinstance(cause, ReversiError):
            self._reported(call, cause)
        else:
            self._unanswered(call, error)

    def retry_unreachable(self) -> None:
        """Allow calls again to actors that were unreachable `UNREACHABLE_RETRY_S` ago."""
        for role, (handle, retry_at) in list(self._unreachable.items()):
            if time.monotonic() >= retry_at:
                del self._unreachable[role]
                role.calls -= role.handle is handle  # else it has left or died

    def _reported(self, call: Call, error: ReversiError) -> None:
        """Raise an error that a role reports, as a restart would not mend it: it ends the run.

        It does not if the run is ending, or if other actors can reach the server that this one cannot.
        """
        if self.tolerant and call.kind is CallKind.ROUND:
            log.error("the last round of the %s failed: %s", call.role.name, error)
        elif isinstance(error, UnreachableError) and call.role.group is not None:
            self._lost_server(call.role, error)
        else:
            raise error from None

    def _unanswered(self, call: Call, error: RayError) -> None:
        """See what has become of a role: it has died, its machine is unreachable, or only the answer is lost."""
        role, is_death = call.role, isinstance(error, RayActorError | RayTaskError)
        if isinstance(error, ActorUnavailableError) and role.group is not None and call.kind is not CallKind.RESTORE:
            self._pause(role, error)
        elif role.by_ray and not is_death:  # it was lost with a node: Ray has restarted the process elsewhere
            log.error("an answer of the %s is lost", role.name, exc_info=error)
        else:
            if not is_death and not role.leaving:
                end_process(role)
            self._lifecycle.on_death(role, error)

    def _pause(self, role: Role, error: RayError) -> None:
        """Pause calls to an actor whose machine cannot be reached: it may still be alive, with its games in progress.

        The call or its answer is lost; as after a death, what that round delivered still counts in the replay.  If the
        machine stays unreachable Ray declares it dead, and the next answer is a death.
        """
        if role.up:
            log.warning("%s cannot be reached, and is called until Ray drops it: %s", role.name, last_sentence(error))
        role.up, role.calls = False, role.calls + 1
        self._unreachable[role] = role.handle, time.monotonic() + UNREACHABLE_RETRY_S

    def _lost_server(self, role: Role, error: UnreachableError) -> None:
        """Restart an actor that could not reach Redis, if another one may; else raise `error`.

        One that was never up, as it waits for a node, does not count: it may wait for ever.
        It is a new process under a new producer name, as the server may or may not have the last delivery.
        """
        if role.leaving:
            self._lifecycle.remove_actor(role)
            return
        role.cut_off = True
        if all(each.cut_off or not each.was_up for each in self._parts.actors.members if not each.leaving):
            raise error
        now = time.monotonic()
        pause_s = role.restart_policy.cut_off(now)
        log.error("%s is started again in %.0f s, as others may reach the server: %s", role.name, pause_s, error)
        end_process(role)
        role.clear_process(restart_at=now + pause_s)
