"""Resume is exact: a run that counts alone is the same every time, bit for bit, stopped and killed or not."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from reversi.errors import ConfigError
from scripts.config.job import JobConfig
from scripts.launch.serial import run_serial
from scripts.run.exit_record import ExitRecorder
from scripts.run.folder import RunFolder
from scripts.run.interrupt import Interrupt
from scripts.run.progress import Progress
from scripts.run.session import Session
from tests.scripts.launch.tiny_job import FEW_GAMES
from tests.scripts.run.run_states import TABLE, differences, job_in, whole_state

TREES = (
    "game=reversi4",
    "network.blocks=1",
    "network.channels=8",
    "search.simulations=8",
    "search.first_simulations=4",
    "actors.games=16",
    "actors.round_batches=40",
    "actors.opening_plies=2",
    "actors.cache_positions=2000",
    "actors.precision=float32",
    "replay.min_positions=100",
    "replay.bucket_capacity=5000",
    "replay.capacity_positions=600",
    "learner.batch=32",
    "learner.chunk_batches=2",
    "learner.publish_every_steps=10",
    "learner.candidate_every_steps=20",
    "gate.games=8",
    "gate.wins=3",
    "gate.simulations=4",
    "gate.opening_plies=4",
    "gate.truth_positions=4",
    "gate.opponents=[random,greedy]",
    "gate.opponent_every=1",
    "run.games=120",
)
DQN = (
    "experiment=dqn6",
    "game=tictactoe",
    "network=mlp64",
    "gate.opening_plies=3",
    "algorithm.target_every_steps=7",
    "actors.games=10",
    "actors.round_games=10",
    "replay.min_positions=100",
    "replay.bucket_capacity=5000",
    "learner.batch=32",
    "learner.chunk_batches=2",
    "learner.publish_every_steps=20",
    "learner.candidate_every_steps=20",
    "gate.games=8",
    "gate.wins=3",
    "gate.simulations=0",
    "run.games=120",
)
TD = (
    "experiment=reversi8_patterns",
    "game=reversi4",
    *FEW_GAMES,
    "learner.chunk_batches=2",
    "learner.publish_every_steps=3",
    "learner.candidate_every_steps=18",
    "gate.games=8",
    "gate.wins=3",
    "gate.simulations=4",
    "gate.opening_plies=4",
    "gate.truth_positions=4",
    "gate.opponents=[random,greedy]",
    "gate.opponent_every=1",
    "run.games=600",
)
JOBS = {"alphazero": TREES, "q_table": TABLE, "dqn": DQN, "td": TD}


class Killed(BaseException):
    """The process has died here."""


class Turns(Progress):
    """A dashboard that counts the turns of the loop and does something at one of them."""

    def __init__(self, at: int | None, act: Callable[[], None]) -> None:
        super().__init__([], io.StringIO())
        self.turns, self._at, self._act = 0, at, act

    def tick(self) -> None:
        super().tick()
        self.turns += 1
        if self.turns == self._at:
            self._act()


def sit(job: JobConfig, *, stop: int | None = None, kill: int | None = None) -> int:
    """Train for one session, to the end or until it is stopped or killed at a turn; return its turns."""
    path, interrupt = Path(job.run.dir) / job.run.name, Interrupt()
    resumed = path.exists()
    folder = RunFolder.resume(str(path)) if resumed else RunFolder.create(job.run.dir, job.run.name)

    def act() -> None:
        if kill is not None:
            raise Killed
        interrupt.requested = True

    turns = Turns(kill or stop, act)
    session = Session(job, folder, interrupt, turns)
    try:
        if resumed:
            session.load_checkpoint()
        folder.write_setup("kept: true\n")
        run_serial(session)
        ExitRecorder(folder).record("stopped" if interrupt.requested else "finished")
    except Killed:
        pass
    finally:
        folder.close()
    return turns.turns


@pytest.fixture(scope="module", params=JOBS)
def uninterrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, int]:
    """Return a kind of job, the folder of a run of it that was left alone, and its turns."""
    folder = tmp_path_factory.mktemp("whole")
    turns = sit(job_in(folder, "whole", *JOBS[request.param]))
    return request.param, folder / "whole", turns


def test_a_run_stopped_and_killed_is_the_uninterrupted_one(
    uninterrupted: tuple[str, Path, int], tmp_path: Path
) -> None:
    """Stopped early, killed late, when models were judged that no checkpoint knows, and stopped in its last matches."""
    kind, whole, turns = uninterrupted
    job = job_in(tmp_path, "broken", *JOBS[kind])
    first, killed = turns // 4, turns // 2
    sit(job, stop=first)
    known = sum(name.startswith("model ") for name in whole_state(tmp_path / "broken"))
    sit(job, kill=killed)
    assert sum(name.startswith("model ") for name in whole_state(tmp_path / "broken")) > known, "the kill cost verdicts"
    left = turns - first
    assert sit(job, stop=left - 2) == left - 2
    assert sit(job) == 2
    assert len(whole_state(whole)) == len(whole_state(tmp_path / "broken")) > 10
    assert differences(whole, tmp_path / "broken") == []


def test_the_same_seed_is_the_same_run_and_another_is_not(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        sit(job_in(tmp_path, name, *TABLE, f"run.seed={seed}"))
    assert differences(tmp_path / "one", tmp_path / "same") == []
    assert "learner.training.q" in differences(tmp_path / "one", tmp_path / "other")


def test_with_other_settings_versions_that_were_judged_are_not_made_again(tmp_path: Path) -> None:
    sit(job_in(tmp_path, "changed", *TABLE), stop=8)
    sit(job_in(tmp_path, "changed", *TABLE), kill=20)
    before = {name: model for name, model in whole_state(tmp_path / "changed").items() if name.startswith("model ")}
    sit(job_in(tmp_path, "changed", *TABLE, "algorithm.learning_rate=0.3"))
    after = whole_state(tmp_path / "changed")
    assert len(before) >= 2
    assert {name: after[name] for name in before} == before
    assert len([name for name in after if name.startswith("model ")]) > len(before)


def test_a_run_that_has_ended_wants_more_games_and_one_that_was_stopped_does_not(tmp_path: Path) -> None:
    job = job_in(tmp_path, "ended", *TABLE, "run.games=200")
    turns = sit(job)
    with pytest.raises(ConfigError, match=r"has played its 200 games; give it more, as in .* run.games=400"):
        sit(job)
    assert sit(job_in(tmp_path, "ended", *TABLE, "run.games=220")) > 0
    sit(job_in(tmp_path, "cut", *TABLE, "run.games=200"), stop=turns - 1)
    assert sit(job_in(tmp_path, "cut", *TABLE, "run.games=200")) == 1
