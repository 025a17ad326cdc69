"""What a session takes from the one before: whether the last candidate was offered, whether there is more to do."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from actors.worker import ActorReport
from evaluator.gate_report import GateReport
from learner.algorithms.reports import FullValidation
from learner.learner import LearnerReport
from learner.replay.memory import MemoryReplay
from learner.replay.samples import POSITIONS
from reversi.errors import ConfigError, CorruptFileError, RunError
from reversi.games.rules import game_named
from scripts.run.exit_record import ExitRecorder
from scripts.run.folder import RunFolder
from scripts.run.session import Session
from scripts.run.stopping_criteria import IDLE_ROUNDS
from tests.configs import replay_config
from tests.scripts.run.sessions import PARTS, session

HELD = MemoryReplay(game_named("reversi4"), replay_config(), POSITIONS, 1).report()


def after(folder: RunFolder, *overrides: str) -> Session:
    loaded = session(folder, *overrides)
    loaded.load_checkpoint()
    return loaded


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(str(tmp_path), "run")


def trained(folder: RunFolder, *overrides: str, games: int = 0) -> Session:
    """A session in which all that `overrides` ask for has been done."""
    done = session(folder, *overrides)
    done.criteria.before_s = 120.0
    done.criteria.games = games
    done.begin()
    return done


def played(games: int) -> ActorReport:
    """A round in which so many games ended."""
    return ActorReport(games=games, version=0, playing_s=1.0)


def learned(steps: int, step: int) -> LearnerReport:
    """A round of so many steps, the last of them number `step`."""
    return LearnerReport(
        steps=steps,
        samples=8 * steps,
        step=step,
        version=1,
        losses=None,
        learning_rate=0.1,
        gradient_norm=0.0,
        training_s=1,
        waiting_s=0,
    )


def test_what_a_start_takes_is_no_training(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of a run that an error ends before all its parts are up says so too."""
    now_s = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    first = session(folder, "run.minutes=9")
    now_s += 200
    assert first.fraction == 0
    first.save(PARTS)
    second = after(folder, "run.minutes=9")
    now_s += 100
    second.begin()
    now_s += 30
    assert second.criteria.elapsed_s == 30


def test_a_run_stopped_in_its_last_match_does_not_offer_again(folder: RunFolder) -> None:
    first = trained(folder, "run.minutes=2")
    assert not first.goes_on
    first.offered(FullValidation())
    first.interrupt.requested = True
    first.save(PARTS, judged=True)  # a match that a signal has cut short is not over
    second = after(folder, "run.minutes=2")
    assert second.last_offered
    assert not second.goes_on
    second.save(PARTS, judged=True)
    third = after(folder, "run.minutes=2")  # it was killed before its summary, which is still to be made
    assert third.last_offered
    assert not third.goes_on
    ExitRecorder(folder).record("finished")
    with pytest.raises(ConfigError, match="has trained 2 min of 2 min; give it more"):
        after(folder, "run.minutes=2")


def test_a_run_that_has_trained_says_for_how_long(folder: RunFolder) -> None:
    first = session(folder, "run.minutes=0.05")
    first.criteria.before_s = 72_000.0
    first.save(PARTS, judged=True)
    ExitRecorder(folder).record("finished")
    with pytest.raises(ConfigError, match=r"has trained 20 h of 3 s; give it more, as in .* run\.minutes="):
        after(folder, "run.minutes=0.05")


def test_a_run_killed_in_its_last_match_has_not_ended(folder: RunFolder) -> None:
    first = trained(folder, "run.minutes=2")
    first.offered(FullValidation())
    first.save(PARTS)
    assert after(folder, "run.minutes=2").last_offered


def test_a_run_that_is_given_more_has_another_last_candidate(folder: RunFolder) -> None:
    first = trained(folder, "run.minutes=2")
    first.offered(FullValidation())
    first.save(PARTS)
    second = after(folder, "run.minutes=4")
    assert second.goes_on
    assert not second.last_offered


