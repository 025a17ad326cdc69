"""Subnormal numbers: a step leaves none in the optimiser's state, and its caller computes with them as before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learner.algorithms.config import AlgorithmConfig
from learner.cpu_pass.process_settings import subnormals_as_zero
from learner.training.trainer import Trainer
from reversi.model.config import NetworkConfig
from tests.learner.jobs import ALGORITHM, CONFIG, GAME, NETWORK, SUPERVISED, batch, stack

SUBNORMAL = 1e-40


def subnormals(arrays: dict[str, np.ndarray]) -> int:
    """Return how many numbers there are between zero and the smallest normal one."""
    floats = [array for array in arrays.values() if array.dtype == np.float32]
    return sum(int(((array != 0) & (np.abs(array) < np.finfo(np.float32).tiny)).sum()) for array in floats)


DUAL = replace(NETWORK, lines=True)
STACK = stack(head="policy", hidden=(500, 500))
"""Enough parameters for several of torch's threads."""


@pytest.mark.parametrize(
    ("network", "algorithm", "optimiser"),
    [(DUAL, ALGORITHM, "adamw"), (DUAL, ALGORITHM, "muon"), (STACK, SUPERVISED, "adamw")],
    ids=["dual adamw", "dual muon", "stack adamw"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_leaves_no_subnormal_moments(
    network: NetworkConfig, algorithm: AlgorithmConfig, optimiser: str, threads: int
) -> None:
    torch.set_num_threads(threads)
    torch.ones(1 << 20).exp()  # the threads that torch then has were made to compute with subnormals
    config = replace(CONFIG, optimiser=optimiser, threads=threads)
    made = Trainer(GAME, network, config, algorithm, 7)
    made.step(batch(32, 0), 0.0)
    arrays = made.arrays()
    means = {name: np.full_like(array, SUBNORMAL) for name, array in arrays.items() if name.endswith(".exp_avg")}
    made.restore(arrays | means, 1)
    assert subnormals(made.arrays()) > 0
    made.step(batch(32, 1), 0.0)
    assert subnormals(made.arrays()) == 0  # lines that the batch lacks have no gradient, only these moments


def test_the_calling_thread_computes_with_subnormals_again() -> None:
    tiny = torch.full((8,), SUBNORMAL)
    assert (tiny * 0.5).all()
    with subnormals_as_zero():
        assert not (tiny * 0.5).any()
    assert (tiny * 0.5).all()
