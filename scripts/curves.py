"""Curves as a picture: panels one above the other over one axis, plain SVG; the scale is for other pictures too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

LEFT, RIGHT, TOP, BOTTOM = 70, 36, 34, 44
"""Margins for the values, at the right, for the title and for the axis, in pixels, like all sizes below."""

PLOT, GAP = 594, 32
"""Width of the axis; space between two panels, for the title and the curve names of the lower one."""

LETTER, LINE, SAMPLE = 7.2, 16, 18
"""Width reserved per letter of a curve's name; height of a row of names; length of the line before such a name."""

MOST_STEPS = 7
"""Most distances between ticks."""

COLORS = ("#2166ac", "#b2182b", "#1b7837", "#762a83", "#c77700", "#555555")
DASHES = ("", "7 3", "2 2")
"""The first curves of a panel are full lines of each colour; the next ones have the same colours, dashed."""


@dataclass(frozen=True)
class Curve:
    """One line of a panel."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    step: bool = False
    """Whether a value holds until the next one; a dot marks the start of each."""
    dots: bool = False
    """Whether a dot marks every value of a curve without steps too."""


@dataclass(frozen=True)
class Panel:
    """Curves that share a scale."""

    title: str
    curves: Sequence[Curve]
    height: int = 150
    low: float | None = None
    """Lower end of the scale; None uses the smallest value."""
    high: float | None = None
    """Upper end of the scale; None uses the largest value."""
    logarithmic: bool = False
    """Whether equal distances are equal ratios; every value must then be positive."""
    names_at_ends: bool = False
    """Whether a curve's name stands at its right end; for at most as many curves as there are colours."""


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from the values `low` to `high` to the pixels `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    least_step: float = 0.0
    """Smallest distance between two ticks of a linear scale."""
    logarithmic: bool = False
    """Whether equal distances are equal ratios; `low` must then be positive."""

    def __call__(self, value: float) -> float:
        """Return the pixel of a value; a value outside the scale is at its end."""
        inside = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return round(self.start + (self.end - self.start) * share, 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Pixel and text of round values within the scale: three to eight, or fewer by `least_step`."""
        values = _round_ratios(self.low, self.high) if self.logarithmic else []
        return self.ticks_at(values or _round_steps(self.low, self.high, self.least_step))

    def ticks_at(self, values: Iterable[float]) -> list[tuple[float, str]]:
        """Return pixel and text of these values."""
        return [(self(value), _number(value)) for value in values]


def _round_steps(low: float, high: float, least_step: float) -> list[float]:
    """Return the multiples of a round step from `low` to `high`: three to eight, or fewer by `least_step`."""
    rough = (high - low) / MOST_STEPS
    power = 10 ** math.floor(math.log10(rough))
    step = max(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough), least_step)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _round_ratios(low: float, high: float) -> list[float]:
    """Return three to eight values from `low` to `high`, each a digit times a power of ten; [] if there are fewer."""
    first, last = math.floor(math.log10(low)), math.floor(math.log10(high))
    decades = last - first + 1
    thinner = [((1,), every) for every in range(1, decades + 1)]
    for digits, every in [(range(1, 10), 1), ((1, 2, 5), 1), *thinner]:
        values = [digit * 10.0**power for power in range(first, last + 1) if power % every == 0 for digit in digits]
        values = [value for value in values if low <= value <= high]
        if len(values) <= MOST_STEPS + 1:
            return values if len(values) >= 3 else []
    return []


def svg(width: int, height: int, parts: Sequence[str]) -> str:
    """Return the parts as the text of a whole picture, on white."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def draw(
    title: str, x_title: str, panels: Sequence[Panel], x_low: float = 0.0, x_ratios: Sequence[float] | None = None
) -> str:
    """Return the picture as SVG text; the axis starts at `x_low`, or at the smallest value if that is less.

    x_ratios  positive values in ascending order; the axis is logarithmic, from the first to the last of them, with a
              tick at each
    """
    points = [x for panel in panels for curve in panel.curves for x in curve.x]
    first, last = min(points, default=x_low), max(points, default=x_low + 1)
    whole = all(float(x).is_integer() for x in points)
    if x_ratios:
        across = Scale(x_ratios[0], max(x_ratios[-1], x_ratios[0] + 1e-9), LEFT, LEFT + PLOT, logarithmic=True)
        x_ticks = across.ticks_at(x_ratios)
    else:
        across = Scale(min(x_low, first), max(last, first + 1e-9), LEFT, LEFT + PLOT, least_step=1.0 if whole else 0.0)
        x_ticks = across.ticks
    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>']
    top = TOP
    for panel in panels:
        names, names_height = _names(panel, top + GAP - 14)
        top += GAP - 8 + names_height
        parts += [*names, *_panel(panel, across, x_ticks, top)]
        top += panel.height + 8
    parts += [f'<text x="{x}" y="{top + 8}" text-anchor="middle">{text}</text>' for x, text in x_ticks]
    parts.append(f'<text x="{LEFT + PLOT / 2}" y="{top + 28}" text-anchor="middle">{escape(x_title)}</text>')
    letters = max((len(curve.name) for panel in panels if panel.names_at_ends for curve in panel.curves), default=0)
    return svg(LEFT + PLOT + max(RIGHT, round(LETTER * letters) + 16), top + BOTTOM, parts)


def _names(panel: Panel, y: int) -> tuple[list[str], int]:
    """Return the title at height `y` with the curves' names, and the height of the names that do not fit beside it."""
    parts = [f'<text x="{LEFT}" y="{y}">{escape(panel.title)}</text>']
    if panel.names_at_ends:
        return parts, 0
    letters = len(panel.title) + sum(len(curve.name) + 2 for curve in panel.curves)
    if len(panel.curves) <= len(COLORS) and LETTER * letters <= PLOT:
        end: float = LEFT + PLOT
        for curve, (color, _) in reversed(list(zip(panel.curves, _styles(), strict=False))):
            parts.append(f'<text x="{end:.0f}" y="{y}" text-anchor="end" fill="{color}">{escape(curve.name)}</text>')
            end -= LETTER * (len(curve.name) + 2)
        return parts, 0
    width = SAMPLE + LETTER * (max(len(curve.name) for curve in panel.curves) + 2)
    columns = max(1, int(PLOT // width))
    for place, (curve, (color, dash)) in enumerate(zip(panel.curves, _styles(), strict=False)):
        row, column = divmod(place, columns)
        x, below = round(LEFT + column * PLOT / columns), y + LINE * (row + 1)
        parts += [
            f'<path d="M{x} {below - 4}h{SAMPLE}" stroke="{color}" stroke-width="1.5"{dash}/>',
            f'<text x="{x + SAMPLE + 6}" y="{below}" fill="{color}">{escape(curve.name)}</text>',
        ]
    return parts, LINE * math.ceil(len(panel.curves) / columns) + 4


def _panel(panel: Panel, across: Scale, x_ticks: Sequence[tuple[float, str]], top: int) -> list[str]:
    values = [y for curve in panel.curves for y in curve.y if math.isfinite(y)]
    low = min(values, default=0.0) if panel.low is None else panel.low
    high = max(values, default=1.0) if panel.high is None else panel.high
    least_high = low + 1e-6 * max(1.0, abs(low))
    up = Scale(low, max(high, least_high), top + panel.height, top, logarithmic=panel.logarithmic)
    parts = [f'<path d="M{x} {top}V{top + panel.height}" stroke="#eee"/>' for x, _ in x_ticks]
    for y, text in up.ticks:
        parts.append(f'<path d="M{LEFT} {y}H{LEFT + PLOT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{text}</text>')
    for curve, (color, dash) in zip(panel.curves, _styles(), strict=False):
        parts += _curve(curve, across, up, color, dash)
    return parts + (_names_at_ends(panel, up) if panel.names_at_ends else [])


def _names_at_ends(panel: Panel, up: Scale) -> list[str]:
    """Return each curve's name beside its last value, from top to bottom, at least a row apart."""
    ends = sorted(
        (up(curve.y[-1]), curve.name, color) for curve, (color, _) in zip(panel.curves, _styles(), strict=False)
    )
    y = -math.inf
    parts = []
    for end, name, color in ends:
        y = max(end + 4, y + LINE)
        parts.append(f'<text x="{LEFT + PLOT + 8}" y="{y:.1f}" fill="{color}">{escape(name)}</text>')
    return parts


def _styles() -> Iterator[tuple[str, str]]:
    """Yield colour and attribute for dashes of a panel's curves, without end."""
    while True:
        for dash in DASHES:
            yield from ((color, f' stroke-dasharray="{dash}"' if dash else "") for color in COLORS)


def _curve(curve: Curve, across: Scale, up: Scale, color: str, dash: str) -> list[str]:
    points = thinned([(across(x), up(y)) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y)])
    if not points:
        return []
    path = f"M{points[0][0]} {points[0][1]}"
    path += "".join(f"H{x}V{y}" if curve.step else f"L{x} {y}" for x, y in points[1:])
    marked = points if curve.step or curve.dots else []
    dots = [f'<circle cx="{x}" cy="{y}" r="2.5" fill="{color}"/>' for x, y in marked]
    return [f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.5"{dash}/>', *dots]


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the first, lowest, highest and last point of each column of pixels, in order: the line looks the same."""
    kept: list[tuple[float, float]] = []
    for _, column in groupby(points, key=lambda point: int(point[0])):
        held = list(column)
        heights = [y for _, y in held]
        indices = {0, heights.index(min(heights)), heights.index(max(heights)), len(held) - 1}
        kept += [held[index] for index in sorted(indices)]
    return kept


def _number(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.6g} M"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"