def test_a_run_that_is_given_more_games_plays_on(folder: RunFolder) -> None:
    first = trained(folder, "run.minutes=9", "run.games=100", games=100)
    for _ in range(IDLE_ROUNDS):
        assert first.goes_on
        first.learner(learned(steps=0, step=7))
    assert not first.goes_on
    first.offered(FullValidation())
    first.save(PARTS)
    assert not after(folder, "run.minutes=9", "run.games=100").goes_on
    second = after(folder, "run.minutes=9", "run.games=200")
    assert second.goes_on
    assert second.plays_on
    assert not second.last_offered


def test_game_files_are_read_again_to_their_end(folder: RunFolder) -> None:
    run = trained(folder, "experiment=wthor", "run.minutes=9")
    read = ActorReport(games=9, version=-1, playing_s=1, finished=True)
    assert not run.checkpoint_due
    run.actor(read)
    assert run.checkpoint_due
    run.save(PARTS)
    assert not run.checkpoint_due
    run.learner(learned(steps=0, step=7))
    assert not run.plays_on
    run.reread_game_files()
    assert run.plays_on
    for _ in range(IDLE_ROUNDS):
        run.learner(learned(steps=0, step=7))
    assert run.goes_on
    run.actor(read)
    assert not run.plays_on
    assert run.checkpoint_due


def test_games_of_files_are_counted_by_the_replay_however_often_they_are_delivered(folder: RunFolder) -> None:
    run = trained(folder, "experiment=wthor", "run.minutes=9")
    for taken in (5, 9, 3, 9):  # the replay died, and went on from a checkpoint with three of them
        run.actor(replace(played(games=5), version=-1, positions=50))
        run.replay(replace(HELD, games_total=taken, positions_total=10 * taken))
        assert run.progress.state()["games"] >= taken
    assert (run.progress.games, run.progress.state()["positions"]) == (9, 90)


def test_steps_that_a_death_has_undone_are_not_counted_twice(folder: RunFolder) -> None:
    run = session(folder)
    for step in (10, 20, 15, 25):  # the learner died after 20 and went on from 12
        run.learner(learned(steps=5, step=step))
    assert run.progress.state()["steps"] == 25


@pytest.mark.parametrize("first", ["a round of play", "a step", "a model"])
def test_a_run_has_begun_with_its_first_round_or_model(first: str, folder: RunFolder) -> None:
    """Though its clock has not: a run whose start never ends is kept."""
    run = session(folder)
    run.gate(GateReport(summary="no model yet"))
    run.actor(replace(played(games=0), version=-1))  # the learner is still starting
    run.actor(replace(played(games=9), version=-1))  # games of files, which are read again by the next start
    run.learner(learned(steps=0, step=0))
    assert (folder.trained, folder.disposable) == (False, True)
    if first == "a model":
        run.gate(GateReport(summary="version 0 is the baseline, no match yet", verdict="first"))
    elif first == "a step":
        run.learner(learned(steps=1, step=1))
    else:
        run.actor(played(games=0))
    assert (folder.trained, folder.disposable) == (True, False)
    run.save(PARTS)
    assert not folder.saved_all, "more may be trained"
    run.save(PARTS, at_end=True)
    assert folder.saved_all


def test_a_refused_save_is_one_line_and_the_next_is_another_try(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(number: int, files: object) -> None:
        raise RunError("no space left")

    run = trained(folder, "run.minutes=9")
    assert run.goes_on
    with monkeypatch.context() as disk:
        disk.setattr(folder, "save_checkpoint", full)
        run.save(PARTS)
    assert capsys.readouterr().err == "not saved, tried again until it is: no space left\n"
    assert folder.checkpoints() == []
    run.save(PARTS)
    assert folder.checkpoints() == [folder.path / "checkpoints" / "000001"]


def test_a_checkpoint_of_another_version_is_refused_in_one_line(folder: RunFolder) -> None:
    first = trained(folder, "run.minutes=9")
    first.save(PARTS)
    files = folder.newest_checkpoint()
    state = json.loads(files["run.json"])
    del state["end"]
    folder.save_checkpoint(2, files | {"run.json": json.dumps(state).encode()})
    with pytest.raises(CorruptFileError, match=r"run\.json lacks 'end'; use the version of this program that wrote it"):
        after(folder, "run.minutes=9")
