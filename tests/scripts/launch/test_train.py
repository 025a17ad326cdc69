"""`train` in this process, on the smallest of jobs: to the end, refused, and one of them on a real Ray."""

from __future__ import annotations

import json
import logging
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reversi.errors import ConfigError, RunError
from reversi.model.lookup import choose, load_model
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from scripts.commands import train as train_command
from scripts.config.compose import saved_values
from scripts.launch.train import Trained, _log_end_of_thread, _logged_to, train
from tests.scripts.conftest import Reversi
from tests.scripts.launch.tiny_job import TINY, metrics

GAMES = 400
"""Enough for two candidates and more."""


def assert_whole(run: Path, out: str) -> None:
    assert re.search(r"^(champion: version|no champion yet)", out, re.MULTILINE)
    assert "against random" in out
    assert "reversi play --registry" in out
    summary = json.loads((run / "summary.json").read_text())
    models = Registry(run / "registry").models()
    promoted = [model.version for model in models if model.verdict == "promoted"]
    assert (summary["champion"], summary["promotions"]) == (promoted[-1] if promoted else None, len(promoted))
    assert (run / "registry" / "gated.json").exists() == bool(promoted)
    assert summary["candidates"] >= 2
    assert summary["results"]["random"]["games"] == 20
    assert (run / "config.yaml").is_file()
    assert '"state":"finished"' in (run / "report.html").read_text()
    assert "torch" in json.loads((run / "versions.json").read_text())
    assert list((run / "tensorboard").iterdir())
    assert metrics(run, "run")[-1]["run/games"] > 16
    assert metrics(run, "learner")[-1]["learner/losses/policy"] > 0
    assert metrics(run, "replay")[-1]["replay/rejected_games"] == 0
    assert max(row["gate/candidate_version"] for row in metrics(run, "gate")) > 0
    assert ("tensorboard --logdir" in out) == (run / "tensorboard").exists()


def test_a_run_leaves_a_gated_model_metrics_and_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limit = ("run.minutes=null", f"run.games={GAMES}")
    trained = train([*TINY, "cluster=serial", f"run.dir={tmp_path}", "run.name=whole", *limit])
    assert (trained.folder, trained.finished) == (tmp_path / "whole", True)
    assert_whole(trained.folder, capsys.readouterr().out)


@pytest.mark.ray
def test_a_run_on_ray_ends_when_the_learner_has_used_its_games(tmp_path: Path, reversi: Reversi) -> None:
    limits = ("run.minutes=60", f"run.games={GAMES}", "actors.round_batches=1")
    done = reversi("train", *TINY, "cluster=local", f"run.dir={tmp_path}", "run.name=counted", *limits)
    assert done.code == 0, done.err
    run = tmp_path / "counted"
    assert_whole(run, done.out)
    replay = metrics(run, "replay")[-1]
    assert replay["replay/games_total"] >= GAMES
    assert replay["replay/tokens"] < 8 * 64, "less than one draw is left"
    again = reversi("train", f"resume={run}")
    assert again.code == 2
    assert f"has played its {GAMES:,} games" in again.err


def test_a_sweep_is_one_run_after_another(tmp_path: Path, reversi: Reversi) -> None:
    job = ("experiment=tictactoe_qlearning", "cluster=serial", f"run.dir={tmp_path}", "run.name=seeds", "run.games=200")
    done = reversi("train", "--multirun", "run.seed=1,2", *job, "tracking=jsonl", "run.summary_games=0")
    assert done.code == 0, done.err
    assert [line for line in done.out.splitlines() if line.startswith("job ")][1].startswith("job 2 of 2: ")
    assert "seed: 1\n" in (tmp_path / "seeds-0" / "config.yaml").read_text()
    assert "seed: 2\n" in (tmp_path / "seeds-1" / "config.yaml").read_text()


