"""Does a quantity grow?  The slope of a series that is noisy, jumps and has outliers, with its error.

The slope is the median of the slopes of all pairs of points (Theil and Sen); its interval is Sen's, from the variance
of Kendall's count (P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63, 1968).  It takes
the points for independent, so a series is first made of medians of equal stretches of time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 120
"""Stretches that a series is cut into, at most: 7,140 pairs."""

LEAST_POINTS = 6
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
    x, y = _medians(np.asarray(times, float), np.asarray(values, float))
    count = len(x)
    if count < LEAST_POINTS:
        return None
    first, second = np.triu_indices(count, 1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    half = NORMAL_95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18) / 2
    low = max(0, math.floor(len(slopes) / 2 - half))
    high = min(len(slopes) - 1, math.ceil(len(slopes) / 2 + half))
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


def _medians(times: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the medians of `MOST_POINTS` equal stretches of time, those without a point left out."""
    if not len(times) or times[-1] <= times[0]:
        return times[:1], values[:1]
    share = (times - times[0]) / (times[-1] - times[0])
    stretch = np.minimum((share * MOST_POINTS).astype(int), MOST_POINTS - 1)
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    parts = [np.split(each, starts[1:]) for each in (times, values)]
    return tuple(np.array([np.median(part) for part in each]) for each in parts)
