"""Several runs on one page: their curves over one axis, the mean and the band of those that differ in their seed alone,
and how their configurations differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scripts.config.compose import flat
from scripts.run.watch.chart import Chart, Floats, Places, Series, Style, places_json
from scripts.run.watch.charts import charts_of, places_of
from scripts.run.watch.view import RunView

MOST_RUNS = 8
"""Most runs that are compared."""

GRID = 240
"""Points of every curve."""

DASHES = ("full", "dashed", "dotted", "dash and dot")
"""What lines look like, in the order of a chart's series."""

OWN = ("run.name", "run.dir", "run.seed")
"""Settings that runs of one group may differ in."""


ALONE = ("older",)
"""Charts that only say something about one run."""


@dataclass(frozen=True)
class Group:
    """Runs with the same configuration but for their seeds, or a single run."""

    name: str
    views: Sequence[RunView]


def comparison(views: Mapping[str, RunView], axis: str = "time") -> dict[str, Any]:
    """Return what the page of several runs shows; RunError if the folder of one is gone."""
    shown = {name: view.head() for name, view in views.items()}
    groups = groups_of(views)
    colors = {id(view): number for number, group in enumerate(groups, start=1) for view in group.views}
    charts, places = compared(groups, axis)
    return {
        "run": f"{len(views)} runs",
        "runs": [
            {
                "run": name,
                "color": f"run-{colors[id(views[name])]}",
                **{key: each[key] for key in ("state", "what", "elapsed_s", "tiles")},
            }
            for name, each in shown.items()
        ],
        "differences": differences(views),
        "places": places_json(places),
        "charts": [chart.as_json() for chart in charts],
    }


def groups_of(views: Mapping[str, RunView]) -> list[Group]:
    """Return the runs in groups that differ in their seed alone."""
    alike: dict[str, list[str]] = {}
    for name, view in views.items():
        settings = {key: value for key, value in flat(view.config) if key not in OWN}
        alike.setdefault(repr(sorted(settings.items())), []).append(name)
    return [
        Group(names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more seeds", [views[n] for n in names])
        for names in alike.values()
    ]


def differences(views: Mapping[str, RunView]) -> list[dict[str, Any]]:
    """Return the settings in which the runs differ, each with the value of every run; their names are left out."""
    settings = [dict(flat(view.config)) for view in views.values()]
    keys = dict.fromkeys(key for each in settings for key in each if key not in OWN[:2])
    rows = [{"key": key, "values": [_text(each.get(key)) for each in settings]} for key in keys]
    return [row for row in rows if len(set(row["values"])) > 1]


def compared(groups: Sequence[Group], axis: str) -> tuple[list[Chart], Places]:
    """Return the charts of all groups together, and where their points are."""
    parts = [[_charts(view) for view in group.views] for group in groups]
    ids = list(dict.fromkeys(id for runs in parts for charts, _ in runs for id in charts))
    charts, places = [], Places()
    for id in ids:
        there = [run for runs in parts for run in runs if id in run[0]]
        ends = [places[run[0][id].x].get(axis, np.zeros(1)) for run in there for places in [run[1]]]
        grid = np.linspace(0.0, max(float(end.max(initial=0.0)) for end in ends), GRID)
        places[id] = {axis: grid}
        series = [
            each
            for number, (group, runs) in enumerate(zip(groups, parts, strict=True), start=1)
            for each in _series(id, group.name, [run for run in runs if id in run[0]], axis, grid, number)
        ]
        chart = there[0][0][id]
        charts.append(replace(chart, x=id, series=series, note=_note(chart), legend=False))
    known = [replace(chart, series=[each for each in chart.series if not each.is_empty]) for chart in charts]
    return [chart for chart in known if chart.series], places


def _note(chart: Chart) -> str:
    """Return which line is which where a run has several in a chart; the runs have their colours."""
    if chart.id == "strength":
        return "each champion above its own first model, so that only alike networks can be compared"
    own = _compared_series(chart)
    lines = ", ".join(f"{look}: {each.name}" for look, each in zip(DASHES, own, strict=False))
    return lines if len(own) > 1 else ""


def _compared_series(chart: Chart) -> Sequence[Series]:
    """Return what is compared: of strength and truth the champion and the shares alone, of other charts all."""
    return [each for each in chart.series if each.style != "interval"] or chart.series[:1]


def _charts(view: RunView) -> tuple[dict[str, Chart], Places]:
    history = view.read_on()
    return {chart.id: chart for chart in charts_of(history) if chart.id not in ALONE}, places_of(history)


def _series(
    id: str, name: str, runs: list[tuple[dict[str, Chart], Places]], axis: str, grid: Floats, number: int
) -> Iterator[Series]:
    """Yield a group's curves of a chart."""
    own = _compared_series(runs[0][0][id]) if runs else []
    for part, first in enumerate(own):
        curves = np.array([_on_grid(charts[id], places, first.name, axis, grid) for charts, places in runs])
        label = name if len(own) == 1 or not first.name else f"{name}: {first.name}"
        there = curves[np.isfinite(curves).any(axis=1)] if np.isfinite(curves).any() else curves
        mean = there.mean(axis=0)  # where all of them have been: a mean of others would jump
        style: Style = "step" if first.style == "step" and len(runs) == 1 else "line"
        curve = Series(name=label, values=mean, style=style, color=f"run-{number}", dashed=part)
        if len(runs) > 1:
            curve = replace(curve, style="band", low=there.min(axis=0), high=there.max(axis=0))
        yield curve


def _on_grid(chart: Chart, places: Places, name: str, axis: str, grid: Floats) -> Floats:
    """Return a curve at the places of `grid`, NaN where the run has not been."""
    nothing = np.full(len(grid), np.nan)
    x = places[chart.x].get(axis)
    series = next((each for each in chart.series if each.name == name), None)
    if x is None or series is None:
        return nothing
    known = np.isfinite(series.values)
    x, y = x[known], series.values[known]
    if not len(x):
        return nothing
    if series.style == "step":
        values, end = y[np.maximum(np.searchsorted(x, grid, side="right") - 1, 0)], _end(places, axis)
    else:
        values, end = np.interp(grid, x, y), x[-1]
    return np.where((grid >= x[0]) & (grid <= max(end, x[-1])), values, np.nan)


def _end(places: Places, axis: str) -> float:
    """Return how far a run has come."""
    return max(float(axes[axis].max(initial=0.0)) for axes in places.values() if axis in axes)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
