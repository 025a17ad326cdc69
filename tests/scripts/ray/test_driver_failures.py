"""What the driver makes of answers that are lost, actors that cannot reach Redis, and errors that end the run."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ray.core.generated.common_pb2 import ErrorType
from ray.exceptions import ObjectReconstructionFailedError, RayTaskError

from actors.worker import ActorReport
from learner.replay.transport import ReplayReport
from reversi.errors import IncompatibleModelError, RunError, TrainingDivergedError, UnreachableError
from scripts.ray.health import health_of
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.role import Process
from tests.scripts.ray.driver_scene import ESSENTIAL, REPLAY, Clock, Scene


def lost() -> Any:
    raise ObjectReconstructionFailedError("ab", ErrorType.OBJECT_UNRECONSTRUCTABLE_MAX_ATTEMPTS_EXCEEDED)


ROLES = ["actor-1", "gate", "learner", "replay"]


@pytest.mark.parametrize("name", ROLES)
def test_an_answer_that_was_lost_with_its_node_is_a_death_of_its_role(name: str, scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    actor, is_actor = scene.actor[name], name.startswith("actor")

    def lost_with_its_node() -> Any:
        actor.die()
        lost()

    actor.answers["state"] = lost_with_its_node
    assert scene.driver.checkpoints.save() == is_actor
    assert len(scene.session.folder.checkpoints()) == (2 if is_actor else 1)
    assert (name in scene.saved()) == (not is_actor)
    scene.turn_until(lambda: all(role.in_contact for role in scene.parts.all))
    assert scene.driver.checkpoints.save()
    health = health_of(scene.parts, scene.driver.supervisor, scene.clock.now_s)
    assert health["actors" if is_actor else name].restarts == 1


@pytest.mark.parametrize("name", ROLES)
def test_an_answer_that_was_lost_alone_costs_a_checkpoint_and_no_process(name: str, scene: Scene) -> None:
    actor, is_actor = scene.actor[name], name.startswith("actor")
    actor.answers["state"] = lost
    began_s = scene.clock.now_s
    assert scene.driver.checkpoints.save() == is_actor
    assert scene.clock.now_s - began_s < 1
    del actor.answers["state"]
    scene.turn_until(lambda: all(role.up for role in scene.parts.all))
    assert scene.driver.checkpoints.save()
    assert "actor-1" in scene.saved()
    assert actor.life == 1
    assert scene.session.progress.state()["restarts"] == 0


@pytest.mark.parametrize("name", ROLES)
def test_a_process_whose_method_fails_in_an_unknown_way_is_killed(name: str, scene: Scene) -> None:
    def broken() -> Any:
        raise RayTaskError("round", "...", ValueError("no such thing")).as_instanceof_cause()

    actor = scene.actor[name]
    actor.answers |= {"round": broken, "report": broken}
    scene.turn_until(lambda: actor.life == 2)
    scene.turn_until(lambda: all(role.up for role in scene.parts.all))
    health = health_of(scene.parts, scene.driver.supervisor, scene.clock.now_s)
    assert health["actors" if name == "actor-1" else name].restarts == 1


@pytest.mark.parametrize("name", ["learner", "gate", "actor-1"])
def test_a_role_that_ray_does_not_start_again_is_started_by_the_driver(name: str, scene: Scene) -> None:
    """As one whose node was shut down in order (a pod deleted, `ray stop`)."""
    scene.turn_until(lambda: all(role.up for role in scene.parts.all))
    role, before = next(role for role in scene.parts.all if role.name == name), scene.actor[name]
    before.ended = True
    scene.turn_until(lambda: role.restarts == 1)
    scene.turn_until(lambda: role.up)
    assert role.handle is scene.actor[name] is not before
    assert role.restart_policy.deaths == 1
    assert scene.driver.checkpoints.save()
    assert name in scene.saved()


def test_a_role_whose_constructor_fails_ends_the_run(scene: Scene) -> None:
    """As often as it is started."""
    role, start = scene.parts.gate, scene.parts.gate.start

    def doomed(resumes: bool) -> Any:
        actor = start(resumes)
        actor.ended = True
        return actor

    role.start, scene.actor["gate"].ended = doomed, True
    with pytest.raises(RunError, match="the gate died 4 times, the last time by 'The actor died unexpectedly before"):
        scene.turn_until(lambda: False)


@pytest.mark.parametrize("name", ["replay", "weights"])
def test_a_part_that_others_call_and_that_ray_does_not_start_again_ends_the_run(name: str, scene: Scene) -> None:
    scene.actor[name].ended = True
    with pytest.raises(RunError, match=f"the {name} died and ended the run"):
        scene.turn_until(lambda: False)


def cut_off() -> Any:
    raise RayTaskError(
        "round", "...", UnreachableError("redis at redis://far: gave up after 120 s")
    ).as_instanceof_cause()


def test_an_actor_that_cannot_reach_redis_is_started_again_for_as_long_as_others_can(scene: Scene) -> None:
    role, actor = scene.pool.members[1], scene.actor["actor-1"]
    calls: list[float] = []

    def refuse() -> None:
        actor.causes["round"] = lambda: calls.append(scene.clock.now_s)
        actor.answers["round"] = cut_off

    actor.next_life = refuse
    scene.turn_until(lambda: role.up)
    refuse()
    calls.append(scene.clock.now_s)  # the round in flight
    while len(calls) < 12:
        scene.driver.turn()
    assert actor.life >= 12
    pauses = [later - earlier for earlier, later in itertools.pairwise(calls)]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, *[30] * 6], abs=0.6)
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}
    assert role.restart_policy.deaths == 0
    assert role.restarts == actor.life - 1
    actor.causes, actor.answers = {}, {}
    scene.turn_until(lambda: role.up, 40)


def test_a_run_whose_actors_all_cannot_reach_redis_ends_saved_and_says_how_to_go_on(scene: Scene) -> None:
    for index in range(3):
        scene.actor[f"actor-{index}"].answers["round"] = cut_off
    with pytest.raises(UnreachableError, match="redis at redis://far") as ended:
        scene.turn_until(lambda: False)
    scene.driver.save_after(ended.value)
    assert scene.saved() >= ESSENTIAL
    words = scene.session.with_resume_hint(ended.value)
    assert isinstance(words, UnreachableError)
    assert "gave up after 120 s; go on from the last checkpoint with: reversi train resume=" in str(words)


def test_a_run_over_redis_without_a_checkpoint_goes_on_from_what_the_server_holds(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock, "replay=redis").begin()
    words = scene.session.with_resume_hint(RunError("the learner died"))
    assert "; go on from what redis holds with: reversi train resume=" in str(words)


def test_an_actor_that_waits_for_a_node_is_not_one_that_reaches_redis(tmp_path: Path, clock: Clock) -> None:
    scene = Scene(tmp_path, clock)
    scene.actor["actor-2"].hangs.add("*")
    scene.begin()
    scene.turn_until(lambda: all(role.up for role in scene.pool.members[:2]))
    for index in range(2):
        scene.actor[f"actor-{index}"].answers["round"] = cut_off
    with pytest.raises(UnreachableError, match="redis at redis://far"):
        scene.turn_until(lambda: False)


def test_an_actor_that_leaves_need_not_reach_redis(scene: Scene) -> None:
    leaver = scene.actor["actor-2"]
    leaver.answers["round"] = cut_off
    scene.pool.members[2].leaving = True
    scene.turn_until(lambda: len(scene.pool.members) == 2)
    assert leaver.ended


def test_a_run_that_an_actor_ends_is_saved_without_it(scene: Scene) -> None:
    scene.pool.members[1].restart_policy = RestartPolicy(0)
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    scene.actor["actor-1"].die()
    with pytest.raises(RunError, match="the actor-1 died and ended the run") as ended:
        scene.turn_until(lambda: False)
    scene.driver.save_after(ended.value)
    assert scene.saved() >= ESSENTIAL | {"actor-0", "actor-2"}


def test_a_run_that_all_its_actors_end_at_once_is_saved(scene: Scene) -> None:
    def unfit() -> Any:
        raise RayTaskError("round", "...", IncompatibleModelError("expected reversi6")).as_instanceof_cause()

    for index in range(3):
        scene.actor[f"actor-{index}"].answers["round"] = unfit
    with pytest.raises(IncompatibleModelError) as ended:
        scene.turn_until(lambda: False)
    scene.driver.save_after(ended.value)
    assert scene.saved() >= ESSENTIAL


@pytest.mark.parametrize("seen", ["by a report", "at a checkpoint"])
def test_after_a_death_of_the_replay_game_files_are_read_again_by_a_new_actor(
    seen: str, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path, clock, "experiment=wthor", "cluster=local")
    restarts = scene.begin().session.progress.state()["restarts"]
    scene.parts.replay.on_report = scene.session.replay
    scene.actor["replay"].answers["report"] = lambda: replace(REPLAY, games_total=50, process="one")
    scene.clock.sleep(2)
    scene.turn_until(lambda: scene.session.progress.games == 50 and all(role.up for role in scene.pool.members))
    reader = scene.actor["actor-0"]
    life = reader.life
    scene.actor["replay"].answers["report"] = lambda: replace(REPLAY, games_total=20, process="two")
    if seen == "at a checkpoint":
        assert scene.driver.checkpoints.save()
        assert scene.saved() == ESSENTIAL, "what the actors have delivered before is not what this replay has"
    else:
        scene.clock.sleep(2)
        scene.turn_until(lambda: reader.life == life + 1)
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    assert reader.life == life + 1
    assert scene.actor["learner"].life == 1
    assert scene.session.progress.state()["restarts"] == restarts
    assert scene.driver.checkpoints.save()
    assert "the game files are read again" in caplog.text
    assert "the replay lost" not in caplog.text


def test_after_a_death_of_the_replay_actors_that_play_go_on_and_the_log_has_the_loss(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.session.actor(ActorReport(games=50, version=0, playing_s=1, waiting_s=0, between_s=0))
    reports: list[ReplayReport] = []
    scene.parts.replay.on_report = reports.append
    for games, process in ((50, "one"), (20, "two")):
        report = replace(REPLAY, games_total=games, process=process)
        scene.actor["replay"].answers["report"] = lambda: report  # noqa: B023
        scene.clock.sleep(2)
        scene.turn_until(lambda: report in reports)  # noqa: B023
        scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    assert scene.actor["actor-0"].life == 1
    assert scene.driver.checkpoints.save()
    assert "actor-0" in scene.saved()
    assert "the replay lost 30 games with its death" in caplog.text


@pytest.mark.parametrize("name", ["replay", "gate", "learner"])
def test_a_run_that_a_role_ends_is_saved_with_what_its_next_process_holds(name: str, scene: Scene) -> None:
    role = next(role for role in scene.parts.all if role.name == name)
    role.restart_policy = RestartPolicy(0)
    scene.actor[name].die()
    with pytest.raises(RunError, match=f"the {name} died and ended the run") as ended:
        scene.turn_until(lambda: False)
    scene.driver.save_after(ended.value)
    assert (role.restarts, role.restart_policy.deaths) == (1, 1)
    assert scene.saved() >= ESSENTIAL


@pytest.mark.parametrize("first", ["actors", "learner"])
def test_a_run_whose_last_rounds_all_fail_is_saved(first: str, scene: Scene) -> None:
    """Without the Redis server the learner's round fails like those of the actors, before or after them."""
    roles = ["learner", "actor-0", "actor-1", "actor-2"]
    for name in roles:
        scene.hang(name, "round")
        scene.actor[name].answers["round"] = cut_off
    for name in roles[1:] if first == "actors" else roles[:1]:
        scene.actor[name].hangs.clear()
    with pytest.raises(UnreachableError) as ended:
        scene.turn_until(lambda: False)
    for name in roles:
        scene.actor[name].hangs.clear()
    scene.driver.save_after(ended.value)
    assert scene.saved() >= ESSENTIAL


