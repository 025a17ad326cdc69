"""Print `docs/metrics.md`, made from the report dataclasses:  python -m scripts.metric_docs > docs/metrics.md"""

from __future__ import annotations

from evaluator.gate_report import GateReport
from learner.learner import LearnerReport
from learner.replay.transport import ReplayReport
from scripts.run.counters import PlayReport, RunReport
from scripts.run.health import HealthReport, MemoryReport
from scripts.run.tracking.metrics import metric_table

HEAD = """\
# Metrics

The contents of `metrics.jsonl`, TensorBoard and wandb, generated from the reports by `python -m scripts.metric_docs`.
Rows are written every five seconds, those of the gate with each verdict, those of `play` after every hundred games or
so; every row has `step` (of the learner) and `elapsed_s`. Under Ray there is `health/ROLE` for learner, gate, replay,
weights and actors (all actors together), and `health/memory` for memory outside the roles. Where the meaning depends on
the algorithm, the meanings are separated by "Or".

"""


def text() -> str:
    """Return the page."""
    reports = {
        "run": RunReport,
        "play": PlayReport,
        "learner": LearnerReport,
        "replay": ReplayReport,
        "gate": GateReport,
        "health/ROLE": HealthReport,
        "health/memory": MemoryReport,
    }
    return HEAD + metric_table(reports)


if __name__ == "__main__":
    print(text(), end="")
