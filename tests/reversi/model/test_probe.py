"""Which of two ways is taken, and what `auto` makes of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reversi.model import machine, probe
from reversi.model.evaluate import open_evaluator
from tests.reversi.model.samples import weights


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch):
    monkeypatch.setattr(probe, "_chosen", {})


@pytest.mark.parametrize(("other_s", "expected"), [(0.5, "quick"), (0.79, "quick"), (0.81, "steady"), (3.0, "steady")])
def test_the_other_way_must_win_by_the_gain(other_s, expected, monkeypatch):
    seconds = {"steady": 1.0, "quick": other_s}
    monkeypatch.setattr(probe, "_run_s", lambda backend: seconds[backend.way])
    make = lambda way, positions: SimpleNamespace(way=way)  # noqa: E731
    assert probe.faster("key", make, usual="steady", other="quick", gain=1.25) == expected


def test_a_choice_is_measured_once_per_key(monkeypatch):
    made = []

    def make(way, positions):
        made.append((way, positions))
        return SimpleNamespace(way=way)

    monkeypatch.setattr(probe, "_run_s", lambda backend: 1.0)
    for key in ("first", "first", "second"):
        assert probe.faster(key, make, usual="steady", other="quick", gain=1.1) == "steady"
    assert made == [("steady", probe.PROBE_POSITIONS), ("quick", probe.PROBE_POSITIONS)] * 2


@pytest.mark.parametrize(("lanes_s", "layout"), [(1.0, "lanes"), (2.0, "boards")])
def test_auto_takes_bf16_and_lanes_where_they_are_faster(lanes_s, layout, monkeypatch):
    seconds = {"lanes": lanes_s, "boards": 1.0}
    speed = {"f32": 1.0, "bf16": 0.5}
    monkeypatch.setattr(
        probe,
        "_run_s",
        lambda backend: seconds[backend._layout] * speed[backend._settings["INFERENCE_PRECISION_HINT"]],
    )
    expected = "bf16" if machine.cpu_has_bf16() else "float32"
    for version in (1, 2):
        evaluator = open_evaluator(weights("reversi4", version), backend="openvino", batch=64)
        assert (evaluator.precision, evaluator._backend._layout) == (expected, layout)
    assert open_evaluator(weights("reversi4"), backend="openvino", batch=4)._backend._layout == "boards"
