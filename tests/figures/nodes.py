"""A run of patterns on a Ray cluster of two nodes with Redis: what a game costs each role, and which is full first.

Both nodes are raylets of this machine, and no network is between them, so the games a second are this machine's.  What
carries over is the CPU time of a game: a role whose process has one core is full at the inverse of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil

from learner.replay.redis.config import RedisReplayConfig
from learner.replay.redis.embedded import server_of
from reversi.errors import RunError
from scripts.bench.measure import Row, row
from scripts.bench.setup import Settings, default_job
from scripts.run.processes import children, kill_children
from tests.faults.drill.nodes import Nodes, ray_nodes
from tests.faults.drill.run import CLASSES, ROOT

DEPTHS = (1, 3)
"""Plies that the actors look ahead: before and after a quarter of the default job."""

WARM_UP_S = 45.0
"""Seconds from the first game until the first measurement: kernels are loaded, tables are known to every actor."""

TURN_S = 20.0
"""Least length of a measurement in seconds; it begins and ends with a row of metrics."""

START_S = 300.0
"""Longest time in seconds until the first game."""


def bench_nodes(settings: Settings, actors: int) -> Iterator[Row]:
    """Yield, for every depth, the games a second of `actors` actors and each role's CPU time for a thousand games."""
    for depth in DEPTHS:
        note = f"{settings.game.name}, depth {depth}, {actors} actors on two nodes, Redis with append-only file"
        with ExitStack() as ends:
            folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
            config = default_job(settings.size, "replay=redis").replay
            assert isinstance(config, RedisReplayConfig)
            redis = ends.enter_context(server_of(config, folder / "redis"))
            nodes = ends.enter_context(ray_nodes(f"--num-cpus={3 + actors // 2}", "--num-gpus=0"))
            nodes.join(f"--num-cpus={actors - actors // 2}", "--num-gpus=0")
            run = Run(folder, settings.size, depth, nodes, redis.url, actors)
            ends.callback(run.end)
            run.wait_until_under_way()
            turns = [run.turn() for _ in range(settings.repeats)]
        yield row("nodes_games_per_s", [games / seconds for games, seconds, _ in turns], "games/s", note)
        for role in turns[0][2]:
            costs = [1e6 * cpu_s[role] / games for games, _, cpu_s in turns]
            yield row(f"nodes_{role}_ms", costs, "ms of CPU a thousand games", note)


class Run:
    """The run, with its driver as a child of this process, and its nodes."""

    def __init__(self, folder: Path, size: int, depth: int, nodes: Nodes, redis_url: str, actors: int) -> None:
        """Start it."""
        self._path, self._nodes = folder / "nodes", nodes
        self._errors = folder / "errors"
        job = (
            f"run.dir={folder}",
            "run.name=nodes",
            "experiment=reversi8_patterns",
            f"game=reversi{size}",
            f"actors.depth={depth}",
            "actors.depth_from=0",
            "run.minutes=60",
            "tracking=jsonl",
            "replay=redis",
            f"replay.url={redis_url}",
            "learner.threads=1",
            f"cluster.actors.cpu.count={actors}",
        )
        with open(self._errors, "wb") as errors:
            self._driver = subprocess.Popen(
                [sys.executable, "-m", "scripts.cli", "train", *nodes.overrides, *job],
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=ROOT,
                env=nodes.environment,
            )

    def wait_until_under_way(self) -> None:
        """Return when games have been played for a while; RunError if none come."""
        deadline = time.monotonic() + START_S
        while not self._rows():
            if self._driver.poll() is not None or time.monotonic() > deadline:
                raise RunError(f"no game was played: {self._errors.read_text(encoding='utf-8').strip()[-500:]}")
            time.sleep(0.5)
        time.sleep(WARM_UP_S)

    def turn(self) -> tuple[float, float, dict[str, float]]:
        """Return the games of a measurement, its seconds, and the CPU time of each role in it in seconds."""
        games, seconds, cpu_s = self._after_next_row()
        time.sleep(TURN_S)
        later_games, later_seconds, later_cpu_s = self._after_next_row()
        spent_s = {role: cpu - cpu_s[role] for role, cpu in later_cpu_s.items()}
        return later_games - games, later_seconds - seconds, spent_s

    def end(self) -> None:
        """End its processes."""
        kill_children(self._driver.pid)
        self._driver.kill()
        self._driver.wait()

    def _after_next_row(self) -> tuple[float, float, dict[str, float]]:
        """Wait for a row of metrics; return its games and time, and the CPU times now."""
        before = len(self._rows())
        while len(rows := self._rows()) == before:
            time.sleep(0.05)
        return rows[-1]["run/games"], rows[-1]["run/elapsed_s"], self._cpu_s()

    def _rows(self) -> list[dict[str, float]]:
        try:
            text = (self._path / "metrics.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        lines = text[: text.rfind("\n") + 1].splitlines()  # the last may be half written
        return [row for row in map(json.loads, lines) if row.get("run/games")]

    def _cpu_s(self) -> dict[str, float]:
        """Return the CPU time so far of each role, of Redis, of the driver, and of Ray itself."""
        roles = {f"ray::{name}": role for role, names in CLASSES.items() for name in names}
        used: dict[str, float] = defaultdict(float)
        for node in (self._nodes.head, *self._nodes.joined):
            for process, title in children(node.process.pid):
                role = next((role for name, role in roles.items() if title.startswith(name)), "ray")
                used[role] += _cpu_s(process)
        for supervisor, title in children(psutil.Process().pid):
            if "learner.replay.redis.embedded" in title:
                used["redis"] += sum(_cpu_s(process) for process in supervisor.children())
        used["driver"] += _cpu_s(psutil.Process(self._driver.pid))
        return used


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
