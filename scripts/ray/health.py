"""The health of a run's roles: measurements of their processes, and the reports for the dashboard and the metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import psutil
import ray
from ray.exceptions import RayError

from scripts.ray.cluster import object_store_mb
from scripts.ray.roles import Parts, Process, Role, measure_process
from scripts.run.progress import Progress
from scripts.run.reports import HealthReport, MemoryReport

REPORT_EVERY_S = 1.0
"""Seconds between two reports of health, and of the replay; without a pause the replay's alone took a whole core."""

MEASURE_EVERY_S = 10.0
"""Seconds between two measurements of a role's process and memory."""


class ProcessMonitor:
    """Measures the processes of the roles, and detects by them which role Ray has restarted."""

    def __init__(self) -> None:
        self._pending: dict[Any, tuple[Role, Any]] = {}

    def request(self, role: Role) -> None:
        """Ask a role for its process and memory, if the last measurement is old enough; call it for an idle role."""
        now = time.monotonic()
        every_s = REPORT_EVERY_S if role.by_ray else MEASURE_EVERY_S
        if now - role.last_measured_at >= every_s and not any(role is pending for pending, _ in self._pending.values()):
            role.last_measured_at = now
            self._pending[measure_process(role.handle)] = (role, role.handle)

    def collect(self) -> list[Role]:
        """Take the measurements that have arrived; return the roles that Ray has restarted since their last one."""
        restarted: list[Role] = []
        if not self._pending:
            return restarted
        done, _ = ray.wait(list(self._pending), num_returns=len(self._pending), timeout=0)
        for reference in done:
            role, handle = self._pending.pop(reference)
            if role.handle is not handle:
                continue  # about a process that no longer exists
            with contextlib.suppress(RayError):  # its death is handled with its round
                process: Process = ray.get(reference)
                if role.by_ray and role.process is not None and role.process.pid != process.pid:
                    restarted.append(role)
                role.process = process
        return restarted


class HealthReporter:
    """Reports the health of the roles and the memory of the driver to `progress`."""

    def __init__(self, parts: Parts, progress: Progress) -> None:
        self._parts, self._progress = parts, progress
        self._last_health_at = self._last_memory_at = float("-inf")

    def report_due(self) -> None:
        """Make the reports whose time has come."""
        now = time.monotonic()
        if now - self._last_health_at >= REPORT_EVERY_S:
            self._last_health_at = now
            self._progress.health(health_of(self._parts))
        if now - self._last_memory_at >= MEASURE_EVERY_S:
            self._last_memory_at = now
            rss_mb = psutil.Process().memory_info().rss / (1 << 20)
            self._progress.memory(MemoryReport(driver_mb=rss_mb, object_store_mb=object_store_mb()))


def health_of(parts: Parts) -> dict[str, HealthReport]:
    """Return the health of each role; all actors are one entry, as there may be a thousand."""
    groups: dict[str, Sequence[Role]] = {
        role.name: [role] for role in (parts.learner, parts.gate, parts.replay, parts.weights)
    }
    now = time.monotonic()
    return {
        name: HealthReport(
            alive=sum(role.up for role in roles),
            wanted=parts.actors.wanted if name == "actors" else 1,
            restarts=sum(role.restarts for role in roles),
            pending_s=max((now - role.last_call_at for role in roles if role.calls), default=0.0),
            rss_mb=sum(role.process.rss_mb for role in roles if role.process is not None),
        )
        for name, roles in (groups | {"actors": parts.actors.members}).items()
    }
