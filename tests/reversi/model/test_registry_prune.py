"""Weights of old rejected versions can be dropped; nothing else of a registry can."""

import pytest

from reversi.errors import RunError, UnwritableError, UsageError
from reversi.model.folder import Folder
from tests.reversi.model.samples import MATCH, weights


def test_old_rejected_versions_lose_their_weights_and_nothing_else(registry):
    registry.publish(weights("reversi4", 0, seed=0), "first", None)
    for version in (1, 2, 3, 4):
        registry.publish(weights("reversi4", version, seed=version), "rejected", MATCH | {"wins": 9})
    before = registry.models()
    registry.prune([1, 2, 3, 4], 9)
    assert registry.load(registry.get(1)).version == 1
    registry.prune([1, 2, 3], 2)
    registry.prune([1, 2, 3, 4], 2)
    assert registry.models() == before
    assert [registry.load(registry.get(version)).version for version in (0, 3, 4)] == [0, 3, 4]
    assert registry.latest().version == 4
    for version in (1, 2):
        with pytest.raises(UsageError, match=rf"got {version}, a rejected candidate whose weights were dropped"):
            registry.load(registry.get(version))


def test_weights_that_an_error_left_are_dropped_by_the_next_call(registry, monkeypatch):
    registry.publish(weights("reversi4", 0, seed=0), "first", None)
    rejected = list(range(1, 9))
    for version in rejected:
        registry.publish(weights("reversi4", version, seed=version), "rejected", MATCH | {"wins": 9})
    remove, removed = Folder.remove, []

    def full(folder, name):
        if len(removed) == 3:
            raise UnwritableError("no space left")
        remove(folder, name)
        removed.append(name)

    monkeypatch.setattr(Folder, "remove", full)
    with pytest.raises(UnwritableError):
        registry.prune(rejected, 2)
    monkeypatch.undo()
    registry.prune(rejected, 2)
    left = [version for version in rejected if registry._folder.has(f"models/{version:06d}/model.safetensors")]
    assert left == [7, 8]


def test_a_version_without_weights_is_still_taken_by_them(registry):
    rejected = weights("reversi4", 1, seed=1)
    published = registry.publish(rejected, "rejected", MATCH | {"wins": 9})
    registry.prune([1], 0)
    assert registry.publish(rejected, "rejected", MATCH | {"wins": 9}) == published
    with pytest.raises(RunError, match="version 1 is taken by other weights"):
        registry.publish(weights("reversi4", 1, seed=2), "rejected", MATCH | {"wins": 9})
