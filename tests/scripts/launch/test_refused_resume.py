"""A resume that is refused changes nothing, what its message advises works, and a run outlives a version of this."""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
from pathlib import Path

import pytest

from reversi.errors import ConfigError, IncompatibleModelError, NameTakenError, ReversiError, RunError
from scripts.commands import train as command
from scripts.config.compose import changes_of, recompose, saved_values, to_yaml
from scripts.config.job import job_of
from scripts.launch.train import train
from scripts.run.folder import RunFolder

JOB = ("experiment=tictactoe_qlearning", "cluster=serial", "tracking=[jsonl,tensorboard]", "run.summary_games=0")
OWN = {"run.lock", "run.log"}
"""Files that say who came last, and what for."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that has played its 200 games."""
    return train([*JOB, f"run.dir={tmp_path_factory.mktemp('runs')}", "run.name=ended", "run.games=200"]).folder


@pytest.fixture
def run(ended: Path, tmp_path: Path) -> Path:
    """Return a run of one's own."""
    return Path(shutil.copytree(ended, tmp_path / "run"))


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in OWN)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "override",
    [
        "network.kind=lines",
        "game.name=reversi6",
        "learner.kind=network",
        "run.games=many",
        "run.games=100",
        "run.hours=3",
        "run.dir=s3://bucket",
        "actors.count=0",
        "algorithm.learning_rate=-1",
        "gate.games=7",
        "gate=default",
        "replay.bucket_capacity=1",
        "run.games=400 registry.url={other}",
    ],
)
def test_a_refused_resume_changes_nothing(override: str, run: Path, whole_of_another_game: Path) -> None:
    before = contents(run)
    with pytest.raises(ReversiError):
        train([f"resume={run}", *override.format(other=whole_of_another_game).split()])
    assert contents(run) == before
    assert train([f"resume={run}", "run.games=300"]).finished


@pytest.fixture(scope="module")
def whole_of_another_game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a registry with models of another game."""
    import dataclasses

    from reversi.model.registry import Registry
    from scripts.bench.setup import Settings, random_weights

    path = tmp_path_factory.mktemp("registry")
    made = Registry(str(path), create=True)
    made.publish(dataclasses.replace(random_weights(Settings(size=6, blocks=1, channels=16))), "first", None)
    return path


def test_what_a_part_refuses_leaves_the_old_configuration(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is that one day does not fit: here the learner says so, after every check."""
    from learner.learner import Learner
    from reversi.errors import CorruptFileError

    def refuse(self: Learner, data: bytes) -> None:
        raise CorruptFileError("learner state: expected another one")

    before = contents(run)["config.yaml"]
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "restore", refuse)
        with pytest.raises(CorruptFileError, match="expected another one") as error:
            train([f"resume={run}", "run.games=400"])
    assert contents(run)["config.yaml"] == before
    advised = re.search(r"reversi train (resume=[^;\s]+)", str(error.value))
    assert advised is not None
    train([advised[1], "run.games=400"])
    assert saved_values(run / "config.yaml")["run"]["games"] == 400


def test_the_advice_of_a_finished_run_works(run: Path) -> None:
    with pytest.raises(ConfigError) as error:
        train([f"resume={run}"])
    advised = re.search(r"give it more, as in reversi train (.*)$", str(error.value))
    assert advised is not None
    assert train(advised[1].split()).finished


def test_the_advice_about_a_registry_of_another_game_works(run: Path, whole_of_another_game: Path) -> None:
    with pytest.raises((IncompatibleModelError, ConfigError)):
        train([f"resume={run}", "run.games=300", f"registry.url={whole_of_another_game}"])
    assert train([f"resume={run}", "run.games=300", f"registry.url={run.parent / 'elsewhere'}"]).finished


