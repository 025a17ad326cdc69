"""Overrides as people type them: paths, names that look like numbers, a folder with experiments of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from reversi.errors import ConfigError, UsageError
from scripts.commands import train as command
from scripts.config.compose import compose, each_job, recompose, to_yaml
from scripts.config.job import job_of
from scripts.config.overrides import without_config_dir
from scripts.config.tracking import TrackingConfig
from scripts.launch.train import Trained

MINE = "# @package _global_\ndefaults:\n  - override /game: reversi4\nrun: {minutes: 3, name: own}\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder with an experiment `mine`."""
    folder = tmp_path / "it's my conf"
    (folder / "experiment").mkdir(parents=True)
    (folder / "experiment" / "mine.yaml").write_text(MINE)
    return folder


@pytest.mark.parametrize("name", ["123456", "1e3", "007", "1_000", "true", "nan", "a", "2026-07", "v1.5"])
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_a_name_that_looks_like_a_number_is_a_name(name: str, quote: str, tmp_path: Path) -> None:
    override = f"run.name={quote}{name}{quote}"
    assert job_of(compose([override])).run.name == name
    saved = tmp_path / "config.yaml"
    saved.write_text(to_yaml(compose([override])))
    assert job_of(recompose(saved, [])).run.name == name
    assert [job_of(compose(job)).run.name for job in each_job([override, "run.seed=1,2"])] == [name, name]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("~/runs", "/home/me/runs"),
        ("~", "/home/me"),
        ("/x/lr=0.1", "/x/lr=0.1"),
        ("~/lr=0.1,b=2", "/home/me/lr=0.1,b=2"),
        ("/it's=1", "/it's=1"),
        ("/tëst ü", "/tëst ü"),
        ("/a;b", "/a;b"),
        ("/a #b", "/a #b"),
    ],
)
def test_a_folder_is_read_as_it_is_typed(typed: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert compose([f"run.dir={typed}"])["run"]["dir"] == read
    assert compose([f"registry.url={typed}"])["registry"]["url"] == read


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("run.dir=s3://bucket/runs", "run.dir must be a folder (registry.url takes URLs), got 's3://bucket/runs'"),
        ("run.dir=~nobody-has-this-name/x", "run.dir must be a folder that exists for this user"),
        ("hydra.run.dir=/tmp/x", "hydra.run.dir has no effect here; of Hydra's own keys only hydra.searchpath has one"),
        ("+hydra.job.chdir=true", "hydra.job.chdir has no effect here"),
        ("hydra/launcher=basic", "hydra/launcher has no effect here"),
        ("hydra.searchpath=[/nowhere]", "hydra.searchpath must be folders with groups as in conf/"),
        ("tracking.jsonl.every=3", "unknown key 'tracking.jsonl.every'"),
        ("+tracking.jsonl.every=3", "unknown key 'tracking.jsonl.every'; valid here: none"),
        ("+tracking.csv={}", "unknown key 'tracking.csv'; valid here: port, host, jsonl, tensorboard, wandb, alerts"),
    ],
)
def test_what_has_no_effect_is_refused(override: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        job_of(compose([override]))
    assert str(error.value).startswith(words)


def test_a_job_may_have_no_tracker_at_all() -> None:
    assert job_of(compose(["tracking=[]"])).tracking == TrackingConfig()


@pytest.mark.parametrize("flag", [["--config-dir", "{}"], ["--config-dir={}"], ["-cd", "{}"], ["hydra.searchpath"]])
def test_an_experiment_of_ones_own(flag: list[str], own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[tuple[str, float]] = []

    def begin(values: dict[str, dict[str, object]]) -> Trained:
        run = job_of(values).run
        began.append((run.name, run.minutes or 0))
        return Trained(own, finished=True)

    monkeypatch.setattr("scripts.launch.train.train_composed", begin)
    monkeypatch.setattr(command, "train_composed", begin)
    where = (
        without_config_dir(["-cd", str(own)]) if flag == ["hydra.searchpath"] else [each.format(own) for each in flag]
    )
    assert command.run([*where, "experiment=mine"]) == 0
    assert command.run(["experiment=mine", "run.minutes=5", *where]) == 0
    assert command.run(["--multirun", *where, "experiment=mine", "run.seed=1,2"]) == 0
    assert began == [("own", 3), ("own", 5), ("own-0", 3), ("own-1", 3)]


def test_a_folder_that_is_not_there_and_a_run_that_goes_on_are_refused(own: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--config-dir must be a folder with groups as in conf/, got '/nowhere'"):
        command.run(["--config-dir", "/nowhere", "experiment=mine"])
    with pytest.raises(UsageError, match="--config-dir must be followed by a folder"):
        command.run(["--config-dir"])
    with pytest.raises(UsageError, match="unknown option '--config-name'"):
        command.run(["--config-name", "x"])
    (tmp_path / "config.yaml").write_text(to_yaml(compose([])))
    with pytest.raises(ConfigError, match="a run that goes on has its configuration; --config-dir is for new runs"):
        command.run(["--config-dir", str(own), f"resume={tmp_path}"])


def test_hydras_flags_show_what_a_job_would_be(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["--config-dir", str(own), "--cfg", "job", "--package", "run", "experiment=mine"]) == 0
    assert "minutes: 3\n" in capsys.readouterr().out
    with pytest.raises(UsageError, match="--resolve is for --cfg"):
        command.run(["--resolve", "game=reversi4"])
    with pytest.raises(UsageError, match="Hydra's flags are about new runs, got resume=x"):
        command.run(["--cfg", "job", "resume=x"])
