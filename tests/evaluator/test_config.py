"""Settings of the gate that cannot be are refused by name."""

from __future__ import annotations

import pytest

from reversi.errors import ConfigError
from tests.evaluator.gates import gate_config


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"games": 7}, "gate.games must be even and from 2 to 1000000, got 7"),
        ({"games": 0}, "gate.games must be even and from 2 to 1000000, got 0"),
        ({"games": 10**21}, "gate.games must be even and from 2 to 1000000, got 1000000000000000000000"),
        ({"threads": 10**21}, "gate.threads must be from 1 to 1024, got 1000000000000000000000"),
        ({"wins": 401}, r"gate.wins must be from 1 to gate.games \(400\), got 401"),
        ({"wins": 0}, "gate.wins must be from 1"),
        ({"rule": "draws"}, "gate.rule must be wins or score, got 'draws'"),
        ({"simulations": -1}, "gate.simulations must be from 0"),
        ({"truth_empties": 1}, "gate.truth_empties must be from 2 to 20, got 1"),
        ({"truth_empties": 21}, "gate.truth_empties must be from 2 to 20, got 21"),
        ({"truth_positions": -1}, "gate.truth_positions must be from 0 to 100000, got -1"),
        ({"truth_simulations": -1}, "gate.truth_simulations must be from 0 to 100000, got -1"),
        ({"opening_plies": -1}, "gate.opening_plies must be from 0 to 30, got -1"),
        ({"opening_choice": 0}, "gate.opening_choice must be from 1 to 100, got 0"),
        ({"games_at_once": 3}, "gate.games_at_once must be even"),
        ({"threads": 0}, "gate.threads must be from 1 to 1024, got 0"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        gate_config(**change)
