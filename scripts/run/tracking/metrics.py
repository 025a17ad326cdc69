"""Reports become metrics: a field's name is the metric's name, and its docstring the metric's meaning."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol


class Tracker(Protocol):
    """Receives rows of metrics."""

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Write one row: the learner's step, seconds of training, and metrics by their names."""

    def close(self) -> None:
        """Flush buffered rows."""


def flatten(prefix: str, report: Any) -> dict[str, float]:
    """Return the numbers of a report as `prefix/field`, nested reports as `prefix/field/inner`; texts are skipped."""
    row: dict[str, float] = {}
    for field in dataclasses.fields(report):
        value = getattr(report, field.name)
        name = f"{prefix}/{field.name}"
        if dataclasses.is_dataclass(value):
            row |= flatten(name, value)
        elif isinstance(value, int | float):
            row[name] = float(value)
    return row
