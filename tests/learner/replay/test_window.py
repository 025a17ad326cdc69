"""The window follows KataGo's power law: everything at first, then ever slower than the data."""

from __future__ import annotations

import numpy as np
import pytest

from learner.replay.window import window_positions
from tests.configs import replay_config

KATAGO = replay_config(window_start=250_000, capacity_positions=100_000_000)


@pytest.mark.parametrize(("total", "window"), [
    (0, 0),
    (1, 1),
    (250_000, 250_000),
    (2_500_000, 866_455),  # 250,000 (1 + 0.4 (10^0.75 - 1) / 0.75)
    (25_000_000, 4_333_036),
])  # fmt: skip
def test_known_windows(total: int, window: int) -> None:
    assert window_positions(total, KATAGO) == window


def test_the_window_never_shrinks_nor_exceeds_what_was_made() -> None:
    totals = np.unique(np.geomspace(1, 1e8, 4000).astype(int))
    windows = np.array([window_positions(int(total), KATAGO) for total in totals])
    assert (np.diff(windows) >= 0).all()
    assert (windows <= totals).all()
    assert (np.diff(windows / totals)[totals[1:] > 250_000] < 0).all()


def test_the_slope_at_the_start_is_beta() -> None:
    grown = window_positions(260_000, KATAGO) - window_positions(250_000, KATAGO)
    assert grown / 10_000 == pytest.approx(0.4, abs=0.005)


def test_beta_0_is_a_window_of_fixed_size() -> None:
    config = replay_config(window_start=5000, beta=0, min_positions=1000)
    assert {window_positions(total, config) for total in (5000, 50_000, 500_000)} == {5000}


def test_the_capacity_bounds_the_window() -> None:
    config = replay_config(window_start=500_000, capacity_positions=20_000)
    assert window_positions(400_000, config) == window_positions(4_000_000, config) == 20_000
