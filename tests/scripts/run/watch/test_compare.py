"""Runs on one page: each on the same axis, those of a sweep over seeds as a mean with a band."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scripts.run.watch.compare import GRID, comparison, differences, groups_of
from scripts.run.watch.view import RunView
from tests.scripts.run.watch.watched_runs import VERDICTS, moment
from tests.scripts.run.written_runs import made, write


def run_of(folder: Path, speed: float, *overrides: str) -> RunView:
    """Return a run of a minute that does `speed` simulations a second."""
    made(folder, *overrides)
    moments = [
        row for at_s in np.arange(5.0, 65.0, 5.0) for row in moment(float(at_s), **{"run/simulations_per_s": speed})
    ]
    write(folder, [*moments, *VERDICTS])
    return RunView(folder)


def test_seeds_are_one_curve_with_a_band_and_another_setting_is_another_curve(tmp_path: Path) -> None:
    views = {
        "a": run_of(tmp_path / "a", 100.0, "run.seed=1"),
        "b": run_of(tmp_path / "b", 300.0, "run.seed=2"),
        "c": run_of(tmp_path / "c", 50.0, "run.seed=1", "search.simulations=7"),
    }
    assert [group.name for group in groups_of(views)] == ["a and 1 more seeds", "c"]
    shown = comparison(views)
    (chart,) = [each for each in shown["charts"] if each["id"] == "simulations"]
    mean, other = chart["series"]
    assert mean["style"] == "band"
    assert {value for value in mean["values"] if value is not None} == {200}
    assert {value for value in mean["low"] if value is not None} == {100}
    assert {value for value in mean["high"] if value is not None} == {300}
    assert {value for value in other["values"] if value is not None} == {50}
    assert [each["color"] for each in shown["runs"]] == ["run-1", "run-1", "run-2"]
    assert len(shown["places"]["simulations"]["time"]) == GRID
    assert differences(views) == [
        {"key": "run.seed", "values": ["1", "2", "1"]},
        {"key": "search.simulations", "values": ["128", "128", "7"]},
    ]


def test_a_champion_is_a_step_and_a_curve_ends_where_its_run_does(tmp_path: Path) -> None:
    views = {"a": run_of(tmp_path / "a", 1.0), "b": run_of(tmp_path / "b", 1.0, "search.simulations=7")}
    (strength,) = [each for each in comparison(views)["charts"] if each["id"] == "strength"]
    assert [each["name"] for each in strength["series"]] == ["a", "b"]
    assert {value for value in strength["series"][0]["values"] if value is not None} == {1000, 1090}
    more = [*moment(60.0), *moment(600.0)]
    write(views["b"].folder, more)
    charts = comparison({"a": views["a"], "b": RunView(views["b"].folder)})["charts"]
    (games,) = [each for each in charts if each["id"] == "simulations"]
    first, second = games["series"]
    assert first["values"][-1] is None
    assert second["values"][-1] is not None


@pytest.mark.parametrize("axis", ["games", "positions"])
def test_an_axis_that_runs_do_not_have_leaves_their_charts_out(axis: str, tmp_path: Path) -> None:
    views = {"a": run_of(tmp_path / "a", 1.0), "b": run_of(tmp_path / "b", 1.0, "search.simulations=7")}
    shown = comparison(views, axis)
    assert bool(shown["charts"]) == (axis == "games")


def test_parts_of_a_chart_are_told_by_their_lines(tmp_path: Path) -> None:
    views = {"a": run_of(tmp_path / "a", 1.0), "b": run_of(tmp_path / "b", 1.0, "search.simulations=7")}
    rows = moment(5.0, **{"run/actor_waiting_share": 0.5}) + moment(10.0, **{"run/actor_waiting_share": 0.5})
    for view in views.values():
        write(view.folder, rows)
    charts = comparison({name: RunView(view.folder) for name, view in views.items()})["charts"]
    (balance,) = [each for each in charts if each["id"] == "balance"]
    assert balance["note"] == "full: actors for the learner, dashed: learner for samples"
    assert [each["name"] for each in balance["series"]][:2] == ["a: actors for the learner", "a: learner for samples"]
    assert [each.get("dashed", 0) for each in balance["series"]] == [0, 1, 0, 1]


def test_a_mean_ends_where_the_first_of_its_runs_does(tmp_path: Path) -> None:
    """A mean of those that are left would jump."""
    short, long = run_of(tmp_path / "a", 100.0, "run.seed=1"), run_of(tmp_path / "b", 300.0, "run.seed=2")
    write(long.folder, [row for at_s in (5.0, 60.0, 120.0) for row in moment(at_s, **{"run/simulations_per_s": 300.0})])
    (chart,) = [
        each for each in comparison({"a": short, "b": RunView(long.folder)})["charts"] if each["id"] == "simulations"
    ]
    (mean,) = chart["series"]
    assert mean["values"][-1] is mean["low"][-1] is None
    assert {value for value in mean["values"] if value is not None} == {200}
