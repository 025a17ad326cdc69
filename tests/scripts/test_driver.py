"""The driver's decisions without Ray: when the clock starts, what a checkpoint holds, how a run stops, who joins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import ActorUnavailableError, RayActorError

from learner.algorithms.reports import FullValidation
from reversi.errors import RunError
from scripts.ray import watchdog as watchdog_module
from scripts.ray.checkpoints import STATE_TIMEOUT_S
from scripts.ray.driver import Driver
from scripts.ray.health import health_of
from scripts.ray.lifecycle import START_S
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.roles import Role
from scripts.run.control import TargetWatcher, write_target
from tests.scripts.driver_scene import ESSENTIAL, Clock, Process, Reference, Scene


def test_the_clock_does_not_wait_for_an_actor_whose_node_is_lost(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    for name in ("actor-1", "actor-2"):
        scene.process[name].hangs.add("*")
    began_s = clock.now_s
    scene.begin()
    assert clock.now_s - began_s < 1
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0"}
    for name in ("actor-1", "actor-2"):
        scene.process[name].hangs.clear()
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))


def test_the_checkpoint_is_let_go_once_every_role_has_its_part(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    scene.session.checkpoint = {"learner.safetensors": b"weights", "run.json": b"{}"}
    Driver(scene.session, scene.parts, TargetWatcher(scene.session.folder.path, scene.job))
    assert scene.parts.learner.saved == b"weights"
    assert scene.session.checkpoint == {}


@pytest.mark.parametrize("away", ["actors", "gate"])
@pytest.mark.parametrize(("cluster", "timeout_s"), [("local", START_S), ("ray", 40.0)])
def test_a_clock_that_nobody_would_start_starts_by_itself(
    away: str, cluster: str, timeout_s: float, tmp_path: Path, clock: Clock
) -> None:
    start_timeout = [f"cluster.start_timeout_s={timeout_s}"] if cluster == "ray" else []
    scene = Scene(tmp_path, clock, f"cluster={cluster}", *start_timeout)
    for name, process in scene.process.items():
        if name.startswith(away.removesuffix("s")):
            process.hangs.add("*")
    began_s = clock.now_s
    scene.begin()
    assert clock.now_s - began_s == pytest.approx(timeout_s, abs=1)


def test_a_signal_ends_the_wait_for_a_restore(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    learner = scene.process["learner"]
    learner.hangs.add("restore")
    scene.driver.supervisor.call(scene.parts.learner, Reference(learner, "restore", ()), lambda _: None)
    clock.later(5, scene.session.interrupt.request)
    began_s = clock.now_s
    assert not scene.driver.wait_until_up()
    assert clock.now_s - began_s == pytest.approx(5, abs=1)
    assert scene.session.folder.disposable
    assert not scene.session.folder.trained


def test_a_checkpoint_holds_every_part(scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}
    assert (scene.session.folder.checkpoints()[-1] / "actor-1.safetensors").read_bytes() == b"actor-1"


@pytest.mark.parametrize("hangs", ["round", "state"])
def test_an_actor_that_hangs_is_left_out_and_holds_nobody(hangs: str, scene: Scene) -> None:
    scene.hang("actor-1", hangs)
    began_s = scene.clock.now_s
    assert scene.driver.checkpoints.save()
    assert scene.clock.now_s - began_s == pytest.approx(5, abs=0.5), "`LATE_S` or `ACTOR_STATES_S`"
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}
    rounds = scene.process["actor-0"].asked.count("round")
    scene.turn_until(lambda: scene.process["actor-0"].asked.count("round") > rounds + 5)
    assert "actor-1" not in scene.saved()
    scene.process["actor-1"].hangs.clear()
    scene.driver.turn()
    assert scene.driver.checkpoints.save()
    assert "actor-1" in scene.saved()


@pytest.mark.parametrize("role", ["learner", "gate"])
def test_a_role_that_dies_over_its_state_costs_this_checkpoint_and_not_the_run(role: str, scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    first = scene.process[role]

    def die() -> Any:
        first.dead = True
        raise RayActorError

    first.answers["state"] = die
    assert not scene.driver.checkpoints.save()
    assert len(scene.session.folder.checkpoints()) == 1
    scene.turn_until(lambda: scene.process[role] is not first and scene.driver.checkpoints.save())
    scene.turn_until(lambda: "round" in scene.process[role].asked)
    assert scene.process[role].asked.index("restore") < scene.process[role].asked.index("round")
    assert len(scene.session.folder.checkpoints()) == 2


def test_what_a_dead_process_owes_is_no_stall_of_the_next_one(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    class Never(Reference):
        ready = False

    killed: list[str] = []
    monkeypatch.setattr(watchdog_module, "end_process", lambda role: killed.append(role.name))
    first = scene.process["learner"]
    scene.driver.supervisor.call(scene.parts.learner, Never(first, "offer_candidate", ()), lambda _: None)
    first.dead = True
    scene.turn_until(lambda: scene.parts.learner.handle is None)
    scene.clock.sleep(scene.job.cluster.stall_s + START_S)
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
    assert 9 <= process.asked.count("round") - asked <= 12, "once in `UNREACHABLE_RETRY_S`"
    assert health_of(scene.parts)["actors"].alive == 2
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}
    del process.answers["round"]
    scene.turn_until(lambda: role.up)
    assert scene.process["actor-1"] is process
    assert (role.restarts, role.restart_policy.deaths) == (0, 0)
    assert scene.driver.checkpoints.save()
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
    scene.driver.checkpoints.save_final()
    assert scene.saved() == ESSENTIAL | {"actor-1", "actor-2"}
    scene.driver.shutdown.kill_hanging_actors()
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
        assert scene.driver.checkpoints.save()
    else:
        assert scene.interrupt() < 1
        scene.driver.checkpoints.save_final()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}


@pytest.mark.parametrize("role", ["replay", "gate", "learner"])
def test_a_stop_waits_for_a_state_that_takes_its_time(role: str, scene: Scene) -> None:
    scene.hang(role, "state")
    assert scene.interrupt() < 1
    scene.clock.later(20, scene.process[role].hangs.clear)
    scene.driver.checkpoints.save_final()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}


def test_a_stop_waits_for_a_learner_that_died_to_be_back(scene: Scene) -> None:
    first = scene.process["learner"]
    first.dead = True
    scene.interrupt()
    scene.driver.checkpoints.save_final()
    assert scene.process["learner"] is not first
    assert scene.saved() >= ESSENTIAL


def test_a_stop_with_a_learner_that_hangs_ends_with_one_line(scene: Scene) -> None:
    scene.hang("learner", "*")
    assert scene.interrupt() < 6
    began_s = scene.clock.now_s
    with pytest.raises(RunError) as ended:
        scene.driver.checkpoints.save_final()
    assert scene.clock.now_s - began_s < STATE_TIMEOUT_S + 6
    words = str(scene.session.with_resume_hint(ended.value))
    assert "the learner did not answer to 'state'; start it again; see " in words
    (scene.session.folder.path / "registry" / "models" / "000000").mkdir(parents=True)
    words = str(scene.session.with_resume_hint(ended.value))
    assert "; start it again under a new run.name; see " in words
    assert scene.session.folder.checkpoints() == [], "and nothing more was tried"


def test_actors_join_and_leave_after_their_round_and_their_deliveries(scene: Scene) -> None:
    write_target(scene.session.folder.path, {"actors": 5})
    scene.turn_until(lambda: all(f"actor-{index}" in scene.process for index in range(5)))
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    write_target(scene.session.folder.path, {"actors": 2})
    scene.process["actor-4"].hangs.add("settled")
    scene.turn_until(lambda: len(scene.pool.members) == 3)
    for name in ("actor-2", "actor-3"):
        assert scene.process[name].asked[-1] == "settled", "all it delivered was stored before its end"
        assert scene.process[name].dead
    assert not scene.process["actor-4"].dead
    assert scene.driver.checkpoints.save()
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
    )
    write_target(scene.session.folder.path, {"actors": 4})
    scene.turn_until(lambda: len(scene.pool.members) == 4)
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}
    write_target(scene.session.folder.path, {"actors": 3})
    scene.turn_until(lambda: len(scene.pool.members) == 3)
    assert homeless.dead
    assert [role.name for role in scene.pool.members] == ["actor-0", "actor-1", "actor-2"]


def test_a_last_candidate_that_is_still_being_validated_is_asked_for_again(scene: Scene) -> None:
    scene.driver.shutdown.stop_play()
    learner = scene.process["learner"]
    parts = [FullValidation(positions=each, all_positions=300) for each in (100, 200, 300)]
    learner.answers["offer_candidate"] = lambda: parts.pop(0)
    scene.driver.shutdown.offer_last_candidate()
    assert learner.asked.count("offer_candidate") == 3
    assert scene.session.last_offered


def test_the_last_candidate_is_offered_once_and_again_only_if_the_gate_died_before_it_had_it(scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    gate = scene.process["gate"]
    scene.driver.shutdown.stop_play()

    def die() -> Any:
        gate.dead = True
        raise RayActorError

    gate.answers["poll"] = die
    scene.driver.shutdown.offer_last_candidate()
    assert scene.process["learner"].asked.count("offer_candidate") == 2
    assert scene.process["gate"] is not gate
    scene.driver.shutdown.offer_last_candidate()
    assert scene.process["learner"].asked.count("offer_candidate") == 2
    scene.driver.shutdown.finish_gate()
    scene.driver.checkpoints.save_final(judged=True)
    assert scene.session.last_offered
