"""The token bucket: never more samples than positions times reuse, and no token lost."""

from __future__ import annotations

import numpy as np
import pytest

from learner.replay.bucket import TokenBucket


@pytest.mark.parametrize("reuse", [0.5, 4.0, 7.3])
def test_samples_never_exceed_positions_times_reuse(reuse: float) -> None:
    bucket, rng = TokenBucket(reuse, 1000), np.random.default_rng(1)
    positions = samples = 0
    for _ in range(5000):
        if rng.random() < 0.4 and not bucket.full:
            count = int(rng.integers(0, 90))
            bucket.add_positions(count)
            positions += count
        elif bucket.take(count := int(rng.integers(1, 300))):
            samples += count
        assert samples <= positions * reuse + 1e-6
    assert positions * reuse - samples == pytest.approx(bucket.tokens, abs=1e-6)
    assert samples > 0.9 * (positions * reuse - 1000)


def test_it_is_full_at_its_capacity_and_keeps_what_comes_late() -> None:
    bucket = TokenBucket(2.0, 100)
    bucket.add_positions(49)
    assert not bucket.full
    bucket.add_positions(31)
    assert bucket.full
    assert bucket.take(160)
    assert not bucket.take(1)


def test_a_take_that_fails_takes_nothing() -> None:
    bucket = TokenBucket(1.0, 100)
    bucket.add_positions(10)
    assert not bucket.take(11)
    assert bucket.take(10)