def test_a_run_that_a_learner_ends_which_is_away_keeps_its_last_checkpoint(scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    scene.parts.learner.restart_policy = RestartPolicy(0)
    learner = scene.actor["learner"]
    learner.die()
    with pytest.raises(RunError, match="the learner died and ended the run") as ended:
        scene.turn_until(lambda: False)

    def die_again() -> None:
        learner.die()
        learner.hangs.add("*")

    learner.causes["state"] = die_again
    began_s = scene.clock.now_s
    scene.driver.save_after(ended.value)
    assert scene.clock.now_s - began_s < 6, "nobody waits for a learner that has died too often"
    assert len(scene.session.folder.checkpoints()) == 1
    assert "go on from the last checkpoint with: " in str(scene.session.with_resume_hint(ended.value))


def test_weights_that_have_diverged_are_not_saved(scene: Scene) -> None:
    def diverged() -> Any:
        error = TrainingDivergedError("training diverged at step 7")
        raise RayTaskError("round", "...", error).as_instanceof_cause()

    scene.actor["learner"].answers["round"] = diverged
    with pytest.raises(TrainingDivergedError) as ended:
        scene.turn_until(lambda: False)
    scene.driver.save_after(ended.value)
    assert scene.session.folder.checkpoints() == []


@pytest.mark.parametrize("trained", [False, True])
def test_a_process_of_another_version_ends_a_run_that_has_not_begun(
    trained: bool, scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Later the run goes on and the log says so: someone may have edited the code of a role that was started again."""
    scene.session.folder.trained = trained
    of_others = Process(pid=1, node="one", token="gate 1", rss_mb=1.0, code="0.0.9 (abc)")
    scene.actor["gate"].answers["measure"] = lambda: of_others

    def measured() -> bool:
        scene.clock.now_s += 10
        return "0.0.9" in caplog.text

    if trained:
        scene.turn_until(measured, within_s=1000)
        assert "the gate runs version 0.0.9 (abc) of the code and the driver " in caplog.text
    else:
        with pytest.raises(RunError, match=r"install one version on every node, or send it by cluster\.working_dir"):
            scene.turn_until(measured, within_s=1000)
