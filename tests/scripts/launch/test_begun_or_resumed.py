"""`resume=auto`: one command line that a scheduler runs until the job is finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from reversi.errors import ConfigError
from scripts.config.compose import changes_of, compose
from scripts.launch.train import train

JOB = (
    "experiment=tictactoe_qlearning",
    "cluster=serial",
    "tracking=jsonl",
    "run.name=night",
    "run.summary_games=0",
    "resume=auto",
)


def test_it_begins_goes_on_and_leaves_a_finished_run_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = [*JOB, f"run.dir={tmp_path}"]
    assert train([*job, "run.games=200"]).finished
    run = tmp_path / "night"
    assert "games: 200\n" in (run / "config.yaml").read_text()
    capsys.readouterr()
    written = (run / "metrics.jsonl").read_bytes()
    done = train([*job, "run.games=200"])
    assert (done.folder, done.finished) == (run, True)
    assert capsys.readouterr().out == f"night is finished; everything in {run}\n"
    assert (run / "metrics.jsonl").read_bytes() == written
    assert train([*job, "run.games=300", "tracking=[jsonl,tensorboard]"]).finished
    assert (run / "tensorboard").is_dir()
    assert "games: 300\n" in (run / "config.yaml").read_text()
    assert (run / "metrics.jsonl").read_bytes().startswith(written)


def test_a_run_that_left_nothing_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "night").mkdir()
    (tmp_path / "night" / "run.lock").touch()
    assert train([*JOB, f"run.dir={tmp_path}", "run.games=200"]).finished


def test_without_a_name_and_for_another_job_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"resume=auto needs a run\.name"):
        train(["resume=auto", "cluster=serial"])
    train([*JOB, f"run.dir={tmp_path}", "run.games=200"])
    with pytest.raises(ConfigError, match="begun as another job"):
        train(["run.name=night", "resume=auto", "cluster=serial", f"run.dir={tmp_path}"])
    with pytest.raises(ConfigError, match=r"keeps its game\.name=tictactoe"):
        train([*JOB, f"run.dir={tmp_path}", "run.games=200", "game=reversi4"])


def test_changes_are_single_values() -> None:
    job = ["experiment=reversi8_patterns", "run.name=a"]
    saved = compose(job) | {"begun_from": {"model": "m", "version": 3, "sha256": "0"}}
    assert changes_of(saved, compose(job)) == {}
    assert changes_of(saved, compose([*job, "run.minutes=20", "tracking=jsonl"])) == {"run.minutes": 20}


def test_a_new_run_is_refused_the_registry_of_another(tmp_path: Path) -> None:
    job = [*JOB[:-1], f"run.dir={tmp_path}", "run.games=200"]
    first = train(job).folder
    with pytest.raises(ConfigError, match=r"is the registry of the run 'night'"):
        train([*job, "run.name=other", f"registry.url={first / 'registry'}"])
    assert not (tmp_path / "other").exists(), "nothing is left of a run that did not begin"
    assert train([f"resume={first}", "run.games=300"]).finished
