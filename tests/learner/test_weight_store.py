"""The weight store: newest only, candidates once, champions on a channel of their own."""

from __future__ import annotations

import numpy as np
import pytest

from learner.weight_store import WeightStore
from reversi.errors import CorruptFileError
from reversi.model.weights import Weights, array_shapes
from tests.learner.jobs import NETWORK


def weights(version: int) -> bytes:
    arrays = {name: np.zeros(shape, np.float32) for name, shape in array_shapes(NETWORK, 4).items()}
    return Weights("reversi4", NETWORK, version, arrays).to_bytes()


def test_an_empty_store_has_nothing() -> None:
    store = WeightStore()
    assert [store.fetch(channel, -1) for channel in ("latest", "gated")] == [None, None]
    assert store.candidate() is None


def test_fetch_gives_what_is_newer_and_nothing_else() -> None:
    store = WeightStore()
    store.publish(weights(3), candidate=False)
    assert store.fetch("latest", 2) == weights(3)
    assert store.fetch("latest", 3) is None
    store.publish(weights(4), candidate=False)
    assert store.fetch("latest", 3) == weights(4)
    assert store.fetch("gated", -1) is None


def test_a_candidate_is_handed_out_once_and_replaced_while_it_waits() -> None:
    store = WeightStore()
    store.publish(weights(1), candidate=True)
    store.publish(weights(2), candidate=True)
    store.publish(weights(3), candidate=False)
    assert store.candidate() == weights(2)
    assert store.candidate() is None
    assert store.fetch("latest", -1) == weights(3)


def test_a_champion_is_gated_and_may_be_older_than_the_latest() -> None:
    store = WeightStore()
    store.publish(weights(9), candidate=True)
    store.promoted(weights(5))
    assert store.fetch("gated", -1) == weights(5)
    assert store.fetch("latest", -1) == weights(9)


def test_damaged_weights_go_nowhere() -> None:
    store = WeightStore()
    with pytest.raises(CorruptFileError):
        store.publish(weights(1)[:-5], candidate=True)
    assert store.candidate() is None
    assert store.fetch("latest", -1) is None


def test_what_is_held_is_the_newest_of_each_channel() -> None:
    store = WeightStore()
    assert [store.version(channel) for channel in ("latest", "gated")] == [-1, -1]
    assert list(store.held()) == []
    store.publish(weights(8), candidate=False)
    store.publish(weights(9), candidate=False)
    store.promoted(weights(5))
    assert [store.version(channel) for channel in ("latest", "gated")] == [9, 5]
    assert dict(store.held()) == {9: weights(9), 5: weights(5)}


def test_versions_never_go_back() -> None:
    store = WeightStore()
    store.publish(weights(7), candidate=False)
    store.publish(weights(4), candidate=False)
    assert store.version("latest") == 7
    assert store.fetch("latest", 4) == weights(7)
