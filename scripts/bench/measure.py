"""How `reversi bench` measures: a row is the median of several rates, after a warm-up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

MEASUREMENT_S = 0.3
"""Shortest time of one measurement, in seconds."""

LONGEST_S = 20.0
"""Seconds after which a row is measured at most three times: self-play is slow on a CPU without bf16."""

STRETCH_S = 2.0
"""Seconds over which several processes are measured at the same time."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure: the median of `repeats` measurements, which range from `low` to `high`."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    repeats: int
    measured_with: str


def row(name: str, values: list[float], unit: str, measured_with: str) -> Row:
    """Return the row of these measurements."""
    return Row(
        name=name,
        value=median(values),
        unit=unit,
        low=min(values),
        high=max(values),
        repeats=len(values),
        measured_with=measured_with,
    )


def ratio(name: str, above: list[float], below: list[float], measured_with: str) -> Row:
    """Return the row of the ratio of the medians of two rates measured in turns; its spread is that of the turns."""
    shares = [each / other for each, other in zip(above, below, strict=True)]
    value = median(above) / median(below)
    return Row(
        name=name,
        value=value,
        unit="ratio",
        low=min(value, *shares),
        high=max(value, *shares),
        repeats=len(shares),
        measured_with=measured_with,
    )


def rates(work: Callable[[], int], repeats: int) -> list[float]:
    """Return units per second in several measurements of `work`, which returns its units, after a warm-up."""
    work()
    return [rate(work) for _ in range(repeats)]


def rate(work: Callable[[], int]) -> float:
    """Return units per second of `work`, repeated for `MEASUREMENT_S` at least."""
    units, start_s = 0, time.perf_counter()
    while True:
        units += work()
        elapsed_s = time.perf_counter() - start_s
        if elapsed_s >= MEASUREMENT_S:
            return units / elapsed_s


def measured(work: Callable[[], dict[str, int]], name: str) -> Callable[[], float]:
    """Return a function that measures how much of `name` `work` does per second, after a warm-up."""
    work()
    return lambda: rate(lambda: work()[name])


def in_turns(measurements: list[Callable[[], float]], repeats: int) -> list[list[float]]:
    """Return the results of each measurement; they are made in turns, so that noise affects all alike.

    There are `repeats` turns, but at most three after `LONGEST_S`.
    """
    results: list[list[float]] = [[] for _ in measurements]
    start_s = time.perf_counter()
    while len(results[0]) < 3 or (len(results[0]) < repeats and time.perf_counter() - start_s < LONGEST_S):
        for values, measure in zip(results, measurements, strict=True):
            values.append(measure())
    return results
