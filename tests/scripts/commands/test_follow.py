"""`reversi pull --follow`, with a clock that the test moves: every champion is pulled, whole and once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reversi.model import choice
from reversi.model.champion import CHECK_S
from reversi.model.lookup import load_model
from reversi.model.registry import Registry
from scripts.bench.setup import random_weights
from tests.scripts.conftest import TINY, Reversi

WON = {"wins": 230, "draws": 10, "losses": 160, "opponent_version": 0}


@pytest.fixture
def models(tmp_path: Path) -> Registry:
    """The registry of a run whose baseline alone is published."""
    made = Registry(tmp_path / "models", create=True)
    made.publish(random_weights(TINY), "first", None)
    return made


def promote(registry: Registry, version: int) -> None:
    registry.publish(dataclasses.replace(random_weights(TINY), version=version), "promoted", WON)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterator[object]], list[float]]:
    """Return a function that lets something happen in each wait, and then Ctrl-C; it returns the waits."""

    def set_up(events: Iterator[object]) -> list[float]:
        waits: list[float] = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if next(events, None) is None:
                raise KeyboardInterrupt

        monkeypatch.setattr(time, "sleep", sleep)
        return waits

    return set_up


def pulled(folder: Path) -> int:
    """Return the version in a folder, once its file is what its description says."""
    info, data = json.loads((folder / "model.json").read_text()), (folder / "model.safetensors").read_bytes()
    assert hashlib.sha256(data).hexdigest() == info["sha256"]
    assert load_model(folder).version == info["version"]
    version: int = info["version"]
    return version


def test_each_champion_is_pulled_once_and_a_rollback_too(
    reversi: Reversi, models: Registry, tmp_path: Path, meanwhile: Callable[[Iterator[object]], list[float]]
) -> None:
    there, seen = tmp_path / "there", list[int]()

    def run() -> Iterator[object]:
        assert not there.exists()
        yield "no champion yet"
        promote(models, 3)
        yield "the first"
        seen.append(pulled(there))
        yield "nothing new"
        promote(models, 5)
        yield "the second"
        seen.append(pulled(there))
        models.roll_back(3, "why")
        yield "a rollback"
        seen.append(pulled(there))

    waits = meanwhile(run())
    answer = reversi("pull", "--registry", models.url, "-o", there, "--follow")
    assert (answer.code, seen) == (130, [3, 5, 3])
    assert answer.err == f"waiting for the first champion of {models.url}\n\n"
    lines = [f"version {version}, SHA-256 {models.get(version).sha256}, in {there}" for version in (3, 5, 3)]
    assert answer.out.splitlines() == lines
    assert set(waits) == {CHECK_S}
    assert CHECK_S <= 2.5, "two looks in the five seconds that are promised"


def test_what_fails_is_tried_again(
    reversi: Reversi,
    models: Registry,
    tmp_path: Path,
    meanwhile: Callable[[Iterator[object]], list[float]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    there = tmp_path / "there"
    promote(models, 3)

    def run() -> Iterator[object]:
        promote(models, 5)
        file = Path(models.get(5).path) / "model.safetensors"
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + b"?")
        yield "damaged"
        assert pulled(there) == 3
        file.write_bytes(whole)
        yield "mended"
        assert pulled(there) == 5

    waits = meanwhile(run())
    lines = reversi("pull", "--registry", models.url, "-o", there, "--follow", "--json").out.splitlines()
    assert [json.loads(line)["version"] for line in lines] == [3, 5]
    assert waits == [CHECK_S, 2 * CHECK_S, CHECK_S]
    assert "model 3 stays in use" in caplog.text


def test_the_description_is_written_last(models: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    promote(models, 3)
    names, write = list[str](), choice.write_atomic

    def note(path: Path, data: bytes) -> None:
        names.append(path.name)
        write(path, data)

    monkeypatch.setattr(choice, "write_atomic", note)
    models.pull(None, tmp_path / "there")
    assert (names[0], names[-1]) == ("model.safetensors", "model.json")


def test_what_cannot_be_followed_is_refused(reversi: Reversi, models: Registry, tmp_path: Path) -> None:
    promote(models, 3)
    for arguments, code in (
        (("--follow", "--version", 3), 2),
        (("--follow", "--model", "latest"), 2),
        (("--follow", "--size", 8), 1),
    ):
        answer = reversi("pull", "--registry", models.url, "-o", tmp_path / "there", *arguments)
        assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1)
    assert reversi("pull", "--registry", tmp_path / "nowhere", "-o", tmp_path / "there", "--follow").code == 3
    assert not (tmp_path / "there").exists()
