"""A table of lines in training: it learns, decays and is saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from learner.training.trainer import Trainer
from reversi.model.config import ResNetConfig
from reversi.model.line_patterns import shared_rows
from reversi.model.line_table import LineRows
from reversi.model.network import DualNetwork
from tests.learner import jobs
from tests.learner.jobs import ALGORITHM, CONFIG, GAME, batch

SMALL = replace(jobs.NETWORK, lines=True)


def trainer(network: ResNetConfig = SMALL, **changes: Any) -> Trainer:
    return Trainer(GAME, network, replace(CONFIG, **changes), ALGORITHM, 7)


BATCHES = [batch(36, seed) for seed in range(4)]


def trained(steps: int, made: Trainer, first: int = 0) -> Trainer:
    for step in range(first, first + steps):
        made.step(BATCHES[step % len(BATCHES)], 0.0)
    return made


def ones(made: Trainer) -> Trainer:
    assert isinstance(made._network, DualNetwork)
    assert made._network.lines is not None
    made._network.lines.table.data.fill_(1)
    return made


def equal(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> bool:
    """Whether two states are the same bit for bit."""
    return left.keys() == right.keys() and all(left[name].tobytes() == right[name].tobytes() for name in left)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_restored_trainer_goes_on_bit_for_bit(threads: int) -> None:
    made = trained(5, trainer(threads=threads))
    kept = {name: array.copy() for name, array in made.arrays().items()}
    names = {name for name in kept if name.endswith(("lines.table", "lines.table.exp_avg", "lines.table.exp_avg_sq"))}
    assert len(names) == 4, "network, average and two moments"
    assert not any("lines.rows" in name for name in kept), "what follows from the board's size is not kept"
    uninterrupted = trained(4, made, 5).arrays()
    resumed = Trainer(GAME, SMALL, made.config, ALGORITHM, 8)
    resumed.restore(kept, 5)
    assert equal(trained(4, resumed, 5).arrays(), uninterrupted)


def test_a_table_learns_decays_and_is_published_folded() -> None:
    made = trainer(weight_decay=0.0)
    before = made.arrays()["network.lines.table"].copy()
    losses = [float(made.step(BATCHES[step % 4], 0.0)[0][0]) for step in range(60)]
    assert np.mean(losses[-4:]) < 0.6 * np.mean(losses[:4])
    arrays = made.arrays()
    looked_up = np.zeros(len(before), bool)
    for each in BATCHES:
        looked_up[shared_rows(GAME.size)[LineRows(GAME.size)(each.planes).numpy()]] = True
    moved = (arrays["network.lines.table"] != before).any(1)
    np.testing.assert_array_equal(moved, looked_up)
    assert 0.05 < looked_up.mean() < 0.9
    scale = arrays["average.stem.norm.weight"] / np.sqrt(arrays["average.stem.norm.running_var"] + 1e-4)
    weights = made.averaged(3)
    unshared = arrays["average.lines.table"][shared_rows(GAME.size)]
    np.testing.assert_allclose(weights.arrays["lines.table"], unshared * scale, rtol=1e-5)
    decayed, plain = (
        trained(1, ones(trainer(weight_decay=decay))).arrays()["network.lines.table"] for decay in (0.5, 0.0)
    )
    np.testing.assert_allclose(decayed - plain, -0.5 * trainer().learning_rate(0.0), atol=1e-6)


def test_lines_learn_more_than_the_same_network_without() -> None:
    with_lines, without = (trained(40, trainer(each)) for each in (SMALL, replace(SMALL, lines=False)))
    loss = [float(made.step(BATCHES[0], 0.0)[0][0]) for made in (with_lines, without)]
    assert loss[0] < loss[1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_learns_what_the_cpu_learns_and_does_not_wait() -> None:
    here, there = trained(10, trainer()), trained(10, trainer(device="cuda"))
    ours, _ = here.step(BATCHES[0], 0.0)
    theirs, _ = there.step(there.transfer.send(BATCHES[0]), 0.0)
    torch.testing.assert_close(theirs.cpu(), ours, rtol=0.05, atol=0.02)
    sent = [there.transfer.send(batch(36, seed, pinned=True)) for seed in range(8)]
    there.step_count = 17  # a look at the device is due every sixteenth step
    torch.cuda.set_sync_debug_mode("error")
    try:
        for each in sent:
            there.step(each, 0.0)
    finally:
        torch.cuda.set_sync_debug_mode("default")
