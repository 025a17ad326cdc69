"""Following a registry's champion: newer ones, and registries that are gone, half-written or corrupt."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reversi.errors import NoGatedModelError
from reversi.model.champion import CHECK_S, MOST_S, ChampionFollower
from reversi.model.choice import Choice
from reversi.model.registry import Registry
from tests.reversi.model.samples import weights

WON = {"wins": 230, "draws": 10, "losses": 160, "opponent_version": 0}


def version_of(champion: Choice) -> int:
    return champion.weights.version


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    made = Registry(str(tmp_path / "models"), create=True)
    made.publish(weights("reversi4"), "promoted", WON)
    return made


def test_a_newer_champion_is_given_once_and_a_rejected_candidate_never(registry: Registry) -> None:
    follower = ChampionFollower(registry, version_of)
    assert (follower.current, follower.newer()) == (0, None)
    registry.publish(weights("reversi4", version=5), "rejected", WON)
    assert follower.newer() is None
    registry.publish(weights("reversi4", version=7), "promoted", WON)
    assert [follower.newer(), follower.newer(), follower.current] == [7, None, 7]


def test_a_registry_that_began_anew_has_another_champion(registry: Registry) -> None:
    follower = ChampionFollower(registry, lambda champion: champion.weights)
    shutil.rmtree(registry.url)
    again = Registry(registry.url, create=True)
    other = weights("reversi4", seed=1)
    again.publish(other, "promoted", WON)
    found = follower.newer()
    assert found is not None
    assert (found.version, found.arrays.keys()) == (0, other.arrays.keys())
    assert all((found.arrays[name] == other.arrays[name]).all() for name in other.arrays)


def test_without_a_champion_there_is_nothing_to_follow(tmp_path: Path) -> None:
    with pytest.raises(NoGatedModelError):
        ChampionFollower(Registry(str(tmp_path), create=True), version_of)


def _gone(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def _half_written(folder: Path) -> None:
    (folder / "gated.json").write_text('{"vers')


def _without_its_model(folder: Path) -> None:
    (folder / "models/000007/model.json").unlink()


def _truncated(folder: Path) -> None:
    file = folder / "models/000007/model.safetensors"
    file.write_bytes(file.read_bytes()[:-5])


def _corrupt(folder: Path) -> None:
    file = folder / "models/000007/model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_gone, "expected a registry of models, but there is no such folder"),
        (_half_written, "gated.json: expected a version"),
        (_without_its_model, "expected the version of a champion"),
        (_truncated, "bytes, got"),
        (_corrupt, "expected SHA-256"),
    ],
)
def test_what_cannot_be_taken_is_logged_once_and_the_champion_stays(
    registry: Registry,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    spoil: Callable[[Path], None],
    message: str,
) -> None:
    follower, folder = ChampionFollower(registry, version_of), Path(registry.url)
    registry.publish(weights("reversi4", version=7), "promoted", WON)
    shutil.copytree(folder, tmp_path / "whole")
    spoil(folder)
    assert [follower.newer() for _ in range(3)] == [None, None, None]
    assert follower.current == 0
    (record,) = caplog.records
    assert record.getMessage().startswith("model 0 stays in use, no newer one can be: ")
    assert message in record.getMessage()
    assert not record.exc_info
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tmp_path / "whole", folder)
    assert (follower.newer(), follower.current) == (7, 7)


def test_looks_become_rarer_while_they_fail(registry: Registry) -> None:
    follower = ChampionFollower(registry, version_of)
    _half_written(Path(registry.url))
    waits = []
    for _ in range(7):
        waits.append(follower.wait_s)
        follower.newer()
    assert waits == [CHECK_S, 2 * CHECK_S, 4 * CHECK_S, 8 * CHECK_S, 16 * CHECK_S, MOST_S, MOST_S]
    (Path(registry.url) / "gated.json").write_text('{"version": 0}')
    follower.newer()
    assert follower.wait_s == CHECK_S


def test_a_model_of_another_game_is_not_taken(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    follower = ChampionFollower(registry, version_of)
    registry.publish(weights("reversi6", version=7), "promoted", WON)
    assert (follower.newer(), follower.current) == (None, 0)
    assert "expected a model for reversi4, got version 7 for reversi6" in caplog.text


def test_a_model_that_cannot_be_used_is_logged_with_its_traceback(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    def use(champion: Choice) -> int:
        if champion.weights.version == 7:
            raise RuntimeError("no memory for it")
        return champion.weights.version

    follower = ChampionFollower(registry, use)
    registry.publish(weights("reversi4", version=7), "promoted", WON)
    assert (follower.newer(), follower.current) == (None, 0)
    assert "Traceback" in caplog.text
    registry.publish(weights("reversi4", version=8), "promoted", WON)
    assert follower.newer() == 8
