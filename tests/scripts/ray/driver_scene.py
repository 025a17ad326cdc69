"""A driver without Ray, over actors that answer, hang or die when a test says so, by a clock of its own.

The driver's seconds pass only while it waits, so that what it finds late does not depend on the machine's load.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ray.exceptions import ActorDiedError, ActorUnavailableError

from learner.algorithms.reports import FullValidation
from learner.replay.transport import ReplayReport
from scripts.config.compose import compose
from scripts.config.job import JobConfig, job_of
from scripts.ray.actor_calls import ActorCalls
from scripts.ray.actor_pool import ActorPool, Parts
from scripts.ray.driver import Driver
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.role import Process, Role
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
    """The answer to a call, there as soon as the process that was called answers, or is dead."""

    def __init__(self, actor: Actor, call: str) -> None:
        self.actor, self.call, self.life = actor, call, actor.life

    @property
    def failed(self) -> bool:
        return self.life != self.actor.life or self.actor.ended

    @property
    def ready(self) -> bool:
        return self.failed or not {self.call, "*"} & self.actor.hangs


class Actor:
    """An actor: it keeps what it was asked, which causes something.  A process of it that dies is followed by another.

    What it `hangs` at, `answers` and `causes` is forgotten with the process, unless a test sets it in `next_life`.
    """

    def __init__(self, name: str) -> None:
        self.name, self.life, self.ended = name, 1, False
        self.hangs: set[str] = set()
        self.asked: list[str] = []
        self.answers: dict[str, Callable[[], Any]] = {}
        self.causes: dict[str, Callable[[], None]] = {}
        self.next_life: Callable[[], None] = lambda: None

    def die(self) -> None:
        """Let the process die, and Ray start another one at once."""
        self.life += 1
        self.hangs, self.asked, self.answers, self.causes = set(), [], {}, {}
        self.next_life()


class Clock:
    """The driver's clock."""

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


class FakeRay(ActorCalls):
    """Calls to such actors; an answer takes ten milliseconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def call(self, handle: Actor, method: str, *arguments: Any) -> Reference:
        reference = Reference(handle, method)
        handle.asked.append(method)
        handle.causes.get(method, lambda: None)()
        return reference

    def measure(self, handle: Actor) -> Reference:
        return Reference(handle, "measure")

    def wait(self, references: Sequence[Reference], timeout_s: float) -> list[Reference]:
        ready = [reference for reference in references if reference.ready]
        self._clock.sleep(min(0.01, timeout_s) if ready else timeout_s)
        return [reference for reference in references if reference.ready]

    def answer(self, reference: Reference) -> Any:
        actor = reference.actor
        if actor.ended:
            raise ActorDiedError
        if reference.failed:
            raise ActorUnavailableError("the connection was closed", None)
        defaults: dict[str, Any] = {
            "state": f"{actor.name}".encode(),
            "poll": False,
            "report": REPLAY,
            "offer_candidate": FullValidation(),
            "measure": Process(pid=actor.life, node="one", token=f"{actor.name} {id(actor)} {actor.life}", rss_mb=1.0),
        }
        return actor.answers.get(reference.call, lambda: defaults.get(reference.call))()

    def kill(self, handle: Actor, process: Process | None) -> None:
        handle.die()

    def end(self, handle: Actor, process: Process | None) -> None:
        handle.ended = True

    def object_store_mb(self) -> float:
        return 0.0


class Scene:
    """A driver over actors of the test's own; `actor` finds them by name, the newest of each."""

    def __init__(self, folder: Path, clock: Clock, *overrides: str) -> None:
        actors = 3
        self.clock = clock
        self.actor: dict[str, Actor] = {}
        self.job: JobConfig = job_of(compose(["cluster=local", "actors.count=1", "run.minutes=60", *overrides]))
        run = RunFolder.create(str(folder), "run")
        self.session = Session(self.job, run, Interrupt(), Progress([], io.StringIO()))
        members = [self.worker("actors", index) for index in range(actors)]
        self.pool = ActorPool(members, self.worker, {"actors": actors})
        learner, gate, replay, weights = (self.role(name) for name in ("learner", "gate", "replay", "weights"))
        replay.next_round = lambda: ("report",)
        weights.next_round = lambda: ("newest",)
        self.parts = Parts(learner, gate, self.pool, replay, weights, stateless=False)
        self.driver = self.drive()

    def begin(self) -> Scene:
        """Let the training begin."""
        assert self.driver.wait_until_up()
        self.session.begin()
        return self

    def drive(self) -> Driver:
        """Return a driver that has started every role."""
        watcher = TargetWatcher(self.session.folder.path, self.job)
        return Driver(self.session, self.parts, watcher, FakeRay(self.clock), self.clock)

    def role(self, name: str) -> Role:
        def start(resumes: bool) -> Actor:
            self.actor[name] = Actor(name)
            return self.actor[name]

        return Role(name, start, lambda: ("round",), lambda _: None, RestartPolicy(3))

    def worker(self, group: str, index: int) -> Role:
        made = self.role(f"actor-{index}")
        made.group, made.games = group, 16
        return made

    def turn_until(self, condition: Callable[[], bool], within_s: float = 20) -> None:
        deadline_s = self.clock.now_s + within_s
        while not condition():
            assert self.clock.now_s < deadline_s, "waited too long"
            self.driver.turn()

    def turn_for(self, seconds: float) -> None:
        until_s = self.clock.now_s + seconds
        while self.clock.now_s < until_s:
            self.driver.turn()

    def saved(self) -> set[str]:
        """Return the names of the files of the newest checkpoint."""
        return {path.stem for path in self.session.folder.checkpoints()[-1].iterdir()} - {"run", "manifest"}

    def hang(self, name: str, *calls: str) -> None:
        """From now on `name` answers none of `calls`."""
        self.actor[name].hangs.update(calls)
        self.driver.turn()

    def interrupt(self) -> float:
        """Ask for the end, and return how long the driver then lets play go on, in seconds."""
        began_s = self.clock.now_s
        self.session.interrupt.requested = True
        self.driver.shutdown.stop_play()
        return self.clock.now_s - began_s


ESSENTIAL = {"learner", "gate", "replay"}
