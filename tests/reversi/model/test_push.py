"""Models pushed to another place: what is there, what `pull` reads back, and what changes no champion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import yaml
from fsspec.implementations.memory import MemoryFileSystem

from reversi.errors import RunError, UnreachableError, UnwritableError, UsageError
from reversi.model.folder import Folder
from reversi.model.info import Owner
from reversi.model.lookup import load_model
from reversi.model.push import push
from reversi.model.registry import Registry
from tests.reversi.model.samples import MATCH, weights


class Hub(MemoryFileSystem):
    """A hub like Hugging Face's: repositories that exist already, OWNER/NAME; every write is a commit."""

    protocol = "hf"
    store: dict[str, Any] = {}  # noqa: RUF012 - as the class above declares it
    pseudo_dirs = [""]  # noqa: RUF012 - as above
    repositories = {"/me/model"}  # noqa: RUF012
    commits: list[str] = []  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("hf://").strip("/")

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """A hub has no folders."""

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **settings: Any) -> None:
        path = self._strip_protocol(path)
        if "/".join(path.split("/")[:3]) not in self.repositories:
            raise FileNotFoundError(f"repository not found: {path}")
        self.commits.append(path)
        super().pipe_file(path, value, mode, **settings)


@pytest.fixture(autouse=True)
def hub() -> Iterator[None]:
    fsspec.register_implementation("hf", Hub, clobber=True)
    Hub.store.clear()
    Hub.commits.clear()
    yield
    Hub.store.clear()


def promote(registry: Registry, version: int) -> None:
    registry.publish(weights("reversi4", version, seed=version), "promoted", MATCH)


@pytest.fixture
def source(tmp_path: Path) -> Registry:
    """A run's registry with a baseline, a champion and a rejected candidate."""
    made = Registry(tmp_path / "run" / "registry", create=True, owner=Owner(run="abc", name="night"))
    made.claim(may_have_models=False)
    made.publish(weights("reversi4", 0), "first", None)
    promote(made, 3)
    made.publish(weights("reversi4", 4, seed=4), "rejected", MATCH)
    return made


@pytest.fixture(params=["folder", "memory", "hub"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    places = {"folder": str(tmp_path / "there"), "memory": f"memory://{tmp_path.name}/there", "hub": "hf://me/model"}
    return places[request.param]


def test_what_is_pushed_is_pulled_by_alias_and_by_version(source: Registry, place: str, tmp_path: Path) -> None:
    pushed = push(source, source.gated(), place)
    push(source, source.get(4), place)
    there = Registry(place)
    assert there.gated() == pushed
    assert there.gated().to_json() == source.gated().to_json()
    assert there.owner is None
    assert [info.version for info in there.models()] == [3, 4]
    assert [there.pull(version, tmp_path / "m").version for version in (None, 3, 4)] == [3, 3, 4]
    assert load_model("gated", place).version == 3


def test_the_place_has_the_champions_card_as_its_page(source: Registry, place: str, tmp_path: Path) -> None:
    picture = tmp_path / "learning.svg"
    picture.write_text("<svg/>")
    push(source, source.gated(), place, picture)
    page = (Folder(place).read("README.md", 1 << 20) or b"").decode()
    assert yaml.safe_load(page.split("---\n")[1])["library_name"] == "reversi-zero"
    assert "](learning.svg)" in page
    assert f"reversi pull --registry {place} --version 3 -o MODEL" in page
    assert Folder(place).read("learning.svg", 99) == b"<svg/>"


def test_another_version_changes_neither_champion_nor_page(source: Registry, place: str) -> None:
    push(source, source.get(4), place)
    assert Registry(place).champion() is None
    assert Folder(place).read("README.md", 99) is None
    push(source, source.gated(), place)
    push(source, source.get(0), place)
    assert Registry(place).gated().version == 3


def test_a_model_is_complete_before_it_is_named(source: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    push(source, source.gated(), "hf://me/model")
    expected = [
        *("registry.json", "models/000003/model.safetensors", "models/000003/card.md", "models/000003/model.json"),
        *("README.md", "gated.json"),
    ]
    assert [path.removeprefix("/me/model/") for path in Hub.commits] == expected
    promote(source, 6)
    write = Folder.write
    for stop in ("models/000006/model.safetensors", "models/000006/model.json", "README.md", "gated.json"):

        def dies(folder: Folder, name: str, data: bytes, stop: str = stop) -> None:
            if name == stop:
                raise UnwritableError("no room")
            write(folder, name, data)

        monkeypatch.setattr(Folder, "write", dies)
        with pytest.raises(UnwritableError):
            push(source, source.gated(), "hf://me/model")
        assert load_model("gated", "hf://me/model").version == 3
    monkeypatch.setattr(Folder, "write", write)
    push(source, source.gated(), "hf://me/model")
    assert load_model("gated", "hf://me/model").version == 6


def test_the_registry_of_a_run_is_no_place_to_push_to(source: Registry, tmp_path: Path) -> None:
    other = Registry(tmp_path / "other", create=True, owner=Owner(run="def", name="day"))
    other.claim(may_have_models=False)
    (tmp_path / "link").symlink_to(tmp_path / "run" / "registry")
    for url in (source.url, str(tmp_path / "link"), other.url):
        with pytest.raises(UsageError, match="expected a place that is no run's own registry, got "):
            push(source, source.gated(), url)


def test_a_version_of_another_run_is_not_replaced(source: Registry, place: str, tmp_path: Path) -> None:
    push(source, source.gated(), place)
    other = Registry(tmp_path / "other", create=True)
    other.publish(weights("reversi4", 3, seed=99), "promoted", MATCH)
    with pytest.raises(RunError, match="version 3 is taken by other weights"):
        push(other, other.gated(), place)
    assert Registry(place).gated().sha256 == source.gated().sha256


def test_an_older_champion_replaces_a_newer_one_only_if_that_was_withdrawn(source: Registry, place: str) -> None:
    promote(source, 6)
    push(source, source.gated(), place)
    older = Registry(f"{source.url}-older", create=True)
    promote(older, 3)
    with pytest.raises(UsageError, match="expected a newer champion than version 6 there, got 3"):
        push(older, older.gated(), place)
    source.roll_back(3, "6 is worse")
    push(source, source.gated(), place)
    assert Registry(place).gated().version == 3
    assert Registry(place).rollbacks() == source.rollbacks()


def test_a_champion_withdrawn_there_stays_withdrawn(source: Registry, place: str) -> None:
    push(source, source.gated(), place)
    promote(source, 6)
    push(source, source.gated(), place)
    Registry(place).roll_back(3, "6 crashes our page")
    with pytest.raises(UsageError, match=r"version 6 was withdrawn there .*6 crashes our page"):
        push(source, source.gated(), place)
    promote(source, 8)
    push(source, source.gated(), place)
    assert Registry(place).gated().version == 8


def test_a_damaged_model_is_not_pushed(source: Registry, place: str) -> None:
    file = Path(source.gated().path) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(Exception, match="expected SHA-256"):
        push(source, source.gated(), place)
    assert Folder(place).names("models") == []


def test_a_repository_that_is_not_there_is_said_in_a_line(source: Registry) -> None:
    with pytest.raises((UnwritableError, UnreachableError), match="repository not found") as caught:
        push(source, source.gated(), "hf://me/other")
    assert "\n" not in str(caught.value)
