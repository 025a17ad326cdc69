"""The registry: what is published stays, what is gated is whole, and damage or absence is told apart by exit code."""

import json
import re
import stat
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from reversi.errors import (
    CorruptFileError,
    IncompatibleModelError,
    NoGatedModelError,
    RunError,
    UnreachableError,
    UsageError,
)
from reversi.model.card import card
from reversi.model.config import TableConfig
from reversi.model.folder import Folder
from reversi.model.info import ModelInfo
from reversi.model.lookup import load_model
from reversi.model.registry import Registry
from tests.reversi.model.samples import MATCH, STACKS, weights


def folder_of(registry, version):
    return Path(registry.url) / "models" / f"{version:06d}"


def change_json(path, /, **change):
    path.write_text(json.dumps(json.loads(path.read_text()) | change))


def test_verdicts_decide_what_is_gated(registry):
    assert registry.publish(weights("reversi4", 0), "first", None).score is None
    registry.publish(weights("reversi4", 5), "rejected", MATCH)
    assert registry.latest().version == 5
    with pytest.raises(NoGatedModelError, match="no model has passed the gate yet; try again later"):
        registry.gated()
    registry.publish(weights("reversi4", 12), "promoted", MATCH)
    assert registry.gated().version == 12
    assert [(info.version, info.verdict) for info in registry.models()] == [
        (0, "first"),
        (5, "rejected"),
        (12, "promoted"),
    ]


def test_a_model_comes_back_as_it_was_published(registry):
    before = weights("reversi6", 12, seed=3)
    published = registry.publish(before, "promoted", MATCH)
    assert registry.get(12) == published
    assert (published.wins, published.draws, published.losses, published.opponent_version) == (231, 12, 57, 3)
    assert published.score == pytest.approx(0.79)
    assert published.match == MATCH
    assert json.loads(json.dumps(asdict(published)))["network"]["channels"] == before.network.channels
    after = registry.load(published)
    assert (after.game, after.version, after.network) == ("reversi6", 12, before.network)
    for name, array in before.arrays.items():
        np.testing.assert_array_equal(after.arrays[name], array)


def test_another_process_sees_what_is_published(registry, url):
    reader = Registry(url)
    assert reader.models() == []
    registry.publish(weights("reversi4", 1), "promoted", MATCH)
    assert reader.gated().version == 1
    assert len(reader.models()) == 1


def test_an_empty_registry_has_no_gated_model_and_a_missing_one_cannot_be_reached(registry, url):
    with pytest.raises(NoGatedModelError, match="no model has passed the gate yet") as empty:
        registry.gated()
    with pytest.raises(NoGatedModelError):
        registry.latest()
    for ask in (Registry.gated, Registry.models, Registry.latest, lambda registry: registry.get(3)):
        with pytest.raises(UnreachableError, match="there is no such folder") as missing:
            ask(Registry(url + "-nowhere"))
    assert (empty.value.exit_code, missing.value.exit_code) == (4, 3)


def test_an_existing_empty_folder_is_an_empty_registry(tmp_path):
    assert Registry(str(tmp_path)).models() == []
    with pytest.raises(NoGatedModelError):
        Registry(str(tmp_path)).gated()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_run_is_not_taken_for_its_registry(tmp_path):
    Registry(str(tmp_path / "registry"), create=True)
    with pytest.raises(UnreachableError, match=rf"expected a registry of models, which is {tmp_path}/registry"):
        Registry(str(tmp_path)).gated()


def test_an_unknown_url_and_a_missing_driver_are_told_apart():
    with pytest.raises(UsageError, match="got 'nonsense://x'"):
        Registry("nonsense://x")
    with pytest.raises(UnreachableError, match="driver"):
        Registry("abfs://container/models")


def test_an_unreachable_server_is_one_line():
    with pytest.raises(UnreachableError, match=r"^cannot reach http://127\.0\.0\.1:9/") as caught:
        Registry("http://127.0.0.1:9/models").gated()
    assert "\n" not in str(caught.value)


