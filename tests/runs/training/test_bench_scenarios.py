"""Scenarios in small: weights to ten simulated actors under a real Ray, ten producers into a real Redis server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.bench.setup import Settings
from tests.figures import records
from tests.figures.weights import p99

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def scene() -> Any:
    """One Ray, in a process of its own as it reads its environment when it is imported."""
    command = [sys.executable, "-m", "tests.runs.training.weights_scene"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_version_is_put_once_and_dropped_when_no_channel_has_it(scene: Any) -> None:
    references = scene["versions"]["of_version"]
    assert [len(set(each)) for each in references] == [1, 1, 1]
    assert len({each[0] for each in references}) == 3
    assert scene["versions"]["promoted"] == references[-1][0]
    assert scene["versions"]["up_to_date"] is None
    assert 0.9 < scene["versions"]["held_archives"] < 1.5


def test_an_archive_whose_owner_died_is_lost_and_asked_for_again(scene: Any) -> None:
    assert scene["versions"]["lost"] == "OwnerDiedError"


def test_a_weights_actor_that_is_away_costs_the_learner_a_few_archives_and_no_candidate(scene: Any) -> None:
    """Four versions are under way, the rest made room for the newest, which is the candidate that one of them was."""
    assert scene["silence"] == {"under_way": 4, "newest": 19, "candidate": 19}


def test_ten_actors_pull_a_version_once_each_and_ask_without_moving_bytes(scene: Any) -> None:
    crowd = scene["crowd"]
    assert crowd["weights_pulls_per_turn"] == 10
    assert crowd["bytes"] == crowd["others_bytes"] == pytest.approx(10 * 9.546e6, rel=1e-3)
    assert crowd["asked"] >= 5
    assert crowd["weights_object_store_mb"] < 2.5 * 9.546
    assert 0 < crowd["weights_pull_ms"] <= crowd["weights_pull_p99_ms"]


def test_ten_producers_are_taken_at_the_rate_they_push(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "TURN_S", 3.0)
    monkeypatch.setattr(records, "PROCESSES", 1)
    rows = {row.name: row for row in records.bench_records(Settings(repeats=1), 10)}
    pushed, taken = rows["redis_pushed_positions_per_s"], rows["redis_taken_positions_per_s"]
    assert 0.5 * pushed.value < taken.value < 2 * pushed.value
    assert pushed.value < 1.5 * 10 * records.POSITIONS_PER_S
    assert 50 < 1e6 * rows["redis_received_mb_per_s"].value / taken.value < 150, "bytes a position"
    assert 0 < rows["redis_lag_ms"].value <= rows["redis_lag_p99_ms"].value
    assert rows["redis_actors_per_server_core"].value > 100


def test_99_of_100_values_lie_below_the_99th_percentile() -> None:
    values = [float(each) for each in range(100, 0, -1)]
    assert [p99(values), p99(values[:50]), p99([*values, 0.0])] == [99.0, 100.0, 99.0]
    assert p99([7.0]) == 7.0
