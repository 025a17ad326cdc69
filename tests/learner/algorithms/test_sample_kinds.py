"""Which samples each algorithm learns from, also after the way into another process."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from learner.algorithms.config import AlgorithmConfig, QTableConfig
from learner.algorithms.sample_kinds import sample_kind
from reversi.record import UNSEARCHED
from tests.learner.jobs import ALGORITHM, DQN, SUPERVISED
from tests.random_games import random_records

Q_TABLE = QTableConfig(name="q_table", learning_rate=0.5, discount=0.9)


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [(ALGORITHM, "positions"), (SUPERVISED, "positions"), (DQN, "transitions"), (Q_TABLE, "transitions")],
    ids=lambda each: getattr(each, "name", ""),
)
def test_a_kind_makes_the_same_samples_in_another_process(algorithm: AlgorithmConfig, name: str) -> None:
    records = random_records("reversi4", 5, seed=1)
    records = replace(records, ply_kind=np.full(records.positions, UNSEARCHED, np.uint8))
    kind = sample_kind(algorithm)
    there = pickle.loads(pickle.dumps(kind))
    assert (kind.name, there.name, there.columns) == (name, name, kind.columns)
    here, sent = kind.of(records), there.of(records)
    assert type(here) is type(sent) is kind.columns
    assert len(here) > 0
    for column, values in here.columns().items():
        np.testing.assert_array_equal(sent.columns()[column], values)