def test_a_place_that_cannot_be_written_is_a_run_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises((RunError, UnreachableError), match="file"):
        Registry(str(tmp_path / "file" / "registry"), create=True)


def test_a_version_never_changes(registry):
    first = registry.publish(weights("reversi4", 4, seed=1), "first", None)
    again = registry.publish(weights("reversi4", 4, seed=1), "promoted", MATCH)
    assert again == first, "the same weights again: the verdict that was published stands"
    with pytest.raises(RunError, match="version 4 is taken by other weights"):
        registry.publish(weights("reversi4", 4, seed=2), "promoted", MATCH)
    assert registry.get(4) == first


def test_a_publication_cut_short_is_invisible_and_can_be_repeated(registry, monkeypatch):
    registry.publish(weights("reversi4", 2), "promoted", MATCH)
    write = Folder.write
    for stop in ("models/000007/model.safetensors", "models/000007/card.md", "models/000007/model.json", "gated.json"):

        def dies(folder, name, data, stop=stop):
            if name == stop:
                raise KeyboardInterrupt
            write(folder, name, data)

        monkeypatch.setattr(Folder, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            registry.publish(weights("reversi4", 7), "promoted", MATCH)
        assert registry.gated().version == 2
        assert len(registry.models()) == (2 if stop == "gated.json" else 1)
    monkeypatch.setattr(Folder, "write", write)
    registry.publish(weights("reversi4", 7), "promoted", MATCH)
    assert registry.load(registry.gated()).version == 7


def test_lost_weights_of_a_champion_are_damage(local):
    (folder_of(local, 12) / "model.safetensors").unlink()
    with pytest.raises(CorruptFileError, match="bytes, got no file"):
        local.load(local.gated())


def test_mending_never_moves_the_gate_back(local):
    local.publish(weights("reversi4", 0, seed=0), "first", None)
    assert local.gated().version == 12


def test_files_are_readable_by_all_and_no_temporary_one_is_left(local):
    files = sorted(path for path in Path(local.url).rglob("*") if path.is_file())
    assert len(files) == 3 * 3 + 2
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o644 for path in files)
    assert not any(path.name.startswith(".") for path in files)


def test_the_card_says_what_it_is_and_how_to_play_it(local):
    card = (folder_of(local, 12) / "card.md").read_text()
    for text in ("# Version 12, reversi4", "2 blocks x 16 channels", "promoted", "won 231, drawn 12, lost 57"):
        assert text in card
    for text in ("against version 3; score 0.790", local.get(12).sha256, "reversi play --size 4", "reversi analyze"):
        assert text in card
    assert "none: it is the baseline" in (folder_of(local, 0) / "card.md").read_text()
    assert local.get(12).summary == "promoted against version 3: 231-12-57, score 0.790"
    assert local.get(0).summary == "baseline, published without a match"


@pytest.mark.parametrize(
    ("game", "config", "texts"),
    [
        (
            "reversi6",
            STACKS["2x2, dense"],
            ["4-8-16, dense 32-32 (stack)", "value of every action", "play --size 6 mcts"],
        ),
        ("reversi8", STACKS["3x3, bias of squares"], ["convolutions 16-16 (stack)", "a policy alone", "--size 8"]),
        ("tictactoe", TableConfig(), ["table (table)", "value of every action", "reversi play MODEL\n"]),
    ],
    ids=["q", "policy", "table"],
)
def test_every_kind_of_network_comes_back_and_has_its_card(game, config, texts, url):
    registry = Registry(url, create=True)
    before = weights(game, 4, config=config)
    registry.publish(before, "first", None)
    info = registry.get(4)
    assert (info.network, info.game) == (config, game)
    assert all(text in card(info) for text in texts), info.card()
    after = registry.load(info)
    assert after.network == config
    for name, array in before.arrays.items():
        np.testing.assert_array_equal(after.arrays[name], array)


