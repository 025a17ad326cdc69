"""The driver's decisions without Ray: processes that answer, hang or die when the test says so, by a clock of its own.

The driver's seconds pass only while it waits, so that what it finds late does not depend on the machine's load.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import ActorUnavailableError, RayActorError

from learner.algorithms.reports import ValidationPart
from learner.replay.transport import ReplayReport
from reversi.errors import RunError
from scripts.job import driver as driver_module
from scripts.job.compose import compose
from scripts.job.config import JobConfig, job_of
from scripts.job.control import TargetWatcher, write_target
from scripts.job.driver import Driver
from scripts.job.interrupt import Interrupt
from scripts.job.progress import Progress
from scripts.job.run_folder import RunFolder
from scripts.job.sitting import Sitting
from scripts.supervision import supervisor as supervisor_module
from scripts.supervision.actor_pool import ActorPool
from scripts.supervision.restart_policy import RestartPolicy
from scripts.supervision.roles import Parts, Role

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

    def __getattr__(self, call: str) -> Any:
        process = self

        class Method:
            def remote(self, *arguments: Any) -> Reference:
                process.asked.append(call)
                process.causes.get(call, lambda: None)()
                return Reference(process, call, arguments)

        return Method()


class Clock:
    """What driver and supervisor use of `time`."""

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
    """What `scripts/supervision/supervisor.py` uses of Ray; an answer takes a millisecond."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def wait(self, references: list[Reference], num_returns: int, timeout: float) -> Any:
        ready = [reference for reference in references if reference.ready][:num_returns]
        self._clock.sleep(min(0.001, timeout) if ready else timeout)
        return ready, [reference for reference in references if reference not in ready]

    def get(self, reference: Reference) -> Any:
        if reference.process.dead:
            raise RayActorError
        defaults: dict[str, Any] = {"state": f"{reference.process.name}".encode(), "poll": False, "report": REPLAY}
        return reference.process.answers.get(reference.call, lambda: defaults.get(reference.call))()