def test_a_sweep_begins_only_if_all_of_it_is_sound(tmp_path: Path, reversi: Reversi) -> None:
    wrong = reversi("train", "--multirun", *TINY, "cluster=serial", f"run.dir={tmp_path}", "gate.games=20,7")
    assert (wrong.code, list(tmp_path.iterdir())) == (2, [])
    assert "gate.games must be even" in wrong.err


def test_each_run_of_a_sweep_has_a_registry_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a job is part of its name before the registry's URL is made of that."""
    trained: list[tuple[str, str]] = []

    def note(values: dict[str, Any]) -> Trained:
        trained.append((values["run"]["name"], values["registry"]["url"]))
        return Trained(tmp_path, finished=True)

    monkeypatch.setenv("REVERSI_BUCKET", "bucket")
    monkeypatch.setattr(train_command, "train_composed", note)
    sweep = ["--multirun", "experiment=tictactoe", f"run.dir={tmp_path}"]
    assert train_command.run([*sweep, "run.seed=1,2", "run.name=a+1", "registry=s3"]) == 0
    assert trained == [("a+1-0", "s3://bucket/a+1-0"), ("a+1-1", "s3://bucket/a+1-1")]
    trained.clear()
    assert train_command.run([*sweep, "run.name=a,b", "registry.url=memory://of/${run.name}"]) == 0
    assert trained == [("a-0", "memory://of/a-0"), ("b-1", "memory://of/b-1")]
    shared = [
        ["run.seed=1,2", "registry.url=memory://one"],
        [f"registry.url={tmp_path}/one,file://{tmp_path}/two/../one/"],
        ["run.name=x", f"registry.url=null,{tmp_path}/x-0/registry"],
    ]
    for overrides in shared:
        with pytest.raises(
            ConfigError, match=r"registry.url must differ .*/\$\{run.name\} does, but jobs 1 and 2 have"
        ):
            train_command.run([*sweep, *overrides])
    assert len(trained) == 2, "nothing was begun"


def test_q_learning_is_a_job_like_any_other(tmp_path: Path) -> None:
    few = ("cluster=serial", "run.name=table", "run.games=3000", "tracking=jsonl", f"run.dir={tmp_path}")
    run = train(["experiment=tictactoe_qlearning", *few]).folder
    results = metrics(run, "play")
    assert [row["play/games"] for row in results] == sorted(row["play/games"] for row in results)
    assert 25 <= len(results) <= 30, "a row for every hundred games"
    wins = [row["play/wins"] / (row["play/wins"] + row["play/draws"] + row["play/losses"]) for row in results]
    assert sum(wins[-5:]) / 5 > sum(wins[:5]) / 5, "the table learns"
    proof = json.loads((run / "summary.json").read_text())["proof"]
    (sides,) = proof.values()
    assert sides["from the empty board"]["first"]["wins"] > sides["from the empty board"]["first"]["losses"]
    assert (run / "learning.svg").read_text().startswith("<svg ")
    with pytest.raises(ConfigError, match=r"keeps its algorithm.name=q_table"):
        train([f"resume={run}", "algorithm.name=dqn"])


