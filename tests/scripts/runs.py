"""Runs of `reversi train` as processes: the smallest of jobs, its command line, and what a test waits for and reads."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil

from scripts.run.processes import children

TINY = (
    "game=reversi4",
    "network.blocks=1",
    "network.channels=8",
    "search.simulations=4",
    "actors.games=16",
    "actors.opening_plies=2",
    "actors.precision=float32",
    "replay.min_positions=200",
    "replay.bucket_capacity=5000",
    "learner.batch=64",
    "learner.publish_every_steps=10",
    "learner.candidate_every_steps=40",
    "gate.games=20",
    "gate.wins=11",
    "gate.simulations=4",
    "gate.opening_plies=4",
    "run.summary_games=20",
    "tracking=[jsonl,tensorboard]",
)
ROLES = {"actor": "RemoteWorker", "learner": "RemoteLearner", "gate": "RemoteGate"}
REPLAY = "AsyncReplay"


def command(folder: Path, *overrides: str) -> list[str]:
    return [sys.executable, "-m", "scripts.cli", "train", f"run.dir={folder}", *TINY, *overrides]


def train(folder: Path, *overrides: str, timeout_s: float = 240) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(folder, *overrides), text=True, capture_output=True, timeout=timeout_s, check=False)


def resume(folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "scripts.cli", "train", f"resume={folder}", *overrides]
    return subprocess.run(arguments, text=True, capture_output=True, timeout=240, check=False)


def metrics(run: Path, prefix: str) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if any(name.startswith(f"{prefix}/") for name in row)]


def elapsed_s(run: Path) -> float:
    """Return the seconds of training that the last checkpoint of `run` has counted."""
    newest = max((run / "checkpoints").glob("0*"))
    return float(json.loads((newest / "run.json").read_text())["elapsed_s"])


def wait_for(condition: object, timeout_s: float) -> None:
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.2)


def processes(driver: int, role: str) -> list[psutil.Process]:
    """Return the processes of a role; Ray names them after their class."""
    return [child for child, title in children(driver) if f"ray::{ROLES.get(role, role)}" in title]
