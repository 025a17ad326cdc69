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
from reversi.model.folder import Folder
from scripts.ray.champion import RETRY_S
from scripts.ray.health import REPORT_EVERY_S, health_of
from scripts.ray.lifecycle import START_S
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.roles import Process as Measurement
from tests.evaluator.gates import weights
from tests.scripts.driver_scene import ESSENTIAL, REPLAY, Clock, Process, Scene


def lost() -> Any:
    raise ObjectReconstructionFailedError("ab", ErrorType.OBJECT_UNRECONSTRUCTABLE_MAX_ATTEMPTS_EXCEEDED)


@pytest.mark.parametrize("name", ["actor-1", "gate", "learner"])
def test_an_answer_that_was_lost_with_its_node_is_a_death_of_its_role(name: str, scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    first = scene.process[name]
    first.answers["state"] = lost
    assert scene.driver.checkpoints.save() == name.startswith("actor")
    assert len(scene.session.folder.checkpoints()) == (2 if name.startswith("actor") else 1)
    assert (name in scene.saved()) == (not name.startswith("actor"))
    assert first.dead
    scene.turn_until(lambda: scene.process[name] is not first and scene.driver.checkpoints.save())
    assert health_of(scene.parts)["actors" if name.startswith("actor") else name].restarts == 1


def test_an_answer_of_the_replay_that_was_lost_costs_a_checkpoint(scene: Scene) -> None:
    scene.parts.replay.by_ray = True
    scene.process["replay"].answers["state"] = lost
    began_s = scene.clock.now_s
    assert not scene.driver.checkpoints.save()
    assert scene.clock.now_s - began_s < 1
    del scene.process["replay"].answers["state"]
    assert scene.driver.checkpoints.save()


def cut_off() -> Any:
    raise RayTaskError(
        "round", "...", UnreachableError("redis at redis://far: gave up after 120 s")
    ).as_instanceof_cause()


def test_an_actor_that_cannot_reach_redis_is_started_again_for_as_long_as_others_can(scene: Scene) -> None:
    role, starts = scene.pool.members[1], [scene.clock.now_s]

    def start() -> Process:
        starts.append(scene.clock.now_s)
        scene.process["actor-1"] = Process("actor-1")
        scene.process["actor-1"].answers["round"] = cut_off
        return scene.process["actor-1"]

    role.start = start
    first = scene.process["actor-1"]
    first.answers["round"] = cut_off
    while len(starts) < 12:
        scene.driver.turn()
    assert first.dead
    pauses = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, *[30] * 6], abs=0.6)
    assert scene.driver.checkpoints.save()
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}
    assert role.restart_policy.deaths == 0
    role.start = lambda: scene.process.setdefault("back", Process("actor-1"))
    scene.turn_until(lambda: role.handle is None)
    scene.clock.sleep(START_S)
    scene.turn_until(lambda: role.up)


def test_a_run_whose_actors_all_cannot_reach_redis_ends_saved_and_says_how_to_go_on(scene: Scene) -> None:
    for index in range(3):
        scene.process[f"actor-{index}"].answers["round"] = cut_off
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
    scene.process["actor-2"].hangs.add("*")
    scene.begin()
    scene.turn_until(lambda: all(role.up for role in scene.pool.members[:2]))
    for index in range(2):
        scene.process[f"actor-{index}"].answers["round"] = cut_off
    with pytest.raises(UnreachableError, match="redis at redis://far"):
        scene.turn_until(lambda: False)


def test_an_actor_that_leaves_need_not_reach_redis(scene: Scene) -> None:
    leaver = scene.process["actor-2"]
    leaver.answers["round"] = cut_off
    scene.pool.members[2].leaving = True
    scene.turn_until(lambda: len(scene.pool.members) == 2)
    assert leaver.dead


def test_a_run_that_an_actor_ends_is_saved_without_it(scene: Scene) -> None:
    scene.pool.members[1].restart_policy = RestartPolicy(0)
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    scene.process["actor-1"].dead = True
    with pytest.raises(RunError, match="the actor-1 died and ended the run") as ended:
        scene.turn_until(lambda: False)
    scene.driver.save_after(ended.value)
    assert scene.saved() == ESSENTIAL | {"actor-0", "actor-2"}


def test_a_run_that_all_its_actors_end_at_once_is_saved(scene: Scene) -> None:
    def unfit() -> Any:
        raise RayTaskError("round", "...", IncompatibleModelError("expected reversi6")).as_instanceof_cause()

    for index in range(3):
        scene.process[f"actor-{index}"].answers["round"] = unfit
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
    scene.process["replay"].answers["report"] = lambda: replace(REPLAY, games_total=50, process="one")
    scene.clock.sleep(2)
    scene.turn_until(lambda: scene.session.progress.games == 50 and all(role.up for role in scene.pool.members))
    first = dict(scene.process)
    scene.process["replay"].answers["report"] = lambda: replace(REPLAY, games_total=20, process="two")
    if seen == "at a checkpoint":
        assert scene.driver.checkpoints.save()
        assert scene.saved() == ESSENTIAL, "what the actors have delivered before is not what this replay has"
    else:
        scene.clock.sleep(2)
        scene.turn_until(lambda: scene.process["actor-0"] is not first["actor-0"])
    assert first["actor-0"].dead
    scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    assert "restore" not in scene.process["actor-0"].asked
    assert scene.process["learner"] is first["learner"]
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
        scene.process["replay"].answers["report"] = lambda: report  # noqa: B023
        scene.clock.sleep(2)
        scene.turn_until(lambda: report in reports)  # noqa: B023
        scene.turn_until(lambda: all(role.up for role in scene.pool.members))
    assert not scene.process["actor-0"].dead
    assert scene.driver.checkpoints.save()
    assert "actor-0" in scene.saved()
    assert "the replay lost 30 games with its death" in caplog.text


