"""`reversi scale` on folders that are only written down: what it leaves there, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.run.control import CONTROL, read_target, write_target
from tests.scripts.conftest import Reversi
from tests.scripts.run.written_runs import held, made


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_API_SERVER_ADDRESS", raising=False)


def test_the_wish_is_left_in_the_folder_and_told(tmp_path: Path, reversi: Reversi) -> None:
    run = made(tmp_path / "runs" / "night")
    with held(run):
        answer = json.loads(reversi("scale", "night", 3, "--json").out)
        assert answer == {"run": "night", "group": "actors", "count": 3, "before": 1}
        assert read_target(run) == {"actors": 3}
        assert reversi("scale", run, 2).out == "run night: 2 actors asked for, 3 before\n"
        assert "  asked for by reversi scale: 2 actors\n" in reversi("status", run).out
    assert json.loads(reversi("status", run, "--json").out)["actors_asked"] == {"actors": 2}


def test_groups_are_asked_one_by_one(tmp_path: Path, reversi: Reversi) -> None:
    run = made(tmp_path / "runs" / "wide", "cluster=ray", "cluster.actors.gpu.count=2")
    with held(run):
        assert reversi("scale", run, 9).err.startswith("error: expected --group, one of cpu, gpu")
        assert reversi("scale", run, 9, "--group", "cpu").out == (
            "run wide: 9 actors of group cpu asked for, as many as fit before\n"
        )
        assert reversi("scale", run, 0, "--group", "gpu").code == 0
        assert read_target(run) == {"cpu": 9, "gpu": 0}
        assert reversi("scale", run, 0, "--group", "cpu").code == 2, "nobody would be left"
        assert read_target(run) == {"cpu": 9, "gpu": 0}


def test_what_was_asked_for_on_another_cluster_counts_no_more(tmp_path: Path, reversi: Reversi) -> None:
    run = made(tmp_path / "runs" / "night")
    write_target(run, {"cpu": 4})
    with held(run):
        assert reversi("scale", run, 2).out == "run night: 2 actors asked for, 1 before\n"
    assert read_target(run) == {"actors": 2}


@pytest.mark.parametrize(
    ("overrides", "arguments", "code", "words"),
    [
        ([], ["nowhere", "3"], 1, "expected a run's folder or its name in runs/, got 'nowhere'"),
        ([], ["night", "0"], 2, "actors in all, got 0"),
        ([], ["night", "1000000000"], 2, "actors in all, got 1,000,000,000"),
        ([], ["night", "9" * 30], 2, "expected a whole number from 0"),
        ([], ["night", "-1"], 2, "-1"),
        ([], ["night", "many"], 2, "expected a whole number from 0 to 2147483647, got 'many'"),
        ([], ["night", "2", "--group", "gpu"], 2, "expected a group among actors, got 'gpu'"),
        ([], ["night", "2"], 1, "is not training; go on with it by `reversi train resume="),
        (["cluster=serial"], ["night", "2"], 2, "with cluster=serial there is only one process"),
        (["cluster=ray"], ["night", "2001"], 2, "expected 1 to 2,000 actors in all, got 2,001"),
        ([], ["night", "2", "--address", "http://127.0.0.1:1"], 3, "no Ray cluster answers at http://127.0.0.1:1"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_nothing(
    overrides: list[str], arguments: list[str], code: int, words: str, tmp_path: Path, reversi: Reversi
) -> None:
    run = made(tmp_path / "runs" / "night", *overrides)
    answer = reversi("scale", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert answer.err.count("\n") == 1
    assert not (run / CONTROL).exists()


def test_a_run_that_has_ended_is_told_how_to_go_on(tmp_path: Path, reversi: Reversi) -> None:
    run = made(tmp_path / "runs" / "wide", "cluster=ray")
    assert reversi("scale", run, 5).err.endswith(f"resume={run} cluster.actors.cpu.count=5`\n")
