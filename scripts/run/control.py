"""The target number of actors of a run, which `reversi scale` changes while the run trains.

The target is a file in the run's folder, always replaced as a whole.  The terminal and the driver share that folder, on
one machine as well as on a cluster, where `reversi scale` runs on the head.  So nothing has to listen on a port, a
target set while the driver is busy or down is not lost, and the next session of the run finds it too.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from actors.config import GamesActorConfig
from reversi import json
from reversi.capacity import cores
from reversi.errors import ConfigError, ReversiError, UsageError
from reversi.files import write_atomic
from reversi.settings import build, reading, require
from scripts.config.cluster import RayClusterConfig
from scripts.config.job import JobConfig

log = logging.getLogger(__name__)

CONTROL = "control.json"
FORMAT: Literal[1] = 1

MAX_BYTES = 1 << 16
"""Size limit of the file."""

MOST_ON_A_CLUSTER = 2000
"""Most actors of a run; half of the producers that the replay can tell apart (`deliveries.MAX_PRODUCERS`), because a
restarted actor gets a new producer name."""

MOST_A_CORE = 4
"""Most actors per core of this machine with `cluster=local`, where Ray itself sets no limit."""

LOCAL_GROUP = "actors"
"""The one group of actors of a run on one machine."""


@dataclass(frozen=True)
class _Control:
    """The contents of the file."""

    format: Literal[1]
    actors: dict[str, int]
    """The target by group."""


def groups_of(job: JobConfig) -> dict[str, int | None]:
    """Return the configured number of actors by group; None means as many as fit.

    Raises ConfigError for a job whose number of actors cannot change.
    """
    if isinstance(job.actors, GamesActorConfig):
        raise ConfigError("this run cannot be scaled: its only actor reads game files")
    if isinstance(job.cluster, RayClusterConfig):
        return {name: group.count for name, group in job.cluster.actors.items()}
    if job.cluster.kind == "serial":
        raise ConfigError("this run cannot be scaled: with cluster=serial there is only one process")
    return {LOCAL_GROUP: job.actor_count}


def most_actors(job: JobConfig) -> int:
    """Return the largest number of actors that a target may have."""
    if isinstance(job.cluster, RayClusterConfig):
        return MOST_ON_A_CLUSTER
    return max(job.actor_count, MOST_A_CORE * cores())


def check_target(job: JobConfig, target: Mapping[str, int]) -> None:
    """Raise UsageError for unknown groups, for too many actors and for none at all."""
    counts: Mapping[str, int | None] = groups_of(job) | dict(target)
    if unknown := sorted(set(counts) - set(groups_of(job))):
        raise UsageError(f"expected a group among {', '.join(groups_of(job))}, got {unknown[0]!r}")
    most, wanted = most_actors(job), sum(count or 0 for count in counts.values())
    if any(count < 0 for count in target.values()) or wanted > most or not any(n != 0 for n in counts.values()):
        raise UsageError(f"expected 1 to {most:,} actors in all, got {wanted:,}")


def write_target(folder: Path, target: Mapping[str, int]) -> None:
    """Replace the target in the folder of a run."""
    write_atomic(folder / CONTROL, json.dumps(asdict(_Control(FORMAT, dict(target)))).encode())


def read_target(folder: Path) -> dict[str, int]:
    """Return the target last written, by group; groups that were never scaled are missing.

    Raises CorruptFileError for a file that `write_target` did not write.
    """
    path = folder / CONTROL
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    with reading(str(path), "what `reversi scale` writes (remove it or scale again)"):
        require(len(text) <= MAX_BYTES, "it", f"at most {MAX_BYTES} bytes", text[:40])
        return build(_Control, json.loads(text), "").actors


def sets_actors(override: str) -> bool:
    """Return whether an override sets a number of actors."""
    return re.fullmatch(r"\+*(actors|cluster\.actors\.\w+)\.count=.*", override) is not None


def forget_target(folder: Path) -> None:
    """Remove the target, so that the configuration decides the number of actors again."""
    (folder / CONTROL).unlink(missing_ok=True)


class TargetWatcher:
    """Reads the target in the folder of a run again whenever its file has been replaced."""

    def __init__(self, folder: Path, job: JobConfig) -> None:
        self._folder, self._job = folder, job
        self._seen: tuple[int, int] | None = None

    def changed(self) -> dict[str, int] | None:
        """Return the target if its file has changed since the last call, else None.

        A target that cannot be read or reached is logged once and ignored.
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
            target = read_target(self._folder)
            check_target(self._job, target)
        except ReversiError as error:
            log.error("ignoring the new number of actors: %s", error)
            return None
        return target
