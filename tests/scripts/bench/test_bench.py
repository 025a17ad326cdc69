from __future__ import annotations

import pytest

from scripts.bench import measure
from scripts.bench.measure import Row, in_turns, ratio, row
from scripts.commands.bench import ROWS, sentence, table
from tests.scripts.conftest import Reversi

SMALL = ["--size", "6", "--blocks", "1", "--channels", "16", "--batch", "32", "--simulations", "4", "--repeats", "2"]
"""Of everything the least."""


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "MEASUREMENT_S", 0.01)
    monkeypatch.setattr(measure, "STRETCH_S", 0.05)


def test_rows_that_the_surface_names_are_there() -> None:
    assert set(ROWS) >= {
        "perft_leaves_per_s",
        "playout_games_per_s",
        "playout_all_cores_games_per_s",
        "tree_simulations_per_s",
        "tree_1024_games_simulations_per_s",
        "tree_parallel_efficiency",
        "evaluations_per_simulation",
        "cache_hit_rate",
        "actors_simulations_per_s",
        "actors_scaling",
        "inference_positions_per_s",
        "selfplay_evaluations_per_s",
        "selfplay_to_inference",
        "learner_samples_per_s",
        "replay_add_positions_per_s",
        "replay_sample_positions_per_s",
        "redis_ingest_positions_per_s",
        "redis_bytes_per_position",
    }


def test_one_row_can_be_asked_for(reversi: Reversi) -> None:
    answer = reversi("bench", "playout_games_per_s", *SMALL)
    hardware, header, line = answer.out.splitlines()
    assert "cores of" in hardware
    assert header.split() == ["row", "median", "spread", "unit", "measured", "with"]
    assert line.startswith("playout_games_per_s ")
    assert "reversi6" in line


def test_a_ratio_is_that_of_the_medians_and_spreads_as_the_turns_do() -> None:
    found = ratio("share", [90.0, 80.0, 95.0], [100.0, 100.0, 200.0], "note")
    assert (found.value, found.low, found.high) == (0.9, 0.475, 0.9)
    assert (found.unit, found.repeats) == ("ratio", 3)


def test_measurements_are_made_in_turns() -> None:
    order: list[str] = []
    found = in_turns([lambda: order.append("a") or 1.0, lambda: order.append("b") or 2.0], 4)
    assert found == [[1.0] * 4, [2.0] * 4]
    assert order == ["a", "b"] * 4


def test_long_measurements_are_made_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "LONGEST_S", 0.0)
    assert in_turns([lambda: 1.0], 10) == [[1.0] * 3]


def test_a_row_is_the_median_and_the_spread() -> None:
    found = row("a", [3.0, 1.0, 2.0], "x/s", "note")
    assert (found.low, found.value, found.high, found.repeats) == (1.0, 2.0, 3.0, 3)


def test_the_table_is_aligned() -> None:
    rows = [
        Row(name="a", value=12345.6, unit="x/s", low=12000.0, high=13000.0, repeats=5, measured_with="one"),
        Row(name="longer", value=0.95, unit="ratio", low=0.9, high=1.0, repeats=5, measured_with="two"),
    ]
    assert table(rows).splitlines() == [
        "row     median           spread  unit   measured with",
        "a       12,346  12,000 - 13,000  x/s    one",
        "longer   0.950    0.900 - 1.000  ratio  two",
    ]


def test_a_machine_without_openvino_or_bf16_is_described() -> None:
    machine = {
        "cores": 2,
        "cpu": "Some CPU",
        "bf16": [],
        "memory_gb": 8.0,
        "python": "3.11",
        "torch": "2.13",
        "openvino": None,
        "load": None,
    }
    assert sentence(machine).startswith("2 cores of Some CPU (without bf16), 8.0 GB, Python 3.11")
    assert "None" not in sentence(machine)
