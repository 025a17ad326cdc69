"""Kills the roles that have not answered for too long."""

from __future__ import annotations

import logging
import time

from learner.replay.transport import ReplayReport
from scripts.ray.calls import PendingCalls
from scripts.ray.lifecycle import START_S
from scripts.ray.roles import Role, end_process

log = logging.getLogger(__name__)


class Watchdog:
    """Kills stalled roles; their calls then fail as after any death."""

    def __init__(self, stall_s: float, bucket_capacity: float) -> None:
        """`stall_s` without an answer is a stall; with `bucket_capacity` tokens the replay is full, and actors wait."""
        self._stall_s, self._bucket_capacity = stall_s, bucket_capacity
        self._last_full_at = time.monotonic()

    def kill_stalled(self, calls: PendingCalls, replay: ReplayReport | None) -> None:
        """Kill the roles with a call that has been in flight for too long.

        Actors do not count as stalled while the replay, by its last report, is full or its server cannot write: they
        wait for the learner, or for a disk.
        """
        now = time.monotonic()
        if replay and (replay.tokens >= self._bucket_capacity or not replay.server_writes):
            self._last_full_at = now
        for role, unanswered_s in self._unanswered_s(calls, now).items():
            if unanswered_s < (self._stall_s if role.up else max(self._stall_s, START_S)):
                continue
            if not role.up and role.group is not None:
                continue  # it waits for a node with room; the others continue
            log.error("%s has not answered for %.0f s and is killed", role.name, unanswered_s)
            for call in calls:
                if call.role is role:
                    call.began = now  # it takes a moment until its death arrives
            end_process(role)

    def _unanswered_s(self, calls: PendingCalls, now: float) -> dict[Role, float]:
        """Return the age of the oldest call of each role to its current process."""
        oldest_s: dict[Role, float] = {}
        for call in calls:
            if call.is_current:  # else the called process is gone, and its successor has no call
                since = call.began if call.role.group is None else max(call.began, self._last_full_at)
                oldest_s[call.role] = max(oldest_s.get(call.role, 0.0), now - since)
        return oldest_s
