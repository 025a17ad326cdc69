"""Whether a part of a run grows: its memory after the warm-up (ten minutes, or a third of the time if that is less) and
its growth, as the median slope of all pairs of points with its 95 % interval.

A part "grows" if the lower end of that interval exceeds the bound and it gained over 5 %.  It is "flat" if the upper
end does not exceed the bound, and "unclear" in between.  With under 30 minutes after the warm-up the verdict is "too
short": nothing can be concluded.  Growth that is explained by the replay filling up is not counted, for the replay and
for the driver that saves it.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reversi.errors import RunError
from scripts.curves import Curve, Panel, draw
from scripts.run.tracking.jsonl import rows_of
from tests.faults.soak.memory_series import READ, ROLES, Series, series_of
from tests.faults.soak.trend import slope_of

BOUND_MB_PER_H = 20.0
"""Growth that a part is allowed."""

WARM_UP_S = 600.0
"""Longest time in seconds until a process has reached its size: caches fill, kernels and graphs are built."""

GAIN = 0.05
"""Share of the first memory that a part may gain, whatever its slope."""

SHORTEST_MINUTES = 30.0
"""Minutes after the warm-up below which a slope says nothing about hours."""

Verdict = Literal["flat", "grows", "unclear", "too short"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The memory of one part over time."""

    part: str
    minutes: float
    """Length of the window that is judged, without the warm-up."""
    first_mb: float
    last_mb: float
    """Medians of the first and the last tenth of the window."""
    most_mb: float
    """Largest value, warm-up included."""
    mb_per_h: float | None
    low_mb_per_h: float | None
    high_mb_per_h: float | None
    """The slope and its 95 % interval; None with too few points."""
    filling_mb_per_h: float
    """Growth explained by the replay filling up."""
    verdict: Verdict


def measured(run: Path) -> list[Series]:
    """Return the memory of every part of a run; RunError if its metrics have none."""
    series = series_of(rows_of(run, *READ))
    if not series:
        raise RunError(f"expected metrics of memory in {run / 'metrics.jsonl'}, found none")
    return series


def judge(series: Series, bound_mb_per_h: float = BOUND_MB_PER_H) -> Finding:
    """Return the verdict on a part's memory after the warm-up, with its figures."""
    begin, end = series.times_s[0], series.times_s[-1]
    warm_s = max(begin + min(WARM_UP_S, (end - begin) / 3), series.full_s or 0.0)
    points = [(s, mb) for s, mb in zip(series.times_s, series.mb, strict=True) if s >= warm_s]
    times_s, values = [s for s, _ in points], [mb for _, mb in points]
    hours = (times_s[-1] - times_s[0]) / 3600
    slope = slope_of([s / 3600 for s in times_s], values)
    tenth = -(-len(values) // 10)
    first, last = statistics.median(values[:tenth]), statistics.median(values[-tenth:])
    allowed = bound_mb_per_h + series.filling_mb_per_h
    verdict: Verdict
    if slope is None or 60 * hours < SHORTEST_MINUTES:
        verdict = "too short"
    elif slope.low > allowed and (slope.low - series.filling_mb_per_h) * hours > GAIN * first:
        verdict = "grows"
    else:
        verdict = "flat" if slope.high <= allowed else "unclear"
    return Finding(
        part=series.part,
        minutes=60 * hours,
        first_mb=first,
        last_mb=last,
        most_mb=max(series.mb),
        mb_per_h=slope.value if slope else None,
        low_mb_per_h=slope.low if slope else None,
        high_mb_per_h=slope.high if slope else None,
        filling_mb_per_h=series.filling_mb_per_h,
        verdict=verdict,
    )


def table(findings: list[Finding]) -> str:
    """Return the findings for people."""
    lines = [f"{'part':<13}{'minutes':>8}{'first MB':>10}{'last MB':>9}{'most MB':>9}  {'MB/h, 95 %':<32}verdict"]
    for finding in findings:
        slope = _slope_text(finding)
        note = f", {finding.filling_mb_per_h:,.0f} MB/h as the replay fills" if finding.filling_mb_per_h >= 1 else ""
        lines.append(
            f"{finding.part:<13}{finding.minutes:>8.1f}{finding.first_mb:>10,.1f}{finding.last_mb:>9,.1f}"
            f"{finding.most_mb:>9,.1f}  {slope:<32}{finding.verdict}{note}"
        )
    return "\n".join(lines)


def picture(title: str, series: list[Series], findings: list[Finding]) -> str:
    """Return memory over time as SVG: the roles, actors and driver, the stores, the whole."""
    rates = {finding.part: finding.mb_per_h for finding in findings}
    in_hours = max(each.times_s[-1] for each in series) > 3 * 3600
    unit_s = 3600 if in_hours else 60

    def panel(name: str, parts: tuple[str, ...], height: int) -> Panel:
        shown = [each for each in series if each.part in parts]
        curves = [
            Curve(_named(each.part, rates[each.part]), [s / unit_s for s in each.times_s], each.mb) for each in shown
        ]
        return Panel(name, curves, height, low=0.0)

    panels = [
        panel("MB", ROLES, 170),
        panel("MB of an actor on average, and of the driver", ("actors", "driver"), 130),
        panel("MB in stores", ("object store", "redis"), 90),
        panel("MB in all, shared pages once a process", ("whole run",), 130),
    ]
    x_title = f"{'hours' if in_hours else 'minutes'} of training; MB/h after the warm-up"
    return draw(f"{title}: resident memory", x_title, [each for each in panels if each.curves])


def _named(part: str, mb_per_h: float | None) -> str:
    return part if mb_per_h is None else f"{part} {mb_per_h:+.1f}/h"


def _slope_text(finding: Finding) -> str:
    if finding.mb_per_h is None:
        return "-"
    return f"{finding.mb_per_h:+,.1f} [{finding.low_mb_per_h:+,.1f}, {finding.high_mb_per_h:+,.1f}]"
