"""How `reversi bench` measures: a row is the median of several rates, warmed up before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

MEASUREMENT_S = 0.3
"""Least time of one measurement."""

LONGEST_S = 20.0
"""Time after which a row is measured no more than three times: a CPU without bf16 takes long for self-play."""

STRETCH_S = 2.0
"""Time over which several processes are measured side by side."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure: the median of `repeats` measurements that lay between `low` and `high`."""

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
    """Return the row of the ratio of the medians of two rates that were measured in turns; its spread is the turns'."""
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


def share_below(values: list[float], share: float) -> float:
    """Return the smallest of the values, at least one, that `share` of them do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def rates(work: Callable[[], int], repeats: int) -> list[float]:
    """Return units per second of several measurements of `work`, which returns the units it did; warmed up before."""
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
    """Return what measures how much of `name` `work` does per second; warmed up before."""
    work()
    return lambda: rate(lambda: work()[name])


def in_turns(measurements: list[Callable[[], float]], repeats: int) -> list[list[float]]:
    """Return the results of each measurement, made one after the other again and again, so that noise hits all alike.

    `repeats` times; after `LONGEST_S` no more than three times.
    """
    found: list[list[float]] = [[] for _ in measurements]
    start_s = time.perf_counter()
    while len(found[0]) < 3 or (len(found[0]) < repeats and time.perf_counter() - start_s < LONGEST_S):
        for results, measure in zip(found, measurements, strict=True):
            results.append(measure())
    return found
