from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from reversi.model.registry import load_model
from tests.scripts.conftest import Reversi


def test_pull_brings_the_gated_model(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    answer = json.loads(reversi("pull", "--registry", registry, "-o", tmp_path / "model", "--json").out)
    file = tmp_path / "model" / "model.safetensors"
    assert (answer["version"], answer["path"]) == (3, str(tmp_path / "model"))
    assert answer["size"] == file.stat().st_size
    assert answer["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert answer["card"] == (tmp_path / "model" / "card.md").read_text()
    assert load_model(answer["path"]).version == 3


def test_pull_brings_a_version_and_prints_its_card(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    answer = reversi("pull", "--registry", registry, "--version", 4, "-o", tmp_path)
    assert answer.code == 0
    assert answer.out == (tmp_path / "card.md").read_text()
    assert "Version 4" in answer.out


def test_pull_takes_the_names_that_other_commands_take(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    """And replaces what is in the folder."""
    for name, version in (("latest", 4), ("gated", 3), (0, 0)):
        answer = reversi("pull", "--registry", registry, "--model", name, "-o", tmp_path / "model", "--json")
        assert json.loads(answer.out)["version"] == load_model(str(tmp_path / "model")).version == version
    for wrong, says in (
        (("--model", "champion"), "error: expected gated, latest, shipped or a version number, got 'champion'\n"),
        (("--model", "3", "--version", "3"), "not allowed with"),
    ):
        refused = reversi("pull", "--registry", registry, *wrong, "-o", tmp_path / "other")
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert says in refused.err
    assert not (tmp_path / "other").exists()


def test_a_folder_of_a_registry_is_not_pulled_into(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    """A published version never changes; nor is another registry changed, or one behind a link."""
    other = shutil.copytree(registry, tmp_path / "other")
    (tmp_path / "link").symlink_to(other / "models")
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    for place in (other / "models" / "000004", other / "models" / "000009", other, tmp_path / "link" / "000000" / "in"):
        for source in (registry, other):
            answer = reversi("pull", "--registry", source, "-o", place)
            expected = f"error: expected a folder outside of registries, got '{place}' in the registry {other}\n"
            assert (answer.code, answer.out, answer.err) == (2, "", expected)
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == before
    (other / "registry.json").unlink()
    assert reversi("pull", "--registry", registry, "-o", other / "models" / "000004").code == 2


def test_a_model_is_pulled_into_a_folder(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in (tmp_path / "file", tmp_path / "link", Path("/dev/null")):
        answer = reversi("pull", "--registry", registry, "-o", place)
        assert (answer.code, answer.err) == (2, f"error: expected a folder, got '{place}', which is something else\n")
    assert (tmp_path / "file").read_text() == "mine"


def test_models_lists_verdicts(reversi: Reversi, registry: Path) -> None:
    models = json.loads(reversi("models", "--registry", registry, "--json").out)
    assert [(each["version"], each["verdict"], each["gated"]) for each in models] == [
        (0, "first", False),
        (3, "promoted", True),
        (4, "rejected", False),
    ]
    assert (models[1]["wins"], models[1]["draws"], models[1]["losses"]) == (230, 10, 160)
    assert all(Path(each["path"]).is_dir() for each in models)
    lines = reversi("models", "--registry", registry).out.splitlines()
    assert [line[0] for line in lines] == [" ", "*", " "]


@pytest.mark.parametrize(
    ("name", "text", "listed", "gated", "says"),
    [
        ("models/000004/model.json", "{", [0, 3], 3, "000004/model.json: expected the description of a model, but "),
        ("models/000000/model.json", '{"format": 2}', [3, 4], 3, "000000/model.json: expected format 1, got 2"),
        ("models/000003/model.json", "", [0, 4], None, "000003/model.json: expected the description of a model, but "),
        ("gated.json", "{}", [0, 3, 4], None, "expected a version, but version must be an integer, got None"),
        ("gated.json", '{"version": 9}', [0, 3, 4], None, "expected the version of a published model (0, 3, 4), got 9"),
    ],
)
def test_what_cannot_be_read_is_named_beside_the_list_of_the_others(
    reversi: Reversi, registry: Path, tmp_path: Path, name: str, text: str, listed: list[int], gated: int, says: str
) -> None:
    broken = shutil.copytree(registry, tmp_path / "broken")
    (broken / name).write_text(text)
    answer = reversi("models", "--registry", broken, "--json")
    models = json.loads(answer.out)
    assert (answer.code, [each["version"] for each in models]) == (1, listed)
    assert [each["version"] for each in models if each["gated"]] == ([] if gated is None else [gated])
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert says in answer.err
    shown = reversi("models", "--registry", broken)
    assert (shown.code, shown.err) == (1, answer.err)
    assert [int(line.strip("* ").split()[0]) for line in shown.out.splitlines()] == listed


def test_an_empty_registry_lists_nothing_and_has_no_gated_model(reversi: Reversi, tmp_path: Path) -> None:
    assert json.loads(reversi("models", "--registry", tmp_path, "--json").out) == []
    assert "no models yet" in reversi("models", "--registry", tmp_path).out
    answer = reversi("pull", "--registry", tmp_path, "-o", tmp_path / "out")
    assert answer.code == 4
    assert not (tmp_path / "out").exists()


def test_the_newest_run_is_the_default(
    reversi: Reversi, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reversi("models").code == 4
    shutil.copytree(registry, tmp_path / "runs" / "mine" / "registry")
    assert json.loads(reversi("pull", "-o", "here", "--json").out)["version"] == 3


def test_a_folder_without_a_name_is_refused(reversi: Reversi, registry: Path) -> None:
    """An empty name would be the current folder."""
    for arguments in (("--registry", registry, "-o", ""), ("--registry", "", "-o", "there")):
        answer = reversi("pull", *arguments)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "expected a name, got ''" in answer.err
