"""Print `docs/metrics.md`, made from the report dataclasses:  python -m scripts.metric_docs > docs/metrics.md"""

from __future__ import annotations

from evaluator.gate import GateReport
from learner.learner import LearnerReport
from learner.replay.transport import ReplayReport
from learner.tracking.metrics import metric_table
from scripts.progress import RunReport

HEAD = """\
# Metrics

What `metrics.jsonl`, TensorBoard and wandb hold; made from the reports by `python -m scripts.metric_docs`. Rows come
every five seconds, those of the gate with each verdict; every row has `step` (of the learner) and `elapsed_s`.

"""


def text() -> str:
    """Return the page."""
    return HEAD + metric_table({"run": RunReport, "learner": LearnerReport, "replay": ReplayReport, "gate": GateReport})


if __name__ == "__main__":
    print(text(), end="")
