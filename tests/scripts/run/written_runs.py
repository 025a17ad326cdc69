"""Runs that are only written down: a folder, its lock, the rows of its metrics."""

from __future__ import annotations

import fcntl
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.config.compose import compose, to_yaml

Row = dict[str, Any]

HOUR_S = 3600.0


def made(folder: Path, *overrides: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(to_yaml(compose(["actors.count=1", *overrides])))
    return folder


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a run, as its driver does."""
    with open(folder / "run.lock", "a+", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def write(run: Path, rows: list[Row]) -> None:
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows(learner_mb_per_h: float, hours: float = 2.0, begin_s: float = 0.0, every_s: float = 10.0) -> list[Row]:
    """Rows of a run whose learner grows so fast, with the jitter of an allocator."""
    rng = random.Random(7)
    found: list[Row] = []
    for index in range(int(hours * HOUR_S / every_s)):
        at_s = index * every_s
        found.append(
            {
                "step": index,
                "elapsed_s": begin_s + at_s,
                "run/session_s": at_s,
                "run/resident_mb": 3000.0 + rng.uniform(-20, 20),
                "health/learner/rss_mb": 500.0 + learner_mb_per_h * at_s / HOUR_S + rng.uniform(-5, 5),
                "health/learner/alive": 1.0,
                "health/learner/restarts": 0.0,
            }
        )
    return found
