"""A chart of a run's page, as data: its series, and the places of their points.

`static/charts.js` draws every chart alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Style = Literal["line", "step", "area", "interval", "band"]
Floats = NDArray[np.float64]

Places = dict[str, dict[str, Floats]]
"""Where points are: by the name of the places, by axis."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """A curve, with a band around it or without, or a row of intervals."""

    name: str
    values: Floats
    style: Style = "line"
    low: Floats | None = None
    high: Floats | None = None
    """Ends of intervals, or of the band around a line; NaN is an end that does not exist."""
    color: str = ""
    """A colour of the style sheet, such as `good`; without one, the next of the palette."""
    dashed: int = 0
    """Which of several patterns a line has; 0 is none."""
    names: Sequence[str] = ()
    """What each point is called when it is pointed at."""

    @property
    def is_empty(self) -> bool:
        """Whether no value is known."""
        return not np.isfinite(self.values).any()

    def as_json(self) -> dict[str, Any]:
        """Return it for the page."""
        ends = {end: _numbers(values) for end in ("low", "high") if (values := getattr(self, end)) is not None}
        words = {"color": self.color, "dashed": self.dashed, "names": list(self.names)}
        return {"name": self.name, "style": self.style, "values": _numbers(self.values), **ends} | {
            key: value for key, value in words.items() if value
        }


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart of a few series over one axis."""

    id: str
    title: str
    note: str = ""
    unit: str = ""
    x: str
    """Which places the points are at: `ticks`, `gate`, `strength`, `truth` or `play`."""
    series: Sequence[Series]
    legend: bool = True
    """Whether the series' names stand above the chart."""
    range: tuple[float | None, float | None] = (None, None)
    """Ends of the y axis; None follows the values."""

    @property
    def is_zero(self) -> bool:
        """Whether it has nothing to show but zeros."""
        return not any(np.nan_to_num(each.values).any() for each in self.series)

    def as_json(self) -> dict[str, Any]:
        """Return it for the page."""
        return {
            "id": self.id,
            "title": self.title,
            "note": self.note,
            "unit": self.unit,
            "x": self.x,
            "series": [each.as_json() for each in self.series],
            "legend": self.legend,
            "range": list(self.range),
        }


def places_json(places: Places) -> dict[str, dict[str, list[float | None]]]:
    """Return places for the page."""
    return {name: {axis: _numbers(values, digits=8) for axis, values in axes.items()} for name, axes in places.items()}


def _numbers(values: Floats, digits: int = 5) -> list[float | None]:
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]
