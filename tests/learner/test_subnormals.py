"""Subnormal numbers: a step leaves none in the optimiser's state, and its caller computes with them as before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learner.subnormals import subnormals_as_zero
from learner.trainer import Trainer
from tests.learner.jobs import ALGORITHM, CONFIG, GAME, NETWORK, batch

SUBNORMAL = 1e-40


def subnormals(arrays: dict[str, np.ndarray]) -> int:
    """Return how many numbers there are between zero and the smallest normal one."""
    floats = [array for array in arrays.values() if array.dtype == np.float32]
    return sum(int(((array != 0) & (np.abs(array) < np.finfo(np.float32).tiny)).sum()) for array in floats)


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_leaves_no_subnormal_moments(optimiser: str, threads: int) -> None:
    config = replace(CONFIG, optimiser=optimiser, threads=threads)
    made = Trainer(GAME, replace(NETWORK, lines=True), config, ALGORITHM, 7)
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
