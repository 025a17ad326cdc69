"""The replay's configuration refuses what would stall a run, and says which key and why."""

from __future__ import annotations

from typing import Any

import pytest

from reversi.errors import ConfigError
from tests.configs import replay_config


@pytest.mark.parametrize(("change", "message"), [
    ({"capacity_positions": 0}, "replay.capacity_positions must be at least 1, got 0"),
    ({"window_start": -5}, "replay.window_start must be at least 1, got -5"),
    ({"min_positions": 0}, "replay.min_positions must be at least 1, got 0"),
    ({"alpha": 0.0}, "replay.alpha must be above 0 and at most 1, got 0.0"),
    ({"alpha": float("nan")}, "replay.alpha must be above 0 and at most 1, got nan"),
    ({"beta": 1.5}, "replay.beta must be from 0 to 1, got 1.5"),
    ({"reuse": 0.0}, "replay.reuse must be above 0, got 0.0"),
    ({"reuse": float("inf")}, "replay.reuse must be finite, got inf"),
    ({"capacity_positions": 500}, r"replay.min_positions must be at most replay.capacity_positions \(500\), got 10000"),
    ({"bucket_capacity": 0}, "replay.bucket_capacity must be at least 1, got 0"),
])  # fmt: skip
def test_values_out_of_range_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replay_config(**change)
