"""Does a quantity grow?  The slope of a series that is noisy, jumps and has outliers, with its error.

The slope is the median of the slopes of all pairs of points (Theil and Sen); its interval is Sen's, from the variance
of Kendall's count (P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63, 1968).  It takes
the points for independent, so a series is first made of medians of equal stretches of time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

MOST_POINTS = 120
"""Stretches that a series is cut into, at most: 7,140 pairs."""

LEAST_POINTS = 5
"""Points below which nothing is said: the interval of fewer is all there is."""

NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Slope:
    """Change per unit of time with its 95 % interval."""

    value: float
    low: float
    high: float


def slope_of(times: Sequence[float], values: Sequence[float]) -> Slope | None:
    """Return how fast `values` change with `times` (ascending); None of fewer than `LEAST_POINTS` stretches."""
    points = _medians(times, values)
    count = len(points)
    if count < LEAST_POINTS:
        return None
    slopes = sorted((y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in combinations(points, 2))
    half = NORMAL_95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18) / 2
    low = max(0, math.floor(len(slopes) / 2 - half))
    high = min(len(slopes) - 1, math.ceil(len(slopes) / 2 + half))
    return Slope(statistics.median(slopes), slopes[low], slopes[high])


def _medians(times: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Return the median time and value of `MOST_POINTS` equal stretches of time, those without a point left out."""
    if not times or times[-1] <= times[0]:
        return list(zip(times, values, strict=True))[:1]
    stretches: dict[int, list[int]] = {}
    for index, time in enumerate(times):
        stretch = min(int((time - times[0]) / (times[-1] - times[0]) * MOST_POINTS), MOST_POINTS - 1)
        stretches.setdefault(stretch, []).append(index)
    return [
        (statistics.median(times[i] for i in held), statistics.median(values[i] for i in held))
        for held in stretches.values()
    ]
