"""Every row of `reversi bench` and every sweep of its page is measured, some by groups of processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.bench import measure
from scripts.bench.rows import ROWS
from tests.figures import __main__ as figures
from tests.figures import programs, sweeps
from tests.scripts.conftest import Reversi

SMALL = ["--size", "6", "--blocks", "1", "--channels", "16", "--batch", "32", "--simulations", "4", "--repeats", "2"]
"""Of everything the least."""

SHARES = {"evaluations_per_simulation", "cache_hit_rate"}
COUNTED = SHARES | {"redis_bytes_per_position"}
"""Counted once, not timed."""
RATIOS = SHARES | {
    "selfplay_to_inference",
    "tree_parallel_efficiency",
    "lessons_parallel_efficiency",
    "actors_scaling",
}


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "MEASUREMENT_S", 0.01)
    monkeypatch.setattr(measure, "STRETCH_S", 0.05)


def test_every_row_is_measured(reversi: Reversi) -> None:
    answer = reversi("bench", *SMALL, "--learner-batch", 32, "--learner-threads", 1, "--json")
    found = json.loads(answer.out)
    rows = {row["name"]: row for row in found["rows"]}
    assert answer.code == 0
    assert list(rows) == list(ROWS)
    for each in rows.values():
        assert 0 < each["low"] <= each["value"] <= each["high"]
        assert each["repeats"] >= (1 if each["name"] in COUNTED else 2)
        assert (each["unit"] == "ratio") == (each["name"] in RATIOS)
        assert each["measured_with"]
    ratio = rows["selfplay_evaluations_per_s"]["value"] / rows["inference_positions_per_s"]["value"]
    assert rows["selfplay_to_inference"]["value"] == pytest.approx(ratio)
    assert {"cpu", "cores", "memory_gb", "python", "torch", "openvino", "bf16"} <= set(found["machine"])


def test_every_sweep_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measure, "MEASUREMENT_S", 0.01)
    monkeypatch.setattr(measure, "STRETCH_S", 0.05)
    monkeypatch.setattr(figures, "ROWS", {"tree_simulations_per_s": ROWS["tree_simulations_per_s"]})
    monkeypatch.setattr(programs, "missing", lambda: ["all"])
    for name, points in {"BATCHES": (1, 8), "GAMES": (1, 4), "SIMULATIONS": (2, 4), "BOARDS": (4, 6)}.items():
        monkeypatch.setattr(sweeps, name, points)
    page = tmp_path / "speed.md"
    page.write_text("".join(f"<!-- measured: {name} -->\n<!-- end -->\n" for name in sweeps.SWEEPS))
    tiny = ["--size", "6", "--blocks", "1", "--channels", "8", "--batch", "8", "--simulations", "2", "--repeats", "1"]
    assert figures.main(["page", "--page", str(page), *tiny]) == 0
    measured = json.loads((tmp_path / "speed.json").read_text())
    assert [row["name"] for row in measured["rows"]] == ["tree_simulations_per_s"]
    assert [sweep["name"] for sweep in measured["sweeps"]] == list(sweeps.SWEEPS)
    for sweep in measured["sweeps"]:
        for values in sweep["series"].values():
            assert len(values) == len(sweep["points"])
            assert min(values) > 0
        assert (tmp_path / "speed" / f"{sweep['name']}.svg").exists()
    text = page.read_text()
    page.write_text("".join(f"<!-- measured: {name} -->\n<!-- end -->\n" for name in sweeps.SWEEPS))
    assert figures.main(["page", "--page", str(page), "--again"]) == 0
    assert page.read_text() == text