def test_pull_copies_a_whole_model_folder(registry, tmp_path):
    registry.publish(weights("reversi4", 0), "promoted", MATCH)
    registry.publish(weights("reversi4", 3, seed=3), "rejected", MATCH)
    there = tmp_path / "new" / "champion"
    info = registry.pull(None, there)
    assert (info.version, info.path) == (0, str(there))
    assert sorted(path.name for path in there.iterdir()) == ["card.md", "model.json", "model.safetensors"]
    assert info.size == (there / "model.safetensors").stat().st_size
    assert ModelInfo.from_json((there / "model.json").read_bytes(), str(there)) == info
    assert registry.pull(3, there).version == 3, "a folder pulled into before is brought up to date"
    assert load_model(str(there)).version == load_model(str(there / "model.safetensors")).version == 3


def test_pull_leaves_every_registry_as_it_is(local, tmp_path):
    other = Registry(str(tmp_path / "other"), create=True)
    for place in (folder_of(local, 5), Path(local.url), folder_of(other, 1) / "deeper"):
        with pytest.raises(UsageError, match="expected a folder outside of registries"):
            local.pull(None, place)
    assert [local.load(info).version for info in local.models()] == [0, 5, 12]
    assert other.models() == []


def test_pull_refuses_a_changed_model_and_writes_nothing(local, tmp_path):
    there = tmp_path / "out"
    damaged = folder_of(local, 12) / "model.safetensors"
    whole = damaged.read_bytes()
    other = (folder_of(local, 0) / "model.safetensors").read_bytes()
    for data in (whole[:-1], whole + b"x", b"", whole[:-5] + b"!" + whole[-4:], other):
        damaged.write_bytes(data)
        with pytest.raises(CorruptFileError, match=r"000012/model\.safetensors: expected "):
            local.pull(None, there)
        assert not there.exists()
    damaged.unlink()
    with pytest.raises(CorruptFileError, match="got no file"):
        local.pull(None, there)


def test_a_description_of_other_weights_is_refused_even_with_their_hash(local):
    source, target = folder_of(local, 0), folder_of(local, 12)
    (target / "model.safetensors").write_bytes((source / "model.safetensors").read_bytes())
    change_json(target / "model.json", sha256=local.get(0).sha256, size=local.get(0).size)
    with pytest.raises(CorruptFileError, match="expected version 12 for reversi4"):
        local.load(local.get(12))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 13},
        {"version": "12"},
        {"verdict": "champion"},
        {"game": "../reversi4"},
        {"wins": None},
        {"created": "\x1b[2J"},
        {"match": []},
    ],
    ids=str,
)
def test_a_wrong_description_is_corrupt(local, change):
    change_json(folder_of(local, 12) / "model.json", **change)
    with pytest.raises(CorruptFileError, match=r"000012/model\.json: "):
        local.gated()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"elo": float("nan")}, "expected a finite number, got NaN"),
        ({"champion_elo": float("inf")}, "expected a finite number, got Infinity"),
        ({"champion_elo": "1200"}, "match.champion_elo must be a number, got '1200'"),
        ({"wins": 400}, "match.wins must be wins, 231, got 400"),
        ({"opponent_version": None}, "match.opponent_version must be an integer, got None"),
        ({"interval": [0.5]}, "match.interval must be a list of 2"),
        ({"rule": "\x1b[2J"}, "match.rule must be a name"),
        ({"pairs": [1, 2, 3, 4, "5"]}, "match.pairs must be an integer"),
    ],
    ids=str,
)
def test_a_wrong_match_in_a_description_is_corrupt(local, change, why):
    change_json(folder_of(local, 12) / "model.json", match=MATCH | change)
    with pytest.raises(CorruptFileError, match=rf"000012/model\.json: .*{re.escape(why)}"):
        local.gated()


@pytest.mark.parametrize("text", ['{"version": 999}', '{"version": 5}', "", '{"version": NaN}', "[]"])
def test_a_champion_that_is_wrongly_named_is_refused_and_named_anew_by_the_next_publication(local, text, caplog):
    (Path(local.url) / "gated.json").write_text(text)
    with pytest.raises(CorruptFileError, match=r"gated\.json: expected "):
        local.gated()
    local.publish(local.load(local.get(12)), "promoted", MATCH)
    assert local.gated().version == 12
    assert "the champion is named anew: " in caplog.text


