"""The health of a run's roles, reported to the dashboard and the metrics."""

from __future__ import annotations

from collections.abc import Sequence

import psutil

from scripts.ray.actor_calls import ActorCalls
from scripts.ray.actor_pool import Parts
from scripts.ray.clock import Clock
from scripts.ray.role import Role
from scripts.ray.supervisor import MEASURE_EVERY_S, Supervisor
from scripts.run.progress import Progress
from scripts.run.reports import HealthReport, MemoryReport

REPORT_EVERY_S = 1.0
"""Seconds between two reports of health, and of the replay; without a pause the replay's alone took a whole core."""


class HealthReporter:
    """Reports the health of the roles and the memory of the driver to `progress`."""

    def __init__(
        self, parts: Parts, progress: Progress, supervisor: Supervisor, actor_calls: ActorCalls, clock: Clock
    ) -> None:
        self._parts, self._progress, self._ray, self._clock = parts, progress, actor_calls, clock
        self._supervisor = supervisor
        self._last_health_at = self._last_memory_at = float("-inf")

    def report_due(self) -> None:
        """Make the reports whose time has come."""
        now = self._clock.monotonic()
        if now - self._last_health_at >= REPORT_EVERY_S:
            self._last_health_at = now
            self._progress.health(health_of(self._parts, self._supervisor, now))
        if now - self._last_memory_at >= MEASURE_EVERY_S:
            self._last_memory_at = now
            rss_mb = psutil.Process().memory_info().rss / (1 << 20)
            self._progress.memory(MemoryReport(driver_mb=rss_mb, object_store_mb=self._ray.object_store_mb()))


def health_of(parts: Parts, supervisor: Supervisor, now: float) -> dict[str, HealthReport]:
    """Return the health of each role; all actors are one entry, as there may be a thousand."""
    groups: dict[str, Sequence[Role]] = {
        role.name: [role] for role in (parts.learner, parts.gate, parts.replay, parts.weights)
    }
    return {
        name: HealthReport(
            alive=sum(role.up for role in roles),
            wanted=parts.actors.wanted if name == "actors" else 1,
            restarts=sum(role.restarts for role in roles),
            pending_s=max((supervisor.unanswered_s(role, now) for role in roles), default=0.0),
            rss_mb=sum(role.process.rss_mb for role in roles if role.process is not None),
        )
        for name, roles in (groups | {"actors": parts.actors.members}).items()
    }
