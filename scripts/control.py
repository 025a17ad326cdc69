"""What people ask of a run while it trains: how many actors it shall have.

The wish is a file in the run's folder, replaced whole: the folder is what a terminal and the driver share, on one
machine as on a cluster, where the terminal's question runs on the head.  Nobody has to listen on a port, a wish made
while the driver is busy or down is not lost, and the next sitting of the run finds it too.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from actors.config import GamesActorConfig
from reversi.archive import write_atomic
from reversi.errors import ConfigError, CorruptFileError, ReversiError, UsageError
from scripts.cluster_config import RayClusterConfig
from scripts.config import JobConfig

log = logging.getLogger(__name__)

CONTROL = "control.json"
FORMAT = 1

MAX_BYTES = 1 << 16
"""Largest file that is read."""

MOST_ON_A_CLUSTER = 2000
"""Actors of a run; half of the producers that the replay tells apart (`deliveries.MAX_PRODUCERS`), as some come again
under new names."""

MOST_A_CORE = 4
"""Actors for each core of this machine, under a Ray of our own, which would start any number of them."""

LOCAL_GROUP = "actors"
"""The one group of actors of a run on one machine."""


def groups_of(job: JobConfig) -> dict[str, int | None]:
    """Return the groups of actors that a job has, with the number that its configuration says; None is all that fit.

    ConfigError for a job whose actors cannot be more or fewer.
    """
    if isinstance(job.actors, GamesActorConfig):
        raise ConfigError("expected actors that play; one actor reads the files of this run")
    if isinstance(job.cluster, RayClusterConfig):
        return {name: group.count for name, group in job.cluster.actors.items()}
    if job.cluster.kind == "serial":
        raise ConfigError("expected a run on Ray; with cluster=serial all is one process")
    return {LOCAL_GROUP: job.actor_count}


def most_actors(job: JobConfig) -> int:
    """Return the largest number of actors that may be asked for."""
    if isinstance(job.cluster, RayClusterConfig):
        return MOST_ON_A_CLUSTER
    return max(job.actor_count, MOST_A_CORE * (os.cpu_count() or 1))


def check_wish(job: JobConfig, wish: Mapping[str, int]) -> None:
    """Refuse a wish for groups that are not there, for too many actors, or for none at all."""
    counts: Mapping[str, int | None] = groups_of(job) | dict(wish)
    if unknown := sorted(set(counts) - set(groups_of(job))):
        raise UsageError(f"expected a group among {', '.join(groups_of(job))}, got {unknown[0]!r}")
    most, wanted = most_actors(job), sum(count or 0 for count in counts.values())
    if any(count < 0 for count in wish.values()) or wanted > most or not any(n != 0 for n in counts.values()):
        raise UsageError(f"expected 1 to {most:,} actors in all, got {wanted:,}")


def write_wish(folder: Path, wish: Mapping[str, int]) -> None:
    """Replace the wish in the folder of a run."""
    write_atomic(folder / CONTROL, json.dumps({"format": FORMAT, "actors": dict(wish)}).encode())


def read_wish(folder: Path) -> dict[str, int]:
    """Return the number of actors asked for last, by group; groups of which nobody spoke are not in it.

    CorruptFileError if the file is none of ours.
    """
    path = folder / CONTROL
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    try:
        value: Any = json.loads(text) if len(text) <= MAX_BYTES else None
        if value["format"] != FORMAT or not all(type(count) is int for count in value["actors"].values()):
            raise ValueError
        return dict(value["actors"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptFileError(f"{path}: expected what `reversi scale` writes; remove it or scale again") from error


def sets_actors(override: str) -> bool:
    """Whether an override says how many actors there are."""
    return re.fullmatch(r"(actors|cluster\.actors\.\w+)\.count=.*", override) is not None


def forget_wish(folder: Path) -> None:
    """Let the configuration say again how many actors there are."""
    (folder / CONTROL).unlink(missing_ok=True)


class Wishes:
    """The wish in the folder of a run, read again when its file is another one."""

    def __init__(self, folder: Path, job: JobConfig) -> None:
        self._folder, self._job = folder, job
        self._seen: tuple[int, int] | None = None

    def news(self) -> dict[str, int] | None:
        """Return the wish if its file has changed since the last call, else None.

        One that cannot be read or met is told in the log, once, and passed over.
        """
        try:
            status = os.stat(self._folder / CONTROL)
        except FileNotFoundError:
            return None
        seen = (status.st_ino, status.st_mtime_ns)
        if seen == self._seen:
            return None
        self._seen = seen
        try:
            wish = read_wish(self._folder)
            check_wish(self._job, wish)
        except ReversiError as error:
            log.error("what was asked for is passed over: %s", error)
            return None
        return wish
