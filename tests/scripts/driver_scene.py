"""A driver without Ray, over processes that answer, hang or die when a test says so, by a clock of its own.

The driver's seconds pass only while it waits, so that what it finds late does not depend on the machine's load.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import RayActorError

from learner.algorithms.reports import FullValidation
from learner.replay.transport import ReplayReport
from scripts.config.compose import compose
from scripts.config.job import JobConfig, job_of
from scripts.ray import (
    calls,
    champion,
    checkpoints,
    driver,
    failures,
    health,
    lifecycle,
    rounds,
    scaling,
    shutdown,
    supervisor,
    watchdog,
)
from scripts.ray.actor_pool import ActorPool
from scripts.ray.driver import Driver
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.roles import Parts, Role
from scripts.run.control import TargetWatcher
from scripts.run.folder import RunFolder
from scripts.run.interrupt import Interrupt
from scripts.run.progress import Progress
from scripts.run.session import Session

REPLAY = ReplayReport(
    games_total=0,
    positions_total=0,
    positions=0,
    fill=0.0,
    window_positions=0,
    samples_total=0,
    tokens=0.0,
    rejected_games=0,
    rejected_batches=0,
    duplicates=0,
)


class Reference:
    """The answer to a call, there as soon as its process answers."""

    def __init__(self, process: Process, call: str, arguments: tuple[Any, ...]) -> None:
        self.process, self.call, self.arguments = process, call, arguments

    @property
    def ready(self) -> bool:
        return self.process.dead or not {self.call, "*"} & self.process.hangs


class Process:
    """A process of a role: any method can be called by `.remote()`; what it was asked is kept, and causes something."""

    def __init__(self, name: str) -> None:
        self.name, self.dead = name, False
        self.hangs: set[str] = set()
        self.asked: list[str] = []
        self.answers: dict[str, Callable[[], Any]] = {}
        self.causes: dict[str, Callable[[], None]] = {}

    def __getattr__(self, call: str) -> Method:
        return Method(self, call)


class Method:
    """A method of a process."""

    def __init__(self, process: Process, call: str) -> None:
        self._process, self._call = process, call

    def remote(self, *arguments: Any) -> Reference:
        """Call it."""
        self._process.asked.append(self._call)
        self._process.causes.get(self._call, lambda: None)()
        return Reference(self._process, self._call, arguments)


class Clock:
    """What the driver and its parts use of `time`."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        """Let something happen when so much time has passed."""
        self._due.append((self.now_s + seconds, what))

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for entry in [entry for entry in self._due if entry[0] <= self.now_s]:
            self._due.remove(entry)
            entry[1]()


class FakeRay:
    """What the driver and its parts use of Ray; an answer takes ten milliseconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def wait(self, references: list[Reference], num_returns: int, timeout: float) -> Any:
        ready = [reference for reference in references if reference.ready][:num_returns]
        self._clock.sleep(min(0.01, timeout) if ready else timeout)
        return ready, [reference for reference in references if reference not in ready]

    def get(self, reference: Reference) -> Any:
        if reference.process.dead:
            raise RayActorError
        defaults: dict[str, Any] = {
            "state": f"{reference.process.name}".encode(),
            "poll": False,
            "report": REPLAY,
            "offer_candidate": FullValidation(),
        }
        return reference.process.answers.get(reference.call, lambda: defaults.get(reference.call))()


class Scene:
    """A driver over processes of the test's own; `process` finds them by name, the newest of each."""

    def __init__(self, folder: Path, clock: Clock, *overrides: str) -> None:
        actors = 3
        self.clock = clock
        self.process: dict[str, Process] = {}
        self.hanging: dict[str, set[str]] = {}
        self.job: JobConfig = job_of(compose(["cluster=local", "actors.count=1", "run.minutes=60", *overrides]))
        run = RunFolder.create(str(folder), "run")
        self.session = Session(self.job, run, Interrupt(), Progress([], io.StringIO()))
        members = [self.actor("actors", index) for index in range(actors)]
        self.pool = ActorPool(members, self.actor, {"actors": actors})
        learner, gate, replay, weights = (self.role(name) for name in ("learner", "gate", "replay", "weights"))
        replay.start_round = lambda process: process.report.remote()
        self.parts = Parts(learner, gate, self.pool, replay, weights, stateless=False)
        self.driver = Driver(self.session, self.parts, TargetWatcher(run.path, self.job))

    def begin(self) -> Scene:
        """Let the training begin."""
        assert self.driver.wait_until_up()
        self.session.begin()
        return self

    def role(self, name: str) -> Role:
        def start() -> Process:
            self.process[name] = Process(name)
            self.process[name].hangs |= self.hanging.get(name, set())
            return self.process[name]

        return Role(name, start, lambda process: process.round.remote(), lambda _: None, RestartPolicy(3))

    def actor(self, group: str, index: int) -> Role:
        made = self.role(f"actor-{index}")
        made.group, made.games = group, 16
        return made

    def turn_until(self, condition: Callable[[], bool]) -> None:
        deadline_s = self.clock.now_s + 20
        while not condition():
            assert self.clock.now_s < deadline_s, "waited too long"
            self.driver.turn()

    def saved(self) -> set[str]:
        """Return the names of the files of the newest checkpoint."""
        return {path.stem for path in self.session.folder.checkpoints()[-1].iterdir()} - {"run", "manifest"}

    def hang(self, name: str, *calls: str) -> None:
        """From now on `name` answers none of `calls`."""
        self.process[name].hangs.update(calls)
        self.driver.turn()

    def interrupt(self) -> float:
        """Ask for the end, and return how long the driver then lets play go on, in seconds."""
        began_s = self.clock.now_s
        self.session.interrupt.requested = True
        self.driver.shutdown.stop_play()
        return self.clock.now_s - began_s


ESSENTIAL = {"learner", "gate", "replay"}

TIMED = (
    calls,
    champion,
    checkpoints,
    driver,
    failures,
    health,
    lifecycle,
    rounds,
    shutdown,
    scaling,
    supervisor,
    watchdog,
)
"""The driver and those of its parts that read the clock."""


def without_ray(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which the driver and its parts now work, and put `FakeRay` in the place of Ray."""
    clock = Clock()
    for module in TIMED:
        monkeypatch.setattr(module, "time", clock)
    for module in (calls, health):
        monkeypatch.setattr(module, "ray", FakeRay(clock))
    for module in (failures, lifecycle, shutdown, watchdog):
        monkeypatch.setattr(module, "end_process", lambda role: setattr(role.handle, "dead", True))
    monkeypatch.setattr(health, "measure_process", lambda process: process.measure.remote())
    monkeypatch.setattr(health, "MEASURE_EVERY_S", 1e9)
    monkeypatch.setattr(health, "object_store_mb", lambda: 0.0)
    return clock