def test_a_model_whose_answers_are_not_numbers_is_not_pulled(registry, tmp_path):
    sound = weights("reversi4", 3)
    huge = replace(sound, arrays={name: np.full_like(array, 3e38) for name, array in sound.arrays.items()})
    registry.publish(huge, "promoted", None)
    with pytest.raises(IncompatibleModelError, match="expected a model whose answers are finite numbers, got others"):
        registry.pull(None, tmp_path / "pulled")
    assert not (tmp_path / "pulled").exists()


def test_a_description_of_a_later_format_is_incompatible(local):
    change_json(folder_of(local, 12) / "model.json", format=2)
    with pytest.raises(IncompatibleModelError, match="expected format 1, got 2"):
        local.gated()


def test_no_file_of_the_registry_can_lead_out_of_it(local, tmp_path):
    change_json(folder_of(local, 12) / "model.json", path="/etc")
    assert local.get(12).path == str(folder_of(local, 12))
    gated = Path(local.url) / "gated.json"
    for version in ("../../secret", -1, 1.5, None, True):
        gated.write_text(json.dumps({"version": version}))
        with pytest.raises(CorruptFileError, match="expected a version, but version must be "):
            local.gated()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[3]", "it must be an object, got [3]"),
        ("{}", "version must be an integer, got None"),
        ('{"version": "3"}', "version must be an integer, got '3'"),
    ],
)
def test_a_champion_that_is_not_named_is_told_in_words(local, text, why):
    (Path(local.url) / "gated.json").write_text(text)
    with pytest.raises(CorruptFileError) as error:
        local.gated()
    assert str(error.value) == f"{local.url}/gated.json: expected a version, but {why}"


def test_other_things_among_the_models_are_passed_over(local):
    models = Path(local.url) / "models"
    for name in ("12", "README", ".hidden", "000013", "٠٠٠٠١٢"):
        (models / name).mkdir()
    (models / "000014").write_text("a file")
    assert [info.version for info in local.models()] == [0, 5, 12]


def test_of_many_versions_the_first_and_the_last_are_named(local, monkeypatch):
    monkeypatch.setattr("reversi.model.registry.MOST_LISTED", 2)
    with pytest.raises(UsageError, match=r"expected the version of a published model \(3 from 0 to 12\), got 7"):
        local.get(7)


def test_models_that_can_be_read_are_told_from_others(local):
    change_json(folder_of(local, 5) / "model.json", version=6)
    change_json(folder_of(local, 0) / "model.json", format=2)
    models, faults = local.readable()
    assert [info.version for info in models] == [12]
    assert [type(fault) for fault in faults] == [IncompatibleModelError, CorruptFileError]
    with pytest.raises(IncompatibleModelError, match="expected format 1, got 2"):
        local.models()
    with pytest.raises(UsageError, match=r"\(12\), got 7"):
        local.get(7)


def test_an_unknown_version_names_those_there_are(local):
    with pytest.raises(UsageError, match=r"\(0, 5, 12\), got 7"):
        local.get(7)


def test_load_model_reads_every_kind_of_name(local):
    assert [load_model(spec, local.url).version for spec in ("gated", "latest", "5", "000005")] == [12, 12, 5, 5]
    assert load_model(str(folder_of(local, 5))).version == 5
    assert [load_model(spec, Path(local.url)).version for spec in (5, np.int64(12))] == [5, 12]
    assert load_model(folder_of(local, 5)).version == 5
    with pytest.raises(
        UsageError, match=r"expected gated, latest, shipped, a version number or a folder .*, got 'newest'"
    ):
        load_model("newest", local.url)
    with pytest.raises(UsageError):
        load_model(local.url)
    for spec, words in ((Path("gated"), "'gated'"), (-1, "'-1'"), (7, "published model (0, 5, 12), got 7")):
        with pytest.raises(UsageError, match=re.escape(words)):
            load_model(spec, local.url)