class Scene:
    """A driver over processes of the test's own; `process` finds them by name, the newest of each."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        actors = 3
        self.clock = clock
        self.process: dict[str, Process] = {}
        self.job: JobConfig = job_of(compose(["cluster=local", "actors.count=1", "run.minutes=60"]))
        run = RunFolder.create(str(folder), "run")
        self.sitting = Sitting(self.job, run, Interrupt(), Progress([], io.StringIO()))
        members = [self.actor("actors", index) for index in range(actors)]
        self.pool = ActorPool(members, self.actor, {"actors": actors})
        learner, gate, replay, weights = (self.role(name) for name in ("learner", "gate", "replay", "weights"))
        replay.ask = lambda process: process.report.remote()
        self.parts = Parts(learner, gate, self.pool, replay, weights, stateless=False)
        self.driver = Driver(self.sitting, self.parts, TargetWatcher(run.path, self.job))
        assert self.driver.wait_until_up()
        self.sitting.begin()

    def role(self, name: str) -> Role:
        def start() -> Process:
            self.process[name] = Process(name)
            return self.process[name]

        return Role(name, start, lambda process: process.round.remote(), lambda _: None, RestartPolicy(3))

    def actor(self, group: str, index: int) -> Role:
        made = self.role(f"actor-{index}")
        made.group, made.games, made.awaited = group, 16, index < 3
        return made

    def turn_until(self, condition: Callable[[], bool]) -> None:
        deadline_s = self.clock.now_s + 20
        while not condition():
            assert self.clock.now_s < deadline_s, "waited too long"
            self.driver.turn()

    def saved(self) -> set[str]:
        """Return the names of the files of the newest checkpoint."""
        return {path.stem for path in self.sitting.folder.checkpoints()[-1].iterdir()} - {"run", "manifest"}

    def hang(self, name: str, *calls: str) -> None:
        """From now on `name` answers none of `calls`."""
        self.process[name].hangs.update(calls)
        self.driver.turn()

    def interrupt(self) -> float:
        """Ask for the end, and return how long the driver then lets play go on, in seconds."""
        began_s = self.clock.now_s
        self.sitting.interrupt.requested = True
        self.driver.stop_play()
        return self.clock.now_s - began_s


ESSENTIAL = {"learner", "gate", "replay"}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    clock = Clock()
    for module in (supervisor_module, driver_module):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(supervisor_module, "ray", FakeRay(clock))
    monkeypatch.setattr(supervisor_module, "measured", lambda process: process.measure.remote())
    monkeypatch.setattr(supervisor_module, "MEASURE_EVERY_S", 1e9)
    for module in (supervisor_module, driver_module):
        monkeypatch.setattr(module, "end_process", lambda role: setattr(role.handle, "dead", True))
    monkeypatch.setattr(driver_module, "object_store_mb", lambda: 0.0)
    return Scene(tmp_path, clock)


def test_a_checkpoint_holds_every_part(scene: Scene) -> None:
    assert scene.driver.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}
    assert (scene.sitting.folder.checkpoints()[-1] / "actor-1.safetensors").read_bytes() == b"actor-1"


@pytest.mark.parametrize("hangs", ["round", "state"])
def test_an_actor_that_hangs_is_left_out_and_holds_nobody(hangs: str, scene: Scene) -> None:
    scene.hang("actor-1", hangs)
    began_s = scene.clock.now_s
    assert scene.driver.save()
    assert scene.clock.now_s - began_s == pytest.approx(5, abs=0.5), "`LATE_S` or `ACTOR_STATES_S`"
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}
    rounds = scene.process["actor-0"].asked.count("round")
    scene.turn_until(lambda: scene.process["actor-0"].asked.count("round") > rounds + 5)
    assert "actor-1" not in scene.saved()
    scene.process["actor-1"].hangs.clear()
    scene.driver.turn()
    assert scene.driver.save()
    assert "actor-1" in scene.saved()


@pytest.mark.parametrize("role", ["learner", "gate"])
def test_a_role_that_dies_over_its_state_costs_this_checkpoint_and_not_the_run(role: str, scene: Scene) -> None:
    assert scene.driver.save()
    first = scene.process[role]

    def die() -> Any:
        first.dead = True
        raise RayActorError

    first.answers["state"] = die
    assert not scene.driver.save()
    assert len(scene.sitting.folder.checkpoints()) == 1
    scene.turn_until(lambda: scene.process[role] is not first and scene.driver.save())
    scene.turn_until(lambda: "round" in scene.process[role].asked)
    assert scene.process[role].asked.index("restore") < scene.process[role].asked.index("round")
    assert len(scene.sitting.folder.checkpoints()) == 2


def test_what_a_dead_process_owes_is_no_stall_of_the_next_one(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    class Never(Reference):
        ready = False

    killed: list[str] = []
    monkeypatch.setattr(supervisor_module, "end_process", lambda role: killed.append(role.name))
    first = scene.process["learner"]
    scene.driver._supervisor.call(scene.parts.learner, Never(first, "offer_candidate", ()), lambda _: None)
    first.dead = True
    scene.turn_until(lambda: scene.parts.learner.handle is None)
    scene.clock.sleep(scene.job.cluster.stall_s + supervisor_module.START_S)
    scene.turn_until(lambda: scene.process["learner"] is not first)
    assert "learner" not in killed


def test_an_actor_that_cannot_be_reached_is_the_same_one_when_it_can(scene: Scene) -> None:
    role, process = scene.pool.members[1], scene.process["actor-1"]

    def away() -> Any:
        raise ActorUnavailableError("the network is down", None)

    scene.turn_until(lambda: role.up)
    process.answers["round"] = away
    asked = process.asked.count("round")
    began_s = scene.clock.now_s
    while scene.clock.now_s < began_s + 10:
        scene.driver.turn()
    assert 9 <= process.asked.count("round") - asked <= 12, "once in `UNREACHED_S`"
    assert scene.driver._supervisor.health()["actors"].alive == 2
    assert scene.driver.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}
    del process.answers["round"]
    scene.turn_until(lambda: role.up)
    assert scene.process["actor-1"] is process
    assert (role.restarts, role.restart_policy.deaths) == (0, 0)
    assert scene.driver.save()
    assert "actor-1" in scene.saved()


def test_an_actor_that_ray_gives_up_while_it_cannot_be_reached_is_started_again(scene: Scene) -> None:
    process = scene.process["actor-1"]

    def away() -> Any:
        raise ActorUnavailableError("the network is down", None)

    process.answers["round"] = away
    scene.turn_until(lambda: not scene.pool.members[1].up)
    process.dead = True
    scene.turn_until(lambda: scene.process["actor-1"] is not process and scene.pool.members[1].up)
    assert scene.pool.members[1].restarts == 1
    assert scene.pool.members[1].calls <= 1


def test_a_stop_with_an_actor_that_hangs_saves_the_others(scene: Scene) -> None:
    scene.hang("actor-0", "*")
    assert scene.interrupt() < 6
    scene.driver.save_at_last()
    assert scene.saved() == ESSENTIAL | {"actor-1", "actor-2"}
    scene.driver.leave_behind()
    assert [scene.process[f"actor-{index}"].dead for index in range(3)] == [True, False, False]


@pytest.mark.parametrize("end", ["save", "stop"])
def test_an_actor_that_waited_long_for_room_is_part_of_the_checkpoint(end: str, scene: Scene) -> None:
    """As the learner's first step takes its time, so do the actors' rounds, until the replay lets them go."""
    scene.hang("actor-0", "round")
    scene.hang("actor-1", "round")
    scene.clock.sleep(30)

    def let_go() -> None:
        for name in ("actor-0", "actor-1"):
            scene.clock.later(0.5, scene.process[name].hangs.clear)

    scene.process["replay"].causes = {"release": let_go, "stop": let_go}
    if end == "save":
        assert scene.driver.save()
    else:
        assert scene.interrupt() < 1
        scene.driver.save_at_last()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}


def test_a_stop_with_a_learner_that_hangs_ends_with_one_line(scene: Scene) -> None:
    scene.hang("learner", "*")
    assert scene.interrupt() < 6
    with pytest.raises(RunError, match=r"did not answer to 'state'; start it again under a new run\.name; see "):
        scene.driver.save_at_last()


def test_actors_join_and_leave_after_their_round_and_their_deliveries(scene: Scene) -> None:
    write_target(scene.sitting.folder.path, {"actors": 5})
    scene.turn_until(lambda: all(f"actor-{index}" in scene.process for index in range(5)))
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    write_target(scene.sitting.folder.path, {"actors": 2})
    scene.process["actor-4"].hangs.add("settled")
    scene.turn_until(lambda: len(scene.pool.members) == 3)
    for name in ("actor-2", "actor-3"):
        assert scene.process[name].asked[-1] == "settled", "all it delivered was stored before its end"
        assert scene.process[name].dead
    assert not scene.process["actor-4"].dead
    assert scene.driver.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1"}
    scene.process["actor-4"].dead = True  # dies while it leaves: it is not started again
    scene.turn_until(lambda: len(scene.pool.members) == 2)


def test_an_actor_without_a_node_holds_nobody_and_leaves_first(scene: Scene) -> None:
    homeless = Process("actor-3")
    homeless.hangs.add("*")
    scene.pool._make_role = lambda group, index: Role(
        f"actor-{index}",
        lambda: homeless,
        lambda p: p.round.remote(),
        lambda _: None,
        RestartPolicy(3),
        group=group,
        awaited=False,
    )
    write_target(scene.sitting.folder.path, {"actors": 4})
    scene.turn_until(lambda: len(scene.pool.members) == 4)
    assert scene.driver.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}
    write_target(scene.sitting.folder.path, {"actors": 3})
    scene.turn_until(lambda: len(scene.pool.members) == 3)
    assert homeless.dead
    assert [role.name for role in scene.pool.members] == ["actor-0", "actor-1", "actor-2"]


def test_a_last_candidate_that_is_still_being_validated_is_asked_for_again(scene: Scene) -> None:
    scene.driver.stop_play()
    learner = scene.process["learner"]
    parts = [ValidationPart(positions=each, all_positions=300) for each in (100, 200)]
    learner.answers["offer_candidate"] = lambda: parts.pop(0) if parts else None
    scene.driver.offer_last()
    assert learner.asked.count("offer_candidate") == 3
    assert scene.sitting.last_offered


def test_the_last_candidate_is_offered_once_and_again_only_if_the_gate_died_before_it_had_it(scene: Scene) -> None:
    assert scene.driver.save()
    gate = scene.process["gate"]
    scene.driver.stop_play()

    def die() -> Any:
        gate.dead = True
        raise RayActorError

    gate.answers["poll"] = die
    scene.driver.offer_last()
    assert scene.process["learner"].asked.count("offer_candidate") == 2
    assert scene.process["gate"] is not gate
    scene.driver.offer_last()
    assert scene.process["learner"].asked.count("offer_candidate") == 2
    scene.driver.finish_gate()
    scene.driver.save_at_last(judged=True)
    assert scene.sitting.last_offered
