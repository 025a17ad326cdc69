from __future__ import annotations

import json
from pathlib import Path

import pytest

from reversi.model.registry import Registry
from scripts.bench.setup import random_weights
from tests.scripts.conftest import TINY, Reversi
from tests.scripts.run.written_runs import made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Path) -> Path:
    """A run `night`, with a picture, whose champion is version 3."""
    monkeypatch.chdir(tmp_path)
    folder = made(tmp_path / "runs" / "night")
    (folder / "registry").symlink_to(registry)
    (folder / "learning.svg").write_text("<svg/>")
    return folder


def test_a_runs_champion_is_pushed_and_pulled(reversi: Reversi, run: Path) -> None:
    answer = reversi("push", "night", "there")
    place = Path("there").absolute()
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"version 3 is in {place}/models/000003: the champion there\n"
    assert "](learning.svg)" in Path("there/README.md").read_text()
    assert Path("there/learning.svg").read_text() == "<svg/>"
    assert json.loads(reversi("pull", "--registry", "there", "-o", "m", "--json").out)["version"] == 3


def test_a_version_is_added_beside_the_champion(reversi: Reversi, run: Path) -> None:
    reversi("push", run, "there")
    answer = reversi("push", run, "there", "--version", 4)
    assert answer.out.endswith("/models/000004: added; the champion there is as it was\n")
    pushed = json.loads(reversi("push", run, "there", "--version", 4, "--json").out)
    assert (pushed["version"], pushed["gated"]) == (4, False)
    assert json.loads(reversi("pull", "--registry", "there", "--version", 4, "-o", "m", "--json").out)["version"] == 4


def test_a_registry_without_a_run_is_pushed_from_as_well(reversi: Reversi, run: Path, registry: Path) -> None:
    assert reversi("push", registry, "there").code == 0
    assert Registry("there").gated().version == 3
    assert not Path("there/learning.svg").exists()


def test_what_cannot_be_pushed_has_its_exit_code(reversi: Reversi, run: Path, tmp_path: Path) -> None:
    empty = Registry(tmp_path / "empty", create=True)
    empty.publish(random_weights(TINY), "first", None)
    for arguments, code, says in (
        (("nothing", "there"), 1, "expected a run's folder or its name in runs/, got 'nothing'"),
        (("empty", "there"), 4, "no model has passed the gate yet"),
        (("night", "runs/night/registry"), 2, "expected a place that is no run's own registry"),
        (("night", "there", "--version", 9), 2, "expected the version of a published model (0, 3, 4), got 9"),
        (("night", "nonsense://x"), 2, "expected a folder or a URL that fsspec knows, got 'nonsense://x'"),
        (("night", "abfs://container/x"), 3, "the driver for this kind of URL is not installed"),
    ):
        answer = reversi("push", *arguments)
        assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1), answer.err
        assert says in answer.err
    assert not Path("there").exists()