def test_games_that_are_not_there_are_one_line(
    tmp_path: Path, reversi: Reversi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = reversi("train", "experiment=wthor", f"run.dir={tmp_path}")
    assert done.code == 2
    assert "found none at 'games/*.wtb'; name yours, as in 'actors.paths=[FOLDER/*.wtb]'" in done.err
    assert not list(tmp_path.iterdir())


def test_a_taken_name_is_refused_and_left_alone(tmp_path: Path, reversi: Reversi) -> None:
    (tmp_path / "taken").mkdir()
    done = reversi("train", f"run.dir={tmp_path}", *TINY, "run.name=taken")
    assert done.code == 1
    assert done.err.startswith("error: run 'taken' exists")
    assert list((tmp_path / "taken").iterdir()) == []


@pytest.mark.parametrize(
    ("overrides", "code", "words"),
    [
        (["no.such.key=1"], 2, "unknown key 'no.such.key'"),
        (["gate.games=7"], 2, "gate.games must be even"),
        (["experiment=nope"], 2, "unknown choice 'experiment/nope'"),
        (["run.minutes=soon"], 2, "run.minutes must be a number, got 'soon'"),
        (["actors.count=64"], 2, "actors.count=64"),
        (["game=reversi4", "run.summary_games=20000"], 2, "run.summary_games=20000: expected 10000 distinct openings"),
        (["run.dir=/proc/nowhere"], 1, "cannot write the run folder"),
        (
            ["replay.capacity_positions=90000000"],
            2,
            "replay.capacity_positions must be at most 79225742: 54 bytes a position, of which a saved replay has room",
        ),
        (["learner.device=cuda"], 2, "learner.device"),
        (["actors.device=cuda"], 2, "actors.device"),
        (["actors.games=100", "actors.groups=3"], 2, "actors.games must be a multiple of actors.groups=3, got 100"),
        (["search=gumbel", "search.keep_subtree=true"], 2, "search.keep_subtree"),
        (["run.games=0"], 2, "run.games must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_nothing(
    overrides: list[str], code: int, words: str, tmp_path: Path, reversi: Reversi
) -> None:
    done = reversi("train", f"run.dir={tmp_path}", *TINY, "run.name=wrong", *overrides)
    assert done.code == code, done.err
    assert_one_line(done.err, words)
    assert not (tmp_path / "wrong").exists()


def assert_one_line(said: str, words: str) -> None:
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert words in errors[0]
    assert "Traceback" not in said


def test_a_missing_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=f"expected a run's folder or its name in runs/, got '{tmp_path / 'none'}'"):
        train([f"resume={tmp_path / 'none'}"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has ended; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("whole")
    short = ("cluster=serial", "run.name=whole", "run.minutes=null", "run.games=50", "run.summary_games=0")
    return train([*TINY, f"run.dir={folder}", *short]).folder


SHORT = ("cluster=serial", "run.minutes=null", "run.games=50", "run.summary_games=0")


def model_files(run: Path, version: int) -> tuple[dict[str, Any], str, Weights]:
    """Return a model's description, its card and its weights."""
    folder = run / "registry" / "models" / f"{version:06d}"
    card = (folder / "card.md").read_text()
    return json.loads((folder / "model.json").read_text()), card, load_model(folder)


def test_a_run_begins_with_a_model_says_so_and_goes_on_without_it(whole: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    shutil.copytree(max((whole / "registry" / "models").iterdir()), given)
    model = choose(given)
    origin = {"model": str(given), "version": model.weights.version, "sha256": model.sha256}
    run = train([*TINY, *SHORT, f"run.dir={tmp_path}", "run.name=begun", f"init={given}"]).folder
    config = saved_values(run / "config.yaml")
    assert (config["init"], config["begun_from"]) == (str(given), origin)
    about, card, first = model_files(run, 0)
    assert (about["verdict"], about["begun_from"]) == ("first", origin)
    assert f"| begun from | version {origin['version']} ({given}), SHA-256 `{model.sha256}` |" in card
    for name, array in model.weights.arrays.items():
        np.testing.assert_allclose(first.arrays[name], array, rtol=1e-6, atol=1e-7, err_msg=name)
    assert model_files(whole, 0)[0]["begun_from"] is None
    assert "begun from" not in model_files(whole, 0)[1]
    shutil.rmtree(given)
    before = len(list((run / "registry" / "models").iterdir()))
    with pytest.raises(ConfigError, match="a run that goes on keeps its init="):
        train([f"resume={run}", "init=gated"])
    played = json.loads((max((run / "checkpoints").glob("0*")) / "run.json").read_text())["games"]
    train([f"resume={run}", f"run.games={played + 200}"])
    newest = max((run / "registry" / "models").iterdir())
    assert len(list(newest.parent.iterdir())) > before
    assert model_files(run, int(newest.name))[0]["begun_from"] == origin


def test_a_table_begins_with_a_table(tmp_path: Path) -> None:
    job = ("experiment=tictactoe_qlearning", "cluster=serial", "run.games=200", "tracking=jsonl", f"run.dir={tmp_path}")
    first = train([*job, "run.name=first", "run.summary_games=0"]).folder
    model = max((first / "registry" / "models").iterdir())
    second = train([*job, "run.name=second", "run.summary_games=0", f"init=file://{model}"]).folder
    expected, found = load_model(model).arrays["q"], model_files(second, 0)[2].arrays["q"]
    assert expected.any()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("overrides", "code", "words"),
    [
        (["network.channels=16"], 2, "of channels=16, got "),
        (["game=reversi6"], 2, "init must be a model of this game and network, of game=reversi6, got "),
        (["init=nowhere"], 2, "expected gated, latest, shipped, a version number or a folder with model.safetensors"),
        (["init=true"], 2, "init must be null or the name of a model, got True"),
        (["init=shipped"], 4, "no model of reversi4 is shipped with this program"),
        (["init=gated"], 4, "no run in runs/ has a promoted model of reversi4"),
    ],
)
def test_a_model_that_a_run_cannot_begin_with_is_one_line_and_leaves_nothing(
    overrides: list[str], code: int, words: str, whole: Path, tmp_path: Path, reversi: Reversi, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    model = max((whole / "registry" / "models").iterdir())
    done = reversi("train", f"run.dir={tmp_path}", *TINY, *SHORT, "run.name=wrong", f"init={model}", *overrides)
    assert done.code == code, done.err
    assert_one_line(done.err, words)
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize("damage", ["cut", "flipped", "missing"])
def test_a_damaged_checkpoint_is_one_line(damage: str, whole: Path, tmp_path: Path, reversi: Reversi) -> None:
    run = tmp_path / "hurt"
    shutil.copytree(whole, run)
    for checkpoint in (run / "checkpoints").iterdir():  # all of them: one whole one would be gone on from
        file = checkpoint / "learner.safetensors"
        data = file.read_bytes()
        if damage == "cut":
            file.write_bytes(data[: len(data) // 2])
        elif damage == "flipped":
            file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        else:
            file.unlink()
    before = sorted(path.name for path in run.rglob("*") if "kernels" not in path.name)
    done = reversi("train", f"resume={run}", "run.games=100")
    assert done.code == 1
    assert_one_line(done.err, "learner")
    assert [name for name in before if name not in {path.name for path in run.rglob("*")}] == []


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)


def test_the_last_exception_of_a_thread_is_in_the_log_with_its_place(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError("no space left")

    monkeypatch.setattr(threading, "excepthook", _log_end_of_thread)
    thread = threading.Thread(target=fail, name="writer")
    thread.start()
    thread.join()
    assert caplog.messages == ["writer ended by OSError"]
    assert "in fail" in caplog.text
    assert "OSError: no space left" in caplog.text
    assert capsys.readouterr().err == ""


def test_codes_that_a_terminal_obeys_are_written_out_in_the_log(tmp_path: Path) -> None:
    with _logged_to(tmp_path / "run.log"):
        logging.getLogger("tests").warning("a file named %s\nand a second line", "\x1b[2Ja.ggf")
    lines = (tmp_path / "run.log").read_text().splitlines()
    assert [lines[-2].partition(",")[2][4:], lines[-1]] == [
        r"WARNING tests: a file named \x1b[2Ja.ggf",
        "and a second line",
    ]


def test_a_run_that_is_made_longer_says_that_its_learning_rate_rises(
    whole: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(whole, tmp_path / "longer")
    played = json.loads((max((whole / "checkpoints").glob("0*")) / "run.json").read_text())["games"]
    train([f"resume={tmp_path / 'longer'}", f"run.games={played + 200}"])
    lines = [record.getMessage() for record in caplog.records if "learning rate rises" in record.getMessage()]
    assert len(lines) == 1
    assert lines[0].endswith("done instead of 100: its learning rate rises again")
