"""Starts, restarts and ends the processes of a run's roles.

A role that dies is restarted; its `RestartPolicy` decides when, and when the run gives up.  The replay and the weights
actor are restarted by Ray, under the same handle, so that their callers only wait.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from reversi.errors import RunError, UnreachableError
from scripts.ray.calls import CallKind, PendingCalls
from scripts.ray.roles import Parts, Role, end_process
from scripts.run.folder import newest_whole
from scripts.run.session import Session

log = logging.getLogger(__name__)

START_S = 300.0
"""Longest time in seconds from start to first answer: imports, kernels, CUDA graphs, a node that is still starting."""

RECOVERED = "%s works again"
"""Log message when a restarted role has completed its first round; `tests/faults/drill` waits for it."""


class Lifecycle:
    """The starts, deaths, restarts and ends of the roles' processes."""

    def __init__(self, session: Session, parts: Parts, calls: PendingCalls) -> None:
        self._session, self._parts, self._calls = session, parts, calls

    def start(self, role: Role) -> None:
        """Start a process for a role and restore its saved state, if there is one; the answer to that comes later."""
        role.handle = role.start()
        role.restart_policy.started(time.monotonic())
        if role.saved is not None:
            self._calls.add(role, role.handle.restore.remote(role.saved), _ignore, CallKind.RESTORE)

    def on_up(self, role: Role) -> None:
        """Note that a role has completed its first round since its start."""
        role.up = role.was_up = True
        role.restart_policy.started(time.monotonic())
        if role.restarts:
            log.warning(RECOVERED, role.name)

    def on_death(self, role: Role, error: Exception) -> None:
        """Record a death and schedule the restart; one death too many raises RunError.  A leaving actor just leaves."""
        log.error("%s died", role.name, exc_info=error)
        if role.leaving:
            self.remove_actor(role)
            return
        now = time.monotonic()
        pause_s = None if role.by_ray else role.restart_policy.died(now)
        role.clear_process(restart_at=None if pause_s is None else now + pause_s)
        if pause_s is None:
            deaths = role.restart_policy.deaths
            times = f"{deaths} times, the last time" if deaths > 1 else "and ended the run,"
            raise RunError(f"the {role.name} died {times} by {last_sentence(error)!r}") from error
        if pause_s:
            log.error("%s is started again in %.0f s", role.name, pause_s)

    def start_due(self) -> None:
        """Restart every role whose pause is over.

        The learner and the gate continue from the last checkpoint.  An actor begins new games under a new producer
        name, as its old sequence numbers have been counted already, unless it died before its first round.
        """
        for role in self._parts.all:
            if role.restart_at is None or time.monotonic() < role.restart_at:
                continue
            role.restart_at = None
            self._count_restart(role)
            if role.group is None and self._session.folder.checkpoints():
                saved = f"{role.name}.safetensors"
                role.saved = newest_whole(self._session.folder.path, saved)[saved]
            try:
                self.start(role)
            except UnreachableError as error:  # the registry, which has the number of the learner's next version
                self.on_death(role, error)

    def on_ray_restart(self, role: Role) -> None:
        """Record that Ray has restarted the replay or the weights actor; one death too many raises RunError."""
        self._count_restart(role)
        if role.restart_policy.died(time.monotonic()) is None:
            deaths = role.restart_policy.deaths
            raise RunError(f"the {role.name} died {'once' if deaths == 1 else f'{deaths} times'} within an hour")
        log.error("%s died, and Ray has started it again", role.name)
        log.warning(RECOVERED, role.name)

    def end(self, role: Role) -> None:
        """End the process of a role that is no longer needed and forget its calls.

        Ray would ask a process without handles to exit by itself, but some hang while they do and never end.
        """
        self._calls.forget(role)
        if role.handle is not None:
            end_process(role)
        role.clear_process()

    def remove_actor(self, role: Role) -> None:
        """End an actor for good."""
        self._parts.actors.remove(role)
        self.end(role)

    def _count_restart(self, role: Role) -> None:
        role.restarts += 1
        self._session.progress.restarted()


def _ignore(answer: Any) -> None:
    """Ignore the answer of a restore: the role is idle again."""


def last_sentence(error: Exception) -> str:
    """Return the first sentence of the last line of a message; the log has the rest of Ray's message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().split(". ")[0]
