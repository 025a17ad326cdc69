"""The small run of a drill: started, watched from outside, killed in parts, stopped, resumed."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from learner.replay.deliveries import Deliveries
from learner.replay.memory import STATE_FORMAT
from learner.replay.redis.key import KEY_FILE
from learner.replay.redis.server import RedisServer
from learner.replay.redis.stream import streams
from reversi import archive
from reversi.errors import RunError
from scripts.run.folder import checkpoints_in
from scripts.run.processes import children, kill_children
from tests.faults.drill.acknowledged import AcknowledgedLog, Delivery
from tests.faults.drill.log import LogFollower
from tests.faults.drill.namespaces import Machine

SMALL = (
    "game=reversi4",
    "network.blocks=1",
    "network.channels=8",
    "search.simulations=4",
    "actors.games=16",
    "actors.opening_plies=2",
    "actors.precision=float32",
    "actors.rescore_empties=0",
    "actors.round_batches=4",
    "replay.min_positions=200",
    "replay.reuse=1.0",
    "replay.bucket_capacity=10000000",
    "replay.capacity_positions=200000",
    "learner.batch=64",
    "learner.publish_every_steps=10",
    "learner.candidate_every_steps=400",
    "gate.games=60",
    "gate.wins=33",
    "gate.simulations=100",
    "gate.opening_plies=4",
    "run.minutes=600",
    "run.summary_games=0",
    "run.checkpoint_minutes=0.1",
    "tracking=jsonl",
    "cluster=local",
    "cluster.max_restarts=1000000",
)
"""A job that is fully running within seconds: every role has work, and the actors never wait for the learner, so that
deliveries continue whichever role is down; a checkpoint every six seconds."""

CLASSES = {
    "actor": ("RemoteWorker",),
    "learner": ("RemoteLearner",),
    "gate": ("RemoteGate",),
    "replay": ("AsyncReplay", "StreamedReplay"),
    "weights": ("RemoteWeightStore",),
}
"""Roles, with the classes after which Ray names their processes."""

START_S = 600.0
"""Longest time in seconds until a run trains, including compilation, or a role is back; more fails the drill."""

POLL_S = 0.05

ROOT = Path(__file__).parents[3]
"""The folder of our code, which runs start in."""


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


class DrillRun:
    """One run in `folder`, with its driver as a child of this process."""

    def __init__(
        self,
        folder: Path,
        overrides: Sequence[str],
        environment: Mapping[str, str] | None = None,
        machine: Machine | None = None,
    ) -> None:
        """Start the run, in its own `environment` and on its own `machine` if these are given."""
        self._environment, self._machine = environment, machine
        self.path = folder / "drill"
        self._start = ["train", f"run.dir={folder}", "run.name=drill", *SMALL, *overrides]
        self._log = LogFollower(self.path / "logs" / "run.log")
        self.driver = self._spawn(self._start)

    def resume(self, *overrides: str) -> None:
        """Start the driver again, in the same folder."""
        self.driver = self._spawn(["train", f"resume={self.path}", *overrides])

    def wait_until_under_way(self) -> None:
        """Return when the run has a checkpoint."""
        self.wait_for(lambda: bool(self.checkpoints()), "its first checkpoint")

    def wait_for(self, condition: Callable[[], bool], what: str) -> float:
        """Wait until `condition` holds; return the seconds that took.  RunError if the run ends first, or after
        `START_S`."""
        began = time.monotonic()
        while not condition():
            if self.driver.poll() is not None:
                raise RunError(
                    f"the run ended with code {self.driver.returncode} before {what}: {self.last_error_line()}"
                )
            if time.monotonic() - began > START_S:
                raise RunError(f"expected {what} within {START_S:.0f} s, it did not come; see {self.path}")
            time.sleep(POLL_S)
        return time.monotonic() - began

    def wait_for_end(self, timeout_s: float = START_S) -> int:
        """Wait for the end of the run and return the driver's exit code."""
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
        kill_children(self.driver.pid)
        self.driver.kill()
        self.driver.wait()

    def processes(self, role: str) -> list[psutil.Process]:
        """Return the processes of a role."""
        titles = tuple(f"ray::{name}" for name in CLASSES[role])
        return [child for child, title in children(self.driver.pid) if title.startswith(titles)]

    def redis(self) -> tuple[psutil.Process, RedisServer] | None:
        """Return the run's own server and how to reach it; None while there is none."""
        for supervisor, command in children(self.driver.pid):
            words = command.split()
            if "learner.replay.redis.embedded" in words:
                with contextlib.suppress(psutil.Error):
                    servers = [child for child in supervisor.children() if child.status() != psutil.STATUS_ZOMBIE]
                    if servers:
                        return servers[0], RedisServer(url=f"unix://{words[words.index('--unixsocket') + 1]}")
        return None

    @contextmanager
    def acknowledged(self, server: RedisServer | None = None) -> Iterator[AcknowledgedLog | None]:
        """Record what the run's Redis acknowledges, starting before its first game; None if the run has no Redis.

        `server` says how to reach its Redis if that is not a child process of the run.
        """
        self.wait_for(lambda: self._has_redis() or bool(self.checkpoints()), "its key or its first checkpoint")
        if not self._has_redis():
            yield None
            return

        def own_server() -> RedisServer | None:
            own = self.redis()
            return own[1] if own else None

        where = (lambda: server) if server else own_server
        with contextlib.closing(AcknowledgedLog(where, self.streams())) as acknowledged:
            yield acknowledged

    def _has_redis(self) -> bool:
        return (self.path / KEY_FILE).exists()

    def streams(self) -> list[str]:
        """Return the keys of the run's streams."""
        return streams(self.key(), 1)

    def key(self) -> str:
        """Return the run's key on its server."""
        return (self.path / KEY_FILE).read_text(encoding="utf-8").strip()

    def kill(self, process: psutil.Process) -> None:
        """Kill -9 a process and wait until it is gone."""
        process.kill()
        with contextlib.suppress(psutil.Error):
            while process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.001)

    def log(self) -> list[str]:
        """Return the lines of the run's log so far."""
        self._log.read()
        return self._log.lines

    def last_error_line(self) -> str:
        """Return the last line that the run wrote to standard error."""
        return next(reversed(self.complaints()), "no message")

    def deaths_answered(self, role: str) -> int:
        """Return how often processes of a role have returned so far."""
        self._log.read()
        if role == "actor":
            return sum(count for name, count in self._log.returns.items() if name.startswith("actor-"))
        return self._log.returns[role]

    def wait_for_return(self, role: str, before: int) -> float:
        """Wait until a role has returned more than `before` times; return the seconds that took."""
        return self.wait_for(lambda: self.deaths_answered(role) > before, f"the {role} back")

    def complaints(self, begin: str = "") -> list[str]:
        """Return the lines on the run's standard error, over all its starts, that start with `begin`."""
        lines = (self.path.parent / f"{self.path.name}.err").read_text(encoding="utf-8").strip().splitlines()
        return [line for line in lines if line.startswith(begin)]

    def games_played(self) -> int:
        """Return the number of games in the newest row of metrics."""
        counts = re.findall(r'"run/games": ([0-9.]+)', (self.path / "metrics.jsonl").read_text(encoding="utf-8"))
        return int(float(counts[-1])) if counts else 0

    def metrics_age_s(self) -> float:
        """Return the seconds since the driver last wrote a row of metrics."""
        return time.time() - (self.path / "metrics.jsonl").stat().st_mtime

    def wait_for_games(self, more_than: int) -> float:
        """Wait until more games are played; return the seconds that took, up to 5 s of them a delay of the metrics."""
        return self.wait_for(lambda: self.games_played() > more_than, "more games")

    def checkpoints(self) -> list[Path]:
        """Return the complete checkpoints, oldest first."""
        return checkpoints_in(self.path)

    def newest_checkpoint(self) -> str:
        """Return the name of the newest one, "" if there is none; names sort by age."""
        return max((path.name for path in self.checkpoints()), default="")

    def wait_for_checkpoint(self, after: str) -> float:
        """Wait for a checkpoint newer than `after`; return the seconds that took."""
        return self.wait_for(lambda: self.newest_checkpoint() > after, f"a checkpoint after {after}")

    def games_heard(self) -> int:
        """Return the games reported to the last checkpoint's driver; the replay had taken each of them."""
        state: dict[str, Any] = json.loads((self.checkpoints()[-1] / "run.json").read_text(encoding="utf-8"))
        return int(state["progress"]["games"])

    def games_held(self) -> int:
        """Return the games that the last checkpoint's replay has taken."""
        return int(self._replay_header()["counts"]["games_total"])

    def deliveries_held(self, ones: Iterable[Delivery]) -> set[Delivery]:
        """Return the deliveries among `ones` that the last checkpoint's replay has taken."""
        taken = Deliveries.restored(self._replay_header()["deliveries"])
        return {one for one in ones if one in taken}

    def _replay_header(self) -> archive.Header:
        data = (self.checkpoints()[-1] / "replay.safetensors").read_bytes()
        return archive.unpack(data, "replay", STATE_FORMAT, "replay state")[1]

    def _spawn(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        out = self.path.parent / f"{self.path.name}.out"
        command = [sys.executable, "-m", "scripts.cli", *arguments]
        with open(out, "ab") as output, open(out.with_suffix(".err"), "ab") as errors:
            return subprocess.Popen(
                self._machine.command(command) if self._machine else command,
                stdout=output,
                stderr=errors,
                cwd=ROOT,
                env=self._environment,
                start_new_session=True,
            )


@contextmanager
def drill_run(
    folder: Path,
    overrides: Sequence[str],
    environment: Mapping[str, str] | None = None,
    machine: Machine | None = None,
    server: RedisServer | None = None,
) -> Iterator[tuple[DrillRun, AcknowledgedLog | None]]:
    """Yield a run that is training and, if it has a Redis, the log of its acknowledged deliveries; end both afterwards.

    `server` says how to reach its Redis if that is not a child process of the run.
    """
    run = DrillRun(folder, overrides, environment, machine)
    try:
        with run.acknowledged(server) as acknowledged:
            run.wait_until_under_way()
            yield run, acknowledged
    finally:
        run.end()
