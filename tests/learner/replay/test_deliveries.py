"""Deliveries: each (producer, sequence) is new once, in any order, in bounded memory."""

from __future__ import annotations

import json

import numpy as np

from learner.replay.deliveries import MAX_PRODUCERS, Deliveries
from reversi.record import REACH


def test_retried_and_reordered_deliveries_are_told_as_a_set_would() -> None:
    rng = np.random.default_rng(0)
    deliveries, seen = Deliveries(), set[tuple[str, int]]()
    head = {"a": 0, "b": 0}
    for _ in range(20_000):
        producer = "ab"[rng.integers(2)]
        head[producer] += int(rng.integers(0, 3))
        sequence = max(0, head[producer] - int(rng.integers(0, 40)))
        assert deliveries.take(producer, sequence) == ((producer, sequence) not in seen)
        seen.add((producer, sequence))


def test_the_first_number_need_not_be_0() -> None:
    deliveries = Deliveries()
    assert [deliveries.take("a", n) for n in (700, 699, 700, 0, 0)] == [True, True, False, True, False]


def test_a_leap_forgets_only_what_is_out_of_reach() -> None:
    deliveries = Deliveries()
    assert deliveries.take("a", 5)
    assert deliveries.take("a", 5 + REACH - 1)
    assert not deliveries.take("a", 5)
    assert deliveries.take("a", 1 << 62)
    assert not deliveries.take("a", (1 << 62) - REACH), "out of reach counts as repeated: nothing is trained on twice"
    assert deliveries.take("a", (1 << 62) - REACH + 1)


def test_memory_is_bounded_and_the_least_recent_producer_goes_first() -> None:
    deliveries = Deliveries()
    for number in range(MAX_PRODUCERS):
        deliveries.take(f"p{number}", 0)
    deliveries.take("p0", 1)
    deliveries.take("new", 0)
    state = deliveries.state()
    assert len(state) == MAX_PRODUCERS
    assert "p0" in state
    assert "p1" not in state


def test_a_long_run_of_one_producer_stays_small() -> None:
    deliveries = Deliveries()
    for sequence in range(5000):
        assert deliveries.take("a", sequence)
    assert len(json.dumps(deliveries.state())) < REACH


def test_the_state_goes_through_json() -> None:
    deliveries = Deliveries()
    for sequence in (3, 9, 4, 2000):
        deliveries.take("a", sequence)
    back = Deliveries.restored(json.loads(json.dumps(deliveries.state())))
    assert back.state() == deliveries.state()
    assert [back.take("a", n) for n in (2000, 1999, 1999)] == [False, True, False]
