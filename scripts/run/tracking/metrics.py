"""Reports become metrics: a field's name is the metric's name, and its docstring the metric's meaning.

`flatten` turns every report into numbers, and `metric_table` prints the documentation's table from the same
dataclasses, so that the two always agree.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
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


def metric_table(reports: dict[str, type]) -> str:
    """Return a Markdown table of every metric of `reports` (prefix to dataclass) with its meaning."""
    rows = ["| metric | meaning |", "|---|---|"]
    for prefix, report in reports.items():
        rows += [f"| `{name}` | {meaning} |" for name, meaning in _metrics(prefix, report)]
    return "\n".join(rows) + "\n"


def _metrics(prefix: str, report: type) -> list[tuple[str, str]]:
    """Return (name, meaning) of every number in a report class, in the order of its fields.

    Where a field may be one of several reports, a name that they share is listed once, with all its meanings.
    """
    meanings = _field_docstrings(report)
    hints = inspect.get_annotations(report, eval_str=True)
    found: dict[str, list[str]] = {}
    for name, hint in hints.items():
        kinds = [each for each in typing.get_args(hint) if each is not type(None)] or [hint]  # X | Y | None: X, Y
        for kind in kinds:
            rows = [(f"{prefix}/{name}", meanings.get(name, ""))] if kind in (int, float, bool) else []
            if dataclasses.is_dataclass(kind):
                rows = _metrics(f"{prefix}/{name}", kind)  # type: ignore[arg-type]
            for metric, meaning in rows:
                known = found.setdefault(metric, [])
                known += [] if meaning in known else [meaning]
    return [(metric, " Or: ".join(known)) for metric, known in found.items()]


def _field_docstrings(report: type) -> dict[str, str]:
    """Return the docstring after each field in the source of a dataclass."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(report))).body
    assert isinstance(definition, ast.ClassDef)
    meanings = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            meanings[statement.target.id] = " ".join(following.value.value.split())
    return meanings
