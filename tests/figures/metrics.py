"""Print `docs/metrics.md`, made from the report dataclasses:  python -m tests.figures.metrics > docs/metrics.md"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
import typing

from evaluator.gate_report import GateReport
from evaluator.strength import StrengthReport
from learner.learner import LearnerReport
from learner.replay.transport import ReplayReport
from scripts.run.reports import HealthReport, MemoryReport, PlayReport, RunReport, SelfPlayReport

HEAD = """\
# Metrics

The contents of `metrics.jsonl`, TensorBoard and wandb, generated from the reports by `python -m tests.figures.metrics`.
Rows are written every five seconds, those of the gate with each verdict, those of `strength` after each match against
one of `gate.opponents` or an older champion (`v12`), those of `play` after every hundred games or so; every row has
`step` (of the learner) and `elapsed_s`. Under Ray there is `health/ROLE` for learner, gate, replay, weights and actors
(all actors together), and `health/memory` for memory outside the roles. Where the meaning depends on
the algorithm, the meanings are separated by "Or".

"""


def text() -> str:
    """Return the page."""
    reports = {
        "run": RunReport,
        "play": PlayReport,
        "selfplay": SelfPlayReport,
        "learner": LearnerReport,
        "replay": ReplayReport,
        "gate": GateReport,
        "strength/OPPONENT": StrengthReport,
        "health/ROLE": HealthReport,
        "health/memory": MemoryReport,
    }
    return HEAD + metric_table(reports)


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
    meanings_of: dict[str, list[str]] = {}
    for name, hint in hints.items():
        parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        kinds = [each for each in parts if each is not type(None)]  # X | Y | None: X, Y
        for kind in kinds:
            rows = [(f"{prefix}/{name}", meanings.get(name, ""))] if kind in (int, float, bool) else []
            if dataclasses.is_dataclass(kind):
                rows = _metrics(f"{prefix}/{name}", kind)  # type: ignore[arg-type]
            for metric, meaning in rows:
                known = meanings_of.setdefault(metric, [])
                known += [] if meaning in known else [meaning]
    return [(metric, " Or: ".join(known)) for metric, known in meanings_of.items()]


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


if __name__ == "__main__":
    print(text(), end="")
