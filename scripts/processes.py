"""The processes below another one, Ray's included: which they are, how much memory they hold, and their end."""

from __future__ import annotations

import contextlib

import psutil


def children(pid: int) -> list[tuple[psutil.Process, str]]:
    """Return every process below `pid` that lives, with its command line; Ray names its own after their classes."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.status() != psutil.STATUS_ZOMBIE:
                    found.append((child, " ".join(child.cmdline())))
    return found


def kill_children(pid: int) -> None:
    """Kill every process below `pid`: left alone, Ray's would stay for minutes."""
    for child, _ in children(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


def runs(process: psutil.Process) -> bool:
    """Whether a process lives."""
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