def restart_by_ray(scene: Scene, name: str) -> None:
    """Let a role that has reported its process report another one."""
    role = {"replay": scene.parts.replay, "weights": scene.parts.weights}[name]
    role.by_ray = True
    scene.process[name].answers["measure"] = lambda: Measurement(pid=1, node="one", rss_mb=1.0)
    scene.turn_until(lambda: role.process is not None)
    scene.process[name].answers["measure"] = lambda: Measurement(pid=2, node="one", rss_mb=1.0)


def test_a_run_that_a_role_ends_which_ray_restarts_is_saved(scene: Scene) -> None:
    """The process that ended the run is measured again while the run is saved: that is not another death."""
    scene.parts.replay.restart_policy = RestartPolicy(0)
    restart_by_ray(scene, "replay")
    with pytest.raises(RunError, match="the replay died once within an hour") as ended:
        scene.turn_until(lambda: False)
    scene.clock.sleep(REPORT_EVERY_S)
    scene.driver.save_after(ended.value)
    assert scene.parts.replay.restarts == 1
    assert scene.saved() >= ESSENTIAL


@pytest.mark.parametrize("first", ["actors", "learner"])
def test_a_run_whose_last_rounds_all_fail_is_saved(first: str, scene: Scene) -> None:
    """Without the Redis server the learner's round fails like those of the actors, before or after them."""
    roles = ["learner", "actor-0", "actor-1", "actor-2"]
    for name in roles:
        scene.hang(name, "round")
        scene.process[name].answers["round"] = cut_off
    for name in roles[1:] if first == "actors" else roles[:1]:
        scene.process[name].hangs.clear()
    with pytest.raises(UnreachableError) as ended:
        scene.turn_until(lambda: False)
    for name in roles:
        scene.process[name].hangs.clear()
    scene.driver.save_after(ended.value)
    assert scene.saved() >= ESSENTIAL


def test_a_run_that_the_learner_ends_keeps_its_last_checkpoint(scene: Scene) -> None:
    assert scene.driver.checkpoints.save()
    scene.parts.learner.restart_policy = RestartPolicy(0)
    scene.process["learner"].dead = True
    with pytest.raises(RunError, match="the learner died and ended the run") as ended:
        scene.turn_until(lambda: False)
    began_s = scene.clock.now_s
    scene.driver.save_after(ended.value)
    assert scene.clock.now_s - began_s < 6, "nobody waits for a learner that is not started again"
    assert len(scene.session.folder.checkpoints()) == 1
    assert "go on from the last checkpoint with: " in str(scene.session.with_resume_hint(ended.value))


def test_weights_that_have_diverged_are_not_saved(scene: Scene) -> None:
    def diverged() -> Any:
        error = TrainingDivergedError("training diverged at step 7")
        raise RayTaskError("round", "...", error).as_instanceof_cause()

    scene.process["learner"].answers["round"] = diverged
    with pytest.raises(TrainingDivergedError) as ended:
        scene.turn_until(lambda: False)
    scene.driver.save_after(ended.value)
    assert scene.session.folder.checkpoints() == []


def test_the_champion_is_sent_to_new_weights_once_the_registry_can_be_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.session.open_registry().publish(weights(0), "first", None)

    def away(*_: Any) -> None:
        raise UnreachableError("no answer")

    process = scene.process["weights"]
    with monkeypatch.context() as network:
        network.setattr(Folder, "read", away)
        restart_by_ray(scene, "weights")
        scene.turn_until(lambda: scene.parts.weights.restarts == 1)
        scene.driver.turn()
        scene.driver.turn()
    assert "promoted" not in process.asked
    began_s = scene.clock.now_s
    scene.turn_until(lambda: "promoted" in process.asked)
    assert scene.clock.now_s - began_s <= RETRY_S + 1


def test_a_learner_whose_restart_cannot_read_the_registry_is_started_later(scene: Scene) -> None:
    first, starts = scene.process["learner"], []
    again = scene.parts.learner.start

    def start() -> Any:
        starts.append(scene.clock.now_s)
        if len(starts) == 1:
            raise UnreachableError("no answer")
        return again()

    scene.parts.learner.start = start
    first.dead = True
    scene.turn_until(lambda: scene.process["learner"] is not first and scene.parts.learner.up)
    assert len(starts) == 2
