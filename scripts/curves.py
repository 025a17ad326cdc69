"""Curves as a picture: panels one above the other over one axis, plain SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

LEFT, RIGHT, TOP, BOTTOM = 70, 36, 34, 44
"""Margins for the values, at the right, for the title and for the axis, in pixels, like all sizes below."""

PLOT, GAP = 594, 32
"""Width of the axis; space between two panels, for the title and the curve names of the lower one."""

LETTER = 6.6
"""Width reserved per letter of a curve's name."""

COLORS = ("#2166ac", "#b2182b", "#1b7837", "#762a83")


@dataclass(frozen=True)
class Curve:
    """One line of a panel."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    step: bool = False
    """Whether a value holds until the next one; a dot marks the start of each."""


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


def draw(title: str, x_title: str, panels: Sequence[Panel]) -> str:
    """Return the picture as SVG text."""
    points = [x for panel in panels for curve in panel.curves for x in curve.x]
    first, last = min(points, default=0.0), max(points, default=1.0)
    scale = _Scale(min(0.0, first), max(last, first + 1e-9), LEFT, LEFT + PLOT)
    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>']
    top = TOP
    for panel in panels:
        top += GAP - 8
        parts += _panel(panel, scale, top)
        top += panel.height + 8
    for tick in scale.ticks:
        parts.append(f'<text x="{scale(tick)}" y="{top + 8}" text-anchor="middle">{_number(tick)}</text>')
    parts.append(f'<text x="{LEFT + PLOT / 2}" y="{top + 28}" text-anchor="middle">{escape(x_title)}</text>')
    width, height = LEFT + PLOT + RIGHT, top + BOTTOM
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


class _Scale:
    """A linear map from values to pixels."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return round(self.start + (self.end - self.start) * (inside - self.low) / (self.high - self.low), 1)

    @property
    def ticks(self) -> list[float]:
        """Three to eight round values within the scale."""
        rough = (self.high - self.low) / 7
        power = 10 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        first = math.ceil(self.low / step - 1e-9)
        return [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _panel(panel: Panel, across: _Scale, top: int) -> list[str]:
    values = [y for curve in panel.curves for y in curve.y if math.isfinite(y)]
    low = min(values, default=0.0) if panel.low is None else panel.low
    high = max(values, default=1.0) if panel.high is None else panel.high
    up = _Scale(low, max(high, low + 1e-6), top + panel.height, top)
    parts = [f'<text x="{LEFT}" y="{top - 6}">{escape(panel.title)}</text>']
    parts += [f'<path d="M{across(tick)} {top}V{top + panel.height}" stroke="#eee"/>' for tick in across.ticks]
    for tick in up.ticks:
        parts.append(f'<path d="M{LEFT} {up(tick)}H{LEFT + PLOT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{up(tick) + 4}" text-anchor="end">{_number(tick)}</text>')
    name_end: float = LEFT + PLOT
    for curve, color in reversed(list(zip(panel.curves, COLORS, strict=False))):
        parts.append(
            f'<text x="{name_end:.0f}" y="{top - 6}" text-anchor="end" fill="{color}">{escape(curve.name)}</text>'
        )
        name_end -= LETTER * (len(curve.name) + 2)
        parts += _curve(curve, across, up, color)
    return parts


def _curve(curve: Curve, across: _Scale, up: _Scale, color: str) -> list[str]:
    points = [(across(x), up(y)) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y)]
    if not points:
        return []
    path = f"M{points[0][0]} {points[0][1]}"
    path += "".join(f"H{x}V{y}" if curve.step else f"L{x} {y}" for x, y in points[1:])
    dots = [f'<circle cx="{x}" cy="{y}" r="2.5" fill="{color}"/>' for x, y in points] if curve.step else []
    return [f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>', *dots]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"
