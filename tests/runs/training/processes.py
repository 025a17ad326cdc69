"""Runs of `reversi train` as processes: command lines of the smallest of jobs, and what a test waits for."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from scripts.run.processes import children
from tests.scripts.launch.tiny_job import TINY

ROLES = {"actor": "RemoteWorker", "learner": "RemoteLearner", "gate": "RemoteGate"}
REPLAY = "AsyncReplay"


def command(folder: Path, *overrides: str, job: Sequence[str] = TINY) -> list[str]:
    return [sys.executable, "-m", "scripts.cli", "train", f"run.dir={folder}", *job, *overrides]


def train(folder: Path, *overrides: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(folder, *overrides), text=True, capture_output=True, timeout=timeout_s, check=False)


def resume(folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "scripts.cli", "train", f"resume={folder}", *overrides]
    return subprocess.run(arguments, text=True, capture_output=True, timeout=600, check=False)


def wait_for(condition: Callable[[], object], timeout_s: float = 300.0) -> None:
    """Wait until `condition` holds; the limit is for what never comes, not for a machine with much else to do."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.2)


def processes(driver: int, role: str) -> list[psutil.Process]:
    """Return the processes of a role; Ray names them after their class."""
    return [child for child, title in children(driver) if f"ray::{ROLES.get(role, role)}" in title]