def test_a_setting_newer_than_the_run_can_be_set_and_one_that_is_gone_is_dropped(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = saved_values(run / "config.yaml")
    del values["gate"]["opening_plies"], values["learner"]["round_s"]
    values["gate"]["overtime"], values["seasons"] = 3, {"spring": 1}
    (run / "config.yaml").write_text(to_yaml(values))
    with pytest.raises(ConfigError, match=r"key 'learner\.round_s' is missing"):
        train([f"resume={run}", "run.games=300"])
    with pytest.raises(ConfigError, match=r"unknown key 'gate\.overtime'; valid under gate: games, "):
        recompose(run / "config.yaml", ["gate.overtime=4"])
    capsys.readouterr()
    assert train([f"resume={run}", "run.games=300", "learner.round_s=1.5", "+gate.opening_plies=3"]).finished
    assert "settings that this version does not have are dropped: gate.overtime, seasons.spring\n" in (
        capsys.readouterr().err
    )
    again = saved_values(run / "config.yaml")
    assert ("seasons" in again, "overtime" in again["gate"]) == (False, False)
    assert (again["learner"]["round_s"], again["gate"]["opening_plies"]) == (1.5, 3)


def test_one_command_goes_on_with_the_run_of_an_older_version(run: Path, tmp_path: Path) -> None:
    values = saved_values(run / "config.yaml")
    del values["gate"]["opening_plies"]
    values["gate"]["overtime"] = 3
    (run / "config.yaml").write_text(to_yaml(values))
    job = [*JOB, f"run.dir={tmp_path}", "run.name=run", "resume=auto"]
    assert train([*job, "run.games=300"]).finished
    assert saved_values(run / "config.yaml")["gate"].keys() == set(job_of(values_of(run)).gate.__dataclass_fields__)


def values_of(run: Path) -> dict[str, object]:
    return recompose(run / "config.yaml", [])


def test_names_of_ones_own_can_be_added_changed_and_removed(tmp_path: Path) -> None:
    from scripts.config.compose import compose

    saved = tmp_path / "config.yaml"
    job = ["cluster=ray", "+cluster.env_vars.A=b", "run.name=x"]
    saved.write_text(to_yaml(compose(job)))
    again = recompose(
        saved,
        [
            "+cluster.actors.cpu.labels.role=actors",
            "cluster.env_vars.A=c",
            "++cluster.env_vars.B=d",
            "cluster.actors.gpu.settings={device: auto, games: 8}",
            "gate.openings='some file'",
        ],
    )
    cluster = again["cluster"]
    assert cluster["actors"]["cpu"]["labels"] == {"role": "actors"}
    assert cluster["env_vars"] == {"A": "c", "B": "d"}
    assert cluster["actors"]["gpu"]["settings"] == {"device": "auto", "games": 8}
    assert again["gate"]["openings"] == "some file"
    assert recompose(saved, ["~cluster.env_vars.A"])["cluster"]["env_vars"] == {}
    labelled = compose([*job, "+cluster.actors.cpu.labels.role=actors"])
    assert changes_of(compose(job), labelled) == {"cluster.actors.cpu.labels": {"role": "actors"}}
    assert changes_of(labelled, compose(job)) == {"cluster.actors.cpu.labels": {}}


def test_a_job_that_fails_does_not_end_its_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "night-1").mkdir()  # a folder that is no run
    few = ["--multirun", *JOB[:2], "tracking=jsonl", "run.summary_games=0", f"run.dir={tmp_path}", "run.games=100"]
    assert command.run([*few, "run.name=night", "run.seed=1,2,3"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir() if (path / "ended.json").exists()) == ["night-0", "night-2"]
    said = capsys.readouterr().err
    assert "job 2 of 3 failed: run 'night-1' exists in " in said
    assert said.endswith("1 of 3 jobs failed: 2\n")


def test_a_run_without_a_name_takes_the_next_free_one(tmp_path: Path) -> None:
    """As two that begin in one second: here the default name is always the same."""
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "fixed.yaml").write_text("# @package _global_\nrun: {name: fixed}\n")
    job = [*JOB[1:], "game=tictactoe", f"hydra.searchpath=[{tmp_path}/conf]", f"run.dir={tmp_path}", "run.games=60"]
    job += ["experiment=[tictactoe_qlearning,fixed]"]
    assert [train(job).folder.name for _ in range(2)] == ["fixed", "fixed-2"]
    begun = RunFolder.create(str(tmp_path), "fixed-3")  # it has kept nothing yet
    assert train(job).folder.name == "fixed-4"
    begun.close()
    assert train(job).folder.name == "fixed-3", "the run has ended and left nothing"
    with pytest.raises(NameTakenError, match="run 'fixed' exists in "):
        train([*job, "run.name=fixed"])


def test_another_thread_is_refused_in_one_line() -> None:
    errors: list[Exception] = []

    def start() -> None:
        try:
            train([*JOB])
        except ReversiError as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert [str(error) for error in errors] == [
        "train must be called in the main thread, as signals stop a run; start `reversi train` as a process"
    ]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_disk_without_locks_is_what_the_error_says(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(file: object, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("scripts.run.folder.fcntl.flock", flock)
    with pytest.raises(RunError, match=rf"disk of {tmp_path}/night does not lock files .*; set run\.dir to another"):
        train([*JOB, f"run.dir={tmp_path}", "run.name=night"])
