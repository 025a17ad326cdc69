"""The child processes of a process, Ray's included: list them, measure their memory, kill them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil


def children(pid: int) -> list[tuple[psutil.Process, str]]:
    """Return every living process below `pid` with its command line; Ray names its own after their classes."""
    living = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.status() != psutil.STATUS_ZOMBIE:
                    living.append((child, " ".join(child.cmdline())))
    return living


def kill_children(pid: int) -> None:
    """Kill every process below `pid`; otherwise Ray's would stay for minutes."""
    kill(child for child, _ in children(pid))


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill those of `processes` that still run."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process and of all below it, in MB."""
    total = 0
    for process in (psutil.Process(pid), *(child for child, _ in children(pid))):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total / (1 << 20)
