from __future__ import annotations

from learner.learner import LearnerReport
from learner.replay.transport import ReplayReport
from tests.figures.metrics import metric_table


def test_the_metric_table_has_every_number_with_its_meaning() -> None:
    rows = metric_table({"learner": LearnerReport, "replay": ReplayReport}).splitlines()[2:]
    names = [row.split("`")[1] for row in rows]
    assert {"learner/steps", "learner/losses/policy", "learner/waiting_s", "replay/tokens"} <= set(names)
    assert len(names) == len(set(names))
    assert all(len(row.split("|")[2].strip()) > 10 for row in rows), rows
