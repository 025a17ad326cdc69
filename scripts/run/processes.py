"""The child processes of a process, Ray's included: list them, measure their memory, kill them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

import psutil

CHECK_S = 0.05
"""Seconds between two checks of processes that are to end."""


def children(pid: int) -> list[tuple[psutil.Process, str]]:
    """Return every living process below `pid` with its command line; Ray names its own after their classes."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.status() != psutil.STATUS_ZOMBIE:
                    found.append((child, " ".join(child.cmdline())))
    return found


def kill_children(pid: int) -> None:
    """Kill every process below `pid`; otherwise Ray's would stay for minutes."""
    for child, _ in children(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


def kill_unless_ended(processes: Iterable[psutil.Process], within_s: float) -> list[psutil.Process]:
    """Wait until all of `processes` have ended; kill those that have not within `within_s` seconds, and return them."""
    deadline = time.monotonic() + within_s
    while (left := [process for process in processes if runs(process)]) and time.monotonic() < deadline:
        time.sleep(CHECK_S)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return left


def runs(process: psutil.Process) -> bool:
    """Return whether a process is alive."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process and of all below it, in MB."""
    total = 0
    for process in (psutil.Process(pid), *(child for child, _ in children(pid))):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total / (1 << 20)
