"""What this process may use of its machine: cores and memory.

Containers and schedulers limit a process by an affinity mask (`taskset`, cpusets, Slurm) or by the quotas of its
control groups, and `os.cpu_count()` sees neither: with `docker run --cpus=2` it counts every core of the host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reversi.errors import ConfigError

ROOT = Path("/")

UNLIMITED = 1 << 60
"""Bytes from which a limit is none: without one, version 1 of control groups has a number close to 2**63."""


def cores(root: Path = ROOT) -> int:
    """Return how many threads of this process can run at once: the least of its cores and its quotas, at least 1.

    A quota of 2.5 cores is 2, as for Ray: a third thread would stop all of them for a part of the time.

    root  where `proc` is, and what `proc` names; only tests have another one
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [int(quota) for folder in _groups(root, "cpu") if (quota := _quota(folder)) is not None]
    return max(1, min([count, *quotas]))


def memory_bytes(root: Path = ROOT) -> int:
    """Return the memory that this process may use: the machine's, or the least limit of its control groups."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [limit for folder in _groups(root, "memory") if (limit := _memory_limit(folder)) is not None]
    return min([machine, *limits])


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Raise ConfigError for `what`, if it needs more bytes than this process may use."""
    if needed > (most := memory_bytes()):
        raise ConfigError(f"{what} need {_gigabytes(needed)} of memory, this machine has {_gigabytes(most)}; {remedy}")


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups that limit this process by `controller`: its own and all above it.

    In a container the path of the own group may be that on the host, of which the container sees only a part.
    """
    own = _own_groups(root)
    for line in _lines(root / "proc/self/mountinfo"):  # 32 31 0:29 /ROOT /MOUNT rw - cgroup cgroup rw,cpu
        first, _, last = line.partition(" - ")
        fields, (kind, _, options) = first.split(), [*last.split(), "", "", ""][:3]
        if kind == "cgroup2":
            path = own.get("")
        elif kind == "cgroup" and controller in options.split(","):
            path = own.get(controller)
        else:
            continue
        if path is None or len(fields) < 5:
            continue
        mount, top = root / fields[4].lstrip("/"), fields[3].rstrip("/")
        below = path.removeprefix(top) if path == top or path.startswith(f"{top}/") else ""
        parts = [part for part in below.split("/") if part and part != ".."]
        for depth in range(len(parts), -1, -1):
            yield mount.joinpath(*parts[:depth])


def _own_groups(root: Path) -> dict[str, str]:
    """Return the path of this process's group by controller; that of version 2 has no name."""
    groups: dict[str, str] = {}
    for line in _lines(root / "proc/self/cgroup"):  # 4:cpu,cpuacct:/PATH
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        groups |= dict.fromkeys(controllers.split(","), path)
    return groups


def _quota(folder: Path) -> float | None:
    """Return a group's quota in cores, None for no limit."""
    quota, period = [*_words(folder / "cpu.max"), "", ""][:2]  # "200000 100000" or "max 100000"
    if not quota:
        quota, period = ("".join(_words(folder / f"cpu.cfs_{name}_us")) for name in ("quota", "period"))
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _memory_limit(folder: Path) -> int | None:
    """Return a group's limit in bytes, None for no limit."""
    limit = "".join(_words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes"))
    return int(limit) if limit.isdigit() and int(limit) < UNLIMITED else None


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of the system, none where there is no such file: on other systems, in a sandbox."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
