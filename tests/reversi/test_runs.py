"""The newest run, the runs with models, and which run is newer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reversi.errors import RunError
from reversi.runs import find_run, newer_run, runs_with_registry

NOW_S = 1_700_000_000.0


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(name: str, trained_s: float, *files: str, model_s: float | None = None) -> Path:
    """Make a run that trained last at a time, whose newest model was published at another."""
    folder = Path("runs") / name
    (folder / "registry").mkdir(parents=True)
    for file in ("config.yaml", "metrics.jsonl", *files):
        (folder / file).write_text("")
    os.utime(folder / "metrics.jsonl", (NOW_S + trained_s, NOW_S + trained_s))
    if model_s is not None:
        (folder / "registry" / "models").mkdir()
        os.utime(folder / "registry" / "models", (NOW_S + model_s, NOW_S + model_s))
    return folder


def test_the_newest_run_is_the_one_that_trained_last_with_models_or_without() -> None:
    older = run("older-a", 10, model_s=9)
    newer = run("newer-a", 20, model_s=5)  # its models are older than the other run's
    assert find_run(None) == Path("runs/newer-a").absolute()
    assert runs_with_registry() == [newer, older]
    assert newer_run(newer) is None


def test_a_newer_run_without_models_is_named() -> None:
    old, taken, newest = run("old-b", 5, model_s=5), run("taken-b", 10, model_s=5), run("newest-b", 20)
    assert find_run(None) == Path("runs/newest-b").absolute()
    assert runs_with_registry() == [taken, old]
    assert newer_run(taken) == newest


def test_without_any_model_it_is_the_newest_registry() -> None:
    one, two = run("one-c", 10), run("two-c", 20)
    assert runs_with_registry() == [two, one]


def test_a_registry_alone_is_enough_for_its_models_and_is_no_run() -> None:
    (Path("runs") / "copied" / "registry").mkdir(parents=True)
    assert runs_with_registry() == [Path("runs/copied")]
    assert newer_run(Path("runs/copied")) is None
    with pytest.raises(RunError, match="no run in runs/; start one"):
        find_run(None)


def test_a_run_is_found_by_its_folder_and_by_its_name() -> None:
    folder = run("night", 1)
    for what in ("night", "runs/night", str(folder.absolute())):
        assert find_run(what) == folder.absolute()
    with pytest.raises(RunError, match=r"expected a run's folder or its name in runs/, got 'day'; see `ls runs`"):
        find_run("day")


def test_without_runs_the_search_says_what_to_make() -> None:
    with pytest.raises(RunError, match="no run in runs/; start one with `reversi train` or name a folder"):
        find_run(None)
    assert runs_with_registry() == []
