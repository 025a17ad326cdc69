"""The driver's decisions without Ray: when the clock starts, what a checkpoint holds, how a run stops, who joins."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import ActorUnavailableError

from learner.algorithms.reports import FullValidation
from reversi.errors import RunError
from scripts.ray.checkpoints import STATE_TIMEOUT_S
from scripts.ray.clock import LONGEST_GAP_S
from scripts.ray.health import health_of
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.role import Role
from scripts.ray.supervisor import START_S
from scripts.run.control import write_target
from scripts.run.dashboard import UNRESPONSIVE_S
from tests.scripts.ray.driver_scene import ESSENTIAL, REPLAY, Actor, Clock, Scene


def test_the_clock_does_not_wait_for_an_actor_whose_node_is_lost(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    for name in ("actor-1", "actor-2"):
        scene.actor[name].hangs.add("*")
    began_s = clock.now_s
    scene.begin()
    assert clock.now_s - began_s < 1
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0"}
    for name in ("actor-1", "actor-2"):
        scene.actor[name].hangs.clear()
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))


def test_the_checkpoint_is_let_go_and_each_role_knows_whether_it_has_a_part(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    scene.session.checkpoint = {"learner.safetensors": b"weights", "actor-1.safetensors": b"games", "run.json": b"{}"}
    scene.drive()
    assert [role.name for role in scene.parts.all if role.resumes] == ["learner", "actor-1"]
    assert scene.session.checkpoint == {}


def test_the_games_of_an_actor_that_is_not_up_since_a_resume_stay_in_the_checkpoints(
    tmp_path: Path, clock: Clock
) -> None:
    scene = Scene(tmp_path, clock)
    scene.session.folder.save_checkpoint(1, {"actor-1.safetensors": b"games", "actor-2.safetensors": b"old"})
    scene.session.checkpoint = {"actor-1.safetensors": b"games"}
    scene.driver = scene.drive()
    for name in ("actor-1", "actor-2"):
        scene.actor[name].hangs.add("*")
    scene.begin()
    assert scene.driver.checkpoints.save()
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1"}, "and no other actor's of the same name"
    assert (scene.session.folder.checkpoints()[-1] / "actor-1.safetensors").read_bytes() == b"games"
    scene.actor["actor-1"].hangs.clear()
    scene.turn_until(lambda: scene.pool.members[1].up)
    assert scene.driver.checkpoints.save()
    assert (scene.session.folder.checkpoints()[-1] / "actor-1.safetensors").read_bytes() == b"actor-1"


@pytest.mark.parametrize("away", ["actors", "gate"])
@pytest.mark.parametrize(("cluster", "timeout_s"), [("local", START_S), ("ray", 40.0)])
def test_a_clock_that_nobody_would_start_starts_by_itself(
    away: str, cluster: str, timeout_s: float, tmp_path: Path, clock: Clock
) -> None:
    start_timeout = [f"cluster.start_timeout_s={timeout_s}"] if cluster == "ray" else []
    scene = Scene(tmp_path, clock, f"cluster={cluster}", *start_timeout)
    for name, process in scene.actor.items():
        if name.startswith(away.removesuffix("s")):
            process.hangs.add("*")
    began_s = clock.now_s
    scene.begin()
    assert clock.now_s - began_s == pytest.approx(timeout_s, abs=1)


def test_a_signal_ends_the_wait_for_a_restore(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    scene.session.checkpoint = {"learner.safetensors": b"weights"}
    scene.driver = scene.drive()
    scene.actor["learner"].hangs.add("measure")
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
    rounds = scene.actor["actor-0"].asked.count("round")
    scene.turn_until(lambda: scene.actor["actor-0"].asked.count("round") > rounds + 5)
    assert "actor-1" not in scene.saved()
    scene.actor["actor-1"].hangs.clear()
    scene.driver.turn()
    assert scene.driver.checkpoints.save()
    assert "actor-1" in scene.saved()


@pytest.mark.parametrize("name", ["learner", "gate", "replay"])
def test_a_role_that_dies_over_its_state_costs_this_checkpoint_and_not_the_run(name: str, scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    actor = scene.actor[name]
    role = {"learner": scene.parts.learner, "gate": scene.parts.gate, "replay": scene.parts.replay}[name]
    actor.causes["state"] = actor.die
    assert not scene.driver.checkpoints.save()
    assert len(scene.session.folder.checkpoints()) == 1
    scene.turn_until(scene.driver.checkpoints.save)
    assert len(scene.session.folder.checkpoints()) == 2
    assert (role.restarts, role.restart_policy.deaths) == (1, 1)
    assert scene.session.progress.state()["restarts"] == 1


@pytest.mark.parametrize("name", ["replay", "weights", "learner", "actor-1"])
def test_a_death_between_two_calls_is_counted_too(name: str, scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """No call fails by it: Ray has started the next process when the driver calls again."""
    role = next(role for role in scene.parts.all if role.name == name)
    scene.turn_until(lambda: role.up)
    for reference in list(role.calls):
        del role.calls[reference]
    scene.actor[name].die()
    scene.turn_until(lambda: role.restarts == 1)
    assert caplog.text.count(f"{name} died") == 1
    scene.turn_until(lambda: role.up)
    assert f"{name} works again" in caplog.text


def test_what_a_dead_process_owes_is_no_stall_of_the_next_one(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    learner, role = scene.actor["learner"], scene.parts.learner
    learner.hangs.add("offer_candidate")
    scene.driver.supervisor.request(role, "offer_candidate", lambda _: None)
    learner.die()
    scene.turn_until(lambda: role.restarts == 1)
    scene.turn_for(scene.job.cluster.stall_s + START_S)
    scene.turn_until(lambda: role.up)
    assert "learner has not answered" not in caplog.text


@pytest.mark.parametrize("name", ["learner", "gate", "replay", "weights", "actor-1"])
def test_a_role_that_hangs_is_killed_and_the_next_process_works(
    name: str, scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    role, actor = next(role for role in scene.parts.all if role.name == name), scene.actor[name]
    scene.turn_until(lambda: role.up)
    actor.hangs.add("*")
    scene.turn_until(lambda: role.busy and role.unanswered_s(scene.clock.now_s) > 1)
    scene.turn_for(scene.job.cluster.stall_s - 5)
    assert actor.life == 1
    scene.turn_until(lambda: actor.life == 2)
    scene.turn_until(lambda: role.up)
    assert caplog.text.count(f"{name} has not answered for") == 1
    assert (role.restarts, role.restart_policy.deaths) == (1, 1)


@pytest.mark.parametrize("name", ["learner", "gate", "replay", "weights", "actor-1"])
def test_a_driver_that_was_stopped_itself_kills_nobody_and_still_sees_who_hangs(name: str, scene: Scene) -> None:
    """SIGSTOP, `docker pause`, a suspended machine: answers that came meanwhile were not read."""
    role, actor = next(role for role in scene.parts.all if role.name == name), scene.actor[name]
    scene.turn_until(lambda: role.up)
    actor.hangs.add("*")
    scene.turn_until(lambda: role.busy)
    for _ in range(2):
        scene.clock.sleep(1000)
        scene.turn_for(1)
    assert [each.life for each in scene.actor.values()] == [1] * len(scene.actor)
    began_s = scene.clock.now_s
    scene.turn_until(lambda: actor.life == 2, within_s=scene.job.cluster.stall_s)
    assert scene.clock.now_s - began_s > scene.job.cluster.stall_s - 2 * LONGEST_GAP_S - 5


def test_actors_that_wait_for_room_are_up_and_no_trouble(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    full = replace(REPLAY, tokens=scene.job.replay.bucket_capacity)
    scene.actor["replay"].answers["report"] = lambda: full
    for index in range(3):
        scene.actor[f"actor-{index}"].hangs.add("round")
    began_s = clock.now_s
    scene.begin()
    assert clock.now_s - began_s < 2
    scene.turn_for(2 * scene.job.cluster.stall_s)
    health = health_of(scene.parts, scene.driver.supervisor, clock.now_s)["actors"]
    assert health.pending_s < UNRESPONSIVE_S
    assert [actor.life for actor in scene.actor.values()] == [1] * len(scene.actor)


def test_an_actor_that_cannot_be_reached_is_the_same_one_when_it_can(scene: Scene) -> None:
    role, actor = scene.pool.members[1], scene.actor["actor-1"]

    def away() -> Any:
        scene.actor["actor-1"].asked.append("measure")
        raise ActorUnavailableError("the network is down", None)

    scene.turn_until(lambda: role.up)
    actor.answers |= {"round": away, "measure": away}
    scene.turn_until(lambda: not role.up)
    asked = actor.asked.count("measure")
    began_s = scene.clock.now_s
    while scene.clock.now_s < began_s + 10:
        scene.driver.turn()
    assert 9 <= actor.asked.count("measure") - asked <= 12, "once in `RETRY_S`"
    assert health_of(scene.parts, scene.driver.supervisor, scene.clock.now_s)["actors"].alive == 2
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}
    actor.answers.clear()
    scene.turn_until(lambda: role.up)
    assert actor.life == 1
    assert (role.restarts, role.restart_policy.deaths) == (0, 0)
    assert scene.driver.checkpoints.save()
    assert "actor-1" in scene.saved()


def test_an_actor_that_ray_moves_while_it_cannot_be_reached_has_died(scene: Scene) -> None:
    role, actor = scene.pool.members[1], scene.actor["actor-1"]

    def away() -> Any:
        raise ActorUnavailableError("the network is down", None)

    actor.answers |= {"round": away, "measure": away}
    scene.turn_until(lambda: not role.in_contact)
    actor.die()
    scene.turn_until(lambda: role.up)
    assert (role.restarts, role.restart_policy.deaths) == (1, 1)
    assert len(role.calls) <= 1


def test_deaths_in_a_row_are_followed_by_longer_and_longer_pauses(scene: Scene) -> None:
    role, actor = scene.parts.gate, scene.actor["gate"]
    role.restart_policy = RestartPolicy(5)
    called_at: list[float] = []

    def doom() -> None:
        def call() -> None:
            called_at.append(scene.clock.now_s)
            actor.die()

        actor.causes["round"] = call

    actor.next_life = doom
    scene.turn_until(lambda: role.up)
    actor.die()
    with pytest.raises(RunError, match="the gate died 6 times, the last time by 'The actor"):
        scene.turn_until(lambda: False, 60)
    pauses = [later - earlier for earlier, later in itertools.pairwise(called_at)]
    assert pauses == pytest.approx([1, 2, 4, 8], abs=1.6), "the last digit is the time in which a death is noticed"


def test_a_stop_with_an_actor_that_hangs_saves_the_others(scene: Scene) -> None:
    scene.hang("actor-0", "*")
    assert scene.interrupt() < 6
    scene.driver.checkpoints.save_final()
    assert scene.saved() == ESSENTIAL | {"actor-1", "actor-2"}
    scene.driver.supervisor.kill_hanging_actors()
    assert [scene.actor[f"actor-{index}"].ended for index in range(3)] == [True, False, False]


@pytest.mark.parametrize("end", ["save", "stop"])
def test_an_actor_that_waited_long_for_room_is_part_of_the_checkpoint(end: str, scene: Scene) -> None:
    """As the learner's first step takes its time, so do the actors' rounds, until the replay lets them go."""
    scene.hang("actor-0", "round")
    scene.hang("actor-1", "round")
    scene.turn_for(30)

    def let_go() -> None:
        for name in ("actor-0", "actor-1"):
            scene.clock.later(0.5, scene.actor[name].hangs.clear)

    scene.actor["replay"].causes = {"release": let_go, "stop": let_go}
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
    scene.clock.later(20, scene.actor[role].hangs.clear)
    scene.driver.checkpoints.save_final()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1", "actor-2"}


def test_a_stop_waits_for_a_learner_that_died_to_be_back(scene: Scene) -> None:
    scene.actor["learner"].die()
    scene.interrupt()
    scene.driver.checkpoints.save_final()
    assert scene.parts.learner.restarts == 1
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
    scene.turn_until(lambda: all(f"actor-{index}" in scene.actor for index in range(5)))
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    write_target(scene.session.folder.path, {"actors": 2})
    scene.actor["actor-4"].hangs.add("settled")
    scene.turn_until(lambda: len(scene.pool.members) == 3)
    for name in ("actor-2", "actor-3"):
        assert scene.actor[name].asked[-1] == "settled", "all it delivered was stored before its end"
        assert scene.actor[name].ended
    assert not scene.actor["actor-4"].ended
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-1"}
    scene.actor["actor-4"].die()  # while it leaves: that is the end of it
    scene.turn_until(lambda: len(scene.pool.members) == 2)
    assert scene.actor["actor-4"].ended


def test_an_actor_without_a_node_holds_nobody_and_leaves_first(scene: Scene) -> None:
    homeless = Actor("actor-3")
    homeless.hangs.add("*")
    scene.pool._make_role = lambda group, index: Role(
        f"actor-{index}",
        lambda _: homeless,
        lambda: ("round",),
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
    assert homeless.ended
    assert [role.name for role in scene.pool.members] == ["actor-0", "actor-1", "actor-2"]


def test_a_last_candidate_that_is_still_being_validated_is_asked_for_again(scene: Scene) -> None:
    scene.driver.shutdown.stop_play()
    learner = scene.actor["learner"]
    parts = [FullValidation(positions=each, all_positions=300) for each in (100, 200, 300)]
    learner.answers["offer_candidate"] = lambda: parts.pop(0)
    scene.driver.shutdown.offer_last_candidate()
    assert learner.asked.count("offer_candidate") == 3
    assert scene.session.last_offered


def test_the_last_candidate_is_offered_once_and_again_only_if_the_gate_died_before_it_had_it(scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    gate = scene.actor["gate"]
    scene.driver.shutdown.stop_play()
    gate.causes["poll"] = gate.die
    scene.driver.shutdown.offer_last_candidate()
    assert scene.actor["learner"].asked.count("offer_candidate") == 2
    assert gate.life == 2
    scene.driver.shutdown.offer_last_candidate()
    assert scene.actor["learner"].asked.count("offer_candidate") == 2
    scene.driver.shutdown.finish_gate()
    scene.driver.checkpoints.save_final(judged=True)
    assert scene.session.last_offered
