"""A small run that a drill does harm to: started, watched from outside, killed in parts, stopped, resumed."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from reversi import archive
from reversi.errors import RunError

SMALL = (
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
    "run.minutes=600",
    "run.summary_games=0",
    "run.checkpoint_minutes=0.1",
    "tracking=jsonl",
    "cluster=local",
    "cluster.max_restarts=1000000",
)
"""A job that is under way within seconds: every role has work, a checkpoint comes every six seconds."""

CLASSES = {
    "actor": ("RemoteWorker",),
    "learner": ("RemoteLearner",),
    "gate": ("RemoteGate",),
    "replay": ("AsyncReplay", "StreamedReplay"),
    "weights": ("RemoteStore",),
}
"""Roles and the classes that Ray names their processes after."""

START_S = 240.0
"""Longest until a run is under way, or a role is back; more is a failure of the drill."""

POLL_S = 0.05


class DrillRun:
    """One run in `folder`, with its driver as a child of this process."""

    def __init__(self, folder: Path, overrides: Sequence[str], name: str = "drill") -> None:
        self.path = folder / name
        self._start = ["train", f"run.dir={folder}", f"run.name={name}", *SMALL, *overrides]
        self.driver = self._spawn(self._start)

    def resume(self, *overrides: str) -> None:
        """Start the driver again, in the same folder."""
        self.driver = self._spawn(["train", f"resume={self.path}", *overrides])

    def wait_until_under_way(self) -> None:
        """Return when the run has a checkpoint."""
        self.wait_for(lambda: bool(self.checkpoints()), "its first checkpoint")

    def wait_for(self, condition: Callable[[], bool], what: str, timeout_s: float = START_S) -> float:
        """Wait until `condition` holds and return the seconds that took; RunError if the run ends before, or never."""
        began = time.monotonic()
        while not condition():
            if self.driver.poll() is not None:
                raise RunError(f"the run ended with code {self.driver.returncode} before {what}: {self.last_words()}")
            if time.monotonic() - began > timeout_s:
                raise RunError(f"expected {what} within {timeout_s:.0f} s, it did not come; see {self.path}")
            time.sleep(POLL_S)
        return time.monotonic() - began

    def wait_for_end(self, timeout_s: float = START_S) -> int:
        """Return the driver's exit code."""
        try:
            return self.driver.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"expected the run to end within {timeout_s:.0f} s, it goes on; see {self.path}") from error

    def stop(self) -> float:
        """Ask the run to save and end; return the seconds that took."""
        began = time.monotonic()
        self.driver.send_signal(signal.SIGTERM)
        self.wait_for_end()
        return time.monotonic() - began

    def end(self) -> None:
        """End every process of the run, saved or not."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.driver.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
        self.driver.kill()
        self.driver.wait()

    def processes(self, role: str) -> list[psutil.Process]:
        """Return the processes of a role."""
        titles = tuple(f"ray::{name}" for name in CLASSES[role])
        found = []
        for child in psutil.Process(self.driver.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if " ".join(child.cmdline()).startswith(titles) and child.status() != psutil.STATUS_ZOMBIE:
                    found.append(child)
        return found

    def log(self) -> str:
        """Return the run's log so far."""
        path = self.path / "logs" / "run.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def last_words(self) -> str:
        """Return the last line that the run wrote to standard error."""
        lines = (self.path.parent / f"{self.path.name}.err").read_text(encoding="utf-8").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def deaths_answered(self, role: str) -> int:
        """Return how often a process of a role has come back so far."""
        name = rf"{role}-\d+" if role == "actor" else role
        return len(re.findall(rf" {name} works again$", self.log(), re.MULTILINE))

    def checkpoints(self) -> list[Path]:
        """Return the whole checkpoints, oldest first."""
        return sorted(p for p in (self.path / "checkpoints").glob("*") if p.name.isdigit())

    def games_heard(self) -> int:
        """Return the games that the last checkpoint's driver had heard of: each had been taken by the replay."""
        state: dict[str, Any] = json.loads((self.checkpoints()[-1] / "run.json").read_text(encoding="utf-8"))
        return int(state["progress"]["games"])

    def games_held(self) -> int:
        """Return the games that the last checkpoint's replay has taken."""
        data = (self.checkpoints()[-1] / "replay.safetensors").read_bytes()
        _, header = archive.unpack(data, "replay", 1, "replay state")
        return int(header["counts"]["games_total"])

    def _spawn(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        out = self.path.parent / f"{self.path.name}.out"
        with open(out, "ab") as said, open(out.with_suffix(".err"), "ab") as complained:
            return subprocess.Popen(
                [sys.executable, "-m", "scripts.cli", *arguments],
                stdout=said,
                stderr=complained,
                cwd=Path(__file__).parents[1],
                start_new_session=True,
            )


@contextmanager
def drill_run(folder: Path, overrides: Sequence[str], name: str = "drill") -> Iterator[DrillRun]:
    """Yield a run that is under way; end all of it afterwards."""
    run = DrillRun(folder, overrides, name)
    try:
        run.wait_until_under_way()
        yield run
    finally:
        run.end()
