"""The rule of choice: what is named, else the newest run with a promotion on the board, else what is shipped."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reversi.errors import CorruptFileError, NoGatedModelError, UsageError
from reversi.games.rules import game_named
from reversi.model import lookup as module
from reversi.model.lookup import choose, load_model, open_registry
from reversi.model.registry import Registry
from tests.reversi.model.samples import MATCH, weights

FOUR, SIX = game_named("reversi4"), game_named("reversi6")


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with no model shipped but what a test puts into this one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "SHIPPED", tmp_path / "shipped")
    module._say.cache_clear()
    return tmp_path / "shipped"


def ship(shipped: Path, game: str, version: int = 7) -> None:
    """Ship a model as a maintainer does: pull it from its run's registry."""
    made = Registry(f"memory://{shipped}/{game}", create=True)
    made.publish(weights(game, version), "promoted", MATCH)
    made.pull(None, shipped / game)


def run(name: str, trained_s: float, game: str, *, promoted: bool) -> Registry:
    """Make a run whose first model is version 0 and, if `promoted`, whose champion is version 1."""
    made = Registry(str(Path("runs") / name / "registry"), create=True)
    made.publish(weights(game, 0), "first", None)
    if promoted:
        made.publish(weights(game, 1, seed=1), "promoted", MATCH)
    (Path("runs") / name / "config.yaml").touch()
    now_s = time.time() + trained_s
    os.utime(Path("runs") / name, (now_s, now_s))
    return made


def test_a_named_registry_without_a_promotion_has_no_gated_model_whatever_is_shipped(shipped: Path) -> None:
    ship(shipped, "reversi4")
    named = run("one", 0, "reversi4", promoted=False)
    with pytest.raises(NoGatedModelError, match=r"runs/one/registry: no model has passed the gate yet; try again"):
        load_model("gated", named.url, FOUR)
    with pytest.raises(NoGatedModelError):
        named.pull(None, Path("out"))
    assert [load_model(name, named.url).version for name in ("latest", "0")] == [0, 0]


def test_unnamed_it_is_the_newest_run_with_a_promotion_on_that_board(
    shipped: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ship(shipped, "reversi6")
    run("four", 0, "reversi4", promoted=True)
    run("six", 10, "reversi6", promoted=True)
    run("first", 20, "reversi4", promoted=False)
    four = choose("gated", None, FOUR)
    assert (four.name, four.weights.game, four.weights.version) == ("1", "reversi4", 1)
    assert choose("gated", None, FOUR).weights.version == 1
    newer = "; the newest run, runs/first, has no promoted model"
    assert caplog.messages == [f"models are those of runs/four, gated is version 1{newer} of reversi4"], "said once"
    assert load_model("gated").game == "reversi6"
    assert open_registry(None).url == "runs/six/registry"
    assert caplog.messages[1:] == [f"models are those of runs/six, gated is version 1{newer}"]
    assert [load_model(name, None, FOUR).version for name in ("latest", 0)] == [1, 0]


def test_without_a_run_on_that_board_it_is_the_shipped_model(shipped: Path, caplog: pytest.LogCaptureFixture) -> None:
    ship(shipped, "reversi6", version=7)
    run("four", 0, "reversi4", promoted=True)
    run("first", 10, "reversi6", promoted=False)
    for _ in range(2):
        six = choose("gated", None, SIX)
        assert (six.name, six.weights.game, six.weights.version) == ("shipped", "reversi6", 7)
    assert caplog.messages == ["gated is the shipped model of reversi6, as no run in runs/ has promoted one"]
    assert choose("shipped", None, SIX).data == six.data
    assert len(caplog.messages) == 1, "what was named is not said"


def test_shipped_alone_is_8x8(shipped: Path) -> None:
    ship(shipped, "reversi6")
    with pytest.raises(NoGatedModelError, match="no model of reversi8 is shipped with this program"):
        load_model("shipped")
    ship(shipped, "reversi8", version=9)
    assert load_model("shipped").version == 9
    assert load_model("gated").version == 9, "nothing is named, and there is no run"


def test_a_game_can_be_given_by_name(shipped: Path) -> None:
    ship(shipped, "reversi6")
    for name in ("shipped", "gated"):
        assert load_model(name, game="reversi6").game == load_model(name, game=SIX).game == "reversi6"
    with pytest.raises(UsageError, match=r"game must be one of reversi4, .*, got 'reversi7'"):
        load_model("shipped", game="reversi7")


def test_without_any_model_of_that_board_the_message_says_what_to_do() -> None:
    with pytest.raises(NoGatedModelError, match="no run in runs/ has a promoted model of reversi4, and no model of re"):
        load_model("gated", None, FOUR)
    with pytest.raises(NoGatedModelError, match="no run in runs/ has a registry; make one with `reversi train`"):
        open_registry(None)


def test_versions_are_those_of_the_newest_run_with_models_where_none_was_promoted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run("old", 0, "reversi4", promoted=False)
    run("new", 10, "reversi4", promoted=False)
    Registry("runs/empty/registry", create=True)
    assert open_registry(None).url == "runs/new/registry"
    assert load_model("latest").version == 0
    assert caplog.messages == ["models are those of runs/new, none of which was promoted"]


def test_a_shipped_model_is_checked_like_every_other(shipped: Path) -> None:
    ship(shipped, "reversi4")
    file = shipped / "reversi4" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match=r"shipped/reversi4/model\.safetensors: expected \d+ bytes"):
        load_model("shipped", None, FOUR)


def test_a_shipped_model_can_be_pulled(shipped: Path) -> None:
    ship(shipped, "reversi4")
    info = choose("shipped", None, FOUR).pull(Path("copy"))
    assert (info.version, info.path) == (7, "copy")
    for name in ("model.safetensors", "card.md", "model.json"):
        assert (Path("copy") / name).read_bytes() == (shipped / "reversi4" / name).read_bytes()


def test_a_folder_at_a_url_is_a_model() -> None:
    made = Registry("memory://somewhere/models", create=True)
    made.publish(weights("reversi4", 3), "first", None)
    assert load_model("memory://somewhere/models/models/000003").version == 3
    with pytest.raises(UsageError, match="expected gated, latest, shipped, a version number or a folder"):
        load_model("memory://somewhere/models/models/000004")


def test_the_models_that_are_shipped_fit_this_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 8 MB in all."""
    monkeypatch.undo()
    folders = [path for path in module.SHIPPED.iterdir() if path.is_dir() and not path.name.startswith("_")]
    for folder in folders:
        game = game_named(folder.name)
        load_model("shipped", None, game).check_game(game)
    assert sum(file.stat().st_size for folder in folders for file in folder.iterdir()) <= 8 << 20
