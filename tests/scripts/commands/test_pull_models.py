from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from reversi.model.lookup import load_model
from reversi.model.registry import Registry
from reversi.model.training import Spent
from scripts.bench.setup import random_weights
from tests.scripts.conftest import TINY, Reversi
from tests.scripts.run import written_runs


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
    assert [line.split()[:2] for line in lines] == [
        ["version", "verdict"],
        ["0", "baseline"],
        ["*", "3"],
        ["4", "rejected"],
    ]


@pytest.mark.parametrize(
    ("name", "text", "listed", "gated", "says"),
    [
        ("models/000004/model.json", "{", [0, 3], 3, "000004/model.json: expected the description of a model, but "),
        ("models/000000/model.json", '{"format": 2}', [3, 4], 3, "000000/model.json: expected format 1, got 2"),
        ("models/000003/model.json", "", [0, 4], None, "000003/model.json: expected the description of a model, but "),
        ("gated.json", "{}", [0, 3, 4], None, "expected a version, but version must be an integer, got None"),
        ("gated.json", '{"version": 9}', [0, 3, 4], None, "expected the version of a champion, got 9"),
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
    assert [int(line.strip("* ").split()[0]) for line in shown.out.splitlines()[1:]] == listed


def test_the_table_has_the_figures_of_every_match(
    reversi: Reversi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run by its name, with all that the gate says."""
    monkeypatch.chdir(tmp_path)
    made = written_runs.made(tmp_path / "runs" / "night")
    registry = Registry(made / "registry", create=True)
    weights = random_weights(TINY)
    registry.publish(weights, "first", None)
    won = {"wins": 22, "draws": 1, "losses": 10, "opponent_version": 0, "elo": 130.4, "elo_interval": [30.2, None]}
    truth = {"truth": {"positions": 300, "outcome_kept": 0.98, "outcome_kept_error": 0.01}}
    colours = {"black": [12, 0, 4], "white": [10, 1, 6]}
    spent = Spent(seconds=754.0, games=12_000, positions=400_000)
    registry.publish(dataclasses.replace(weights, version=3), "promoted", won | truth | colours, spent)
    head, first, second = reversi("models", "night").out.splitlines()
    assert re.split(r"  +", head.strip()) == [
        *("version", "verdict", "against", "Elo [95 %]", "truth", "as Black", "as White", "cost", "published")
    ]
    assert first.split()[:2] == ["0", "baseline"]
    assert re.split(r"  +", second)[:9] == [
        *("*", "3", "promoted", "0", "+130 [+30, +inf]", "98.0 \N{PLUS-MINUS SIGN}2.0 %", "12-0-4", "10-1-6"),
        "12 min 34 s, 12,000 games",
    ]
    assert reversi("models", "night", "--registry", "x").code == 2
    assert json.loads(reversi("pull", "night", "-o", "m", "--json").out)["version"] == 3
    assert reversi("models", "other").code == 1


def test_a_rollback_is_made_shown_and_followed(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(registry, tmp_path / "copy")
    made = Registry(copy)
    won = {"wins": 230, "draws": 10, "losses": 160, "opponent_version": 3}
    made.publish(dataclasses.replace(random_weights(TINY), version=5), "promoted", won)
    back = reversi("models", "--registry", copy, "--rollback", 3, "--reason", "5 passes too early")
    assert (back.code, back.err) == (0, "")
    assert re.fullmatch(r"rolled back from version 5 to 3 on \d{4}-\d\d-\d\d: 5 passes too early\n", back.out)
    assert json.loads(reversi("pull", "--registry", copy, "-o", tmp_path / "m", "--json").out)["version"] == 3
    shown = reversi("models", "--registry", copy).out.splitlines()
    assert shown[-1] + "\n" == back.out
    assert [line.strip("* ").split()[:2] for line in shown[1:-1]][-1] == ["5", "withdrawn"]
    models = json.loads(reversi("models", "--registry", copy, "--json").out)
    assert [(each["gated"], each["withdrawn"]) for each in models] == [
        *((False, None), (True, None), (False, None), (False, "5 passes too early"))
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--rollback", 3), "expected --rollback N and --reason TEXT together"),
        (("--reason", "why"), "expected --rollback N and --reason TEXT together"),
        (
            ("--rollback", 4, "--reason", "why"),
            "expected a version that was promoted, got 4: rejected against",
        ),
        (("--rollback", 3, "--reason", "why"), "expected another version than the champion, got 3"),
    ],
    ids=str,
)
def test_a_rollback_that_cannot_be_is_refused(
    reversi: Reversi, registry: Path, arguments: tuple[object, ...], says: str
) -> None:
    before = (registry / "gated.json").read_bytes()
    answer = reversi("models", "--registry", registry, *arguments)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says in answer.err
    assert (registry / "gated.json").read_bytes() == before


def test_a_rollback_names_its_registry(reversi: Reversi) -> None:
    answer = reversi("models", "--rollback", 3, "--reason", "why")
    assert (answer.code, "no registry is changed that is not named" in answer.err) == (2, True)


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
