"""The ring: it holds the newest samples in order, whatever the sizes of what is added; draws see the window alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learner.replay.ring import Ring
from learner.replay.samples import Samples


def numbered(first: int, count: int) -> Samples:
    """Samples whose every column tells their number."""
    numbers = np.arange(first, first + count)
    samples = Samples.empty(count, 5)
    for name, (dtype, _) in Samples.COLUMNS.items():
        column = (numbers % 100).astype(dtype)
        getattr(samples, name)[...] = column[:, None] if name == "policy" else column
    return replace(samples, own=numbers.astype(np.uint64))


def assert_whole(samples: Samples) -> None:
    """Every row's columns belong together."""
    for name in Samples.COLUMNS:
        column = getattr(samples, name)
        column = column[:, 3] if name == "policy" else column
        np.testing.assert_array_equal(column.astype(np.int64) % 100, samples.own.astype(np.int64) % 100, err_msg=name)


@pytest.mark.parametrize("capacity", [1, 7, 50, 1000])
def test_the_ring_holds_the_newest_in_order(capacity: int) -> None:
    ring, rng, total = Ring(Samples, capacity, 5), np.random.default_rng(capacity), 0
    for _ in range(60):
        count = int(rng.choice([0, 1, 5, 49, 120]))
        ring.add(numbered(total, count))
        total += count
        held = ring.ordered()
        assert ring.size == len(held) == min(total, capacity)
        np.testing.assert_array_equal(held.own, np.arange(total - ring.size, total))
        assert_whole(held)


@pytest.mark.parametrize(("added", "window"), [(30, 10), (130, 40), (130, 100), (130, 10_000), (30, 1)])
def test_draws_cover_the_window_evenly_and_nothing_else(added: int, window: int) -> None:
    ring = Ring(Samples, 100, 5)
    for first in range(0, added, 10):
        ring.add(numbered(first, 10))
    drawn = ring.draw(np.random.default_rng(0), 40_000, window)
    assert_whole(drawn)
    wide = min(window, ring.size)
    counts = np.bincount(added - 1 - drawn.own.astype(np.int64))
    assert len(counts) == wide
    deviation = np.abs(counts - 40_000 / wide).max()
    assert deviation <= 5 * np.sqrt(40_000 / wide)


def test_drawing_nothing_gives_no_samples() -> None:
    ring = Ring(Samples, 10, 5)
    ring.add(numbered(0, 3))
    assert len(ring.draw(np.random.default_rng(0), 0, 3)) == 0


def test_draws_are_copies() -> None:
    ring = Ring(Samples, 4, 5)
    ring.add(numbered(0, 4))
    drawn = ring.draw(np.random.default_rng(0), 50, 4)
    before = drawn.own.copy()
    ring.add(numbered(4, 4))
    np.testing.assert_array_equal(drawn.own, before)
