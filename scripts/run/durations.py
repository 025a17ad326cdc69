"""Durations for people."""

from __future__ import annotations

UNITS_S = (("d", 86_400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1))
"""A unit and the smaller one that is printed beside it, each with its seconds."""


def duration_text(seconds: float) -> str:
    """Return a duration in at most two units: `0.4 s`, `45 s`, `2 min 30 s`, `16 h 40 min`, `3 d 2 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    for unit, unit_s, smaller, smaller_s in UNITS_S:
        if round(seconds) >= unit_s:
            count, rest = divmod(round(seconds / smaller_s), unit_s // smaller_s)
            return f"{count:,} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{seconds:.0f} s"
