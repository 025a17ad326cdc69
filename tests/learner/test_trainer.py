"""The trainer: exact resume, schedule, averages with fitting statistics, and an end when training diverges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from learner.algorithms.alphazero import LOSS_NAMES
from learner.trainer import Trainer
from reversi.errors import ConfigError, CorruptFileError, TrainingDivergedError
from reversi.model.config import NetworkConfig
from tests.learner.jobs import ALGORITHM, CONFIG, GAME, batch, trainer

BATCHES = [batch(32, seed) for seed in range(4)]


def trained(steps: int, made: Trainer | None = None, first: int = 0) -> Trainer:
    made = made or trainer()
    for step in range(first, first + steps):
        made.step(BATCHES[step % len(BATCHES)], step / 40)
    return made


def equal(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> bool:
    """Whether two states are the same bit for bit."""
    return left.keys() == right.keys() and all(left[name].tobytes() == right[name].tobytes() for name in left)


@pytest.mark.parametrize("before", [0, 11])
def test_a_restored_trainer_goes_on_bit_for_bit(before: int) -> None:
    made = trained(before)
    kept = {name: array.copy() for name, array in made.arrays().items()}
    uninterrupted = trained(9, made, before).arrays()
    resumed = Trainer(GAME, made._network.config, CONFIG, ALGORITHM, 8)  # another seed: nothing of it may remain
    resumed.restore(kept, before)
    assert equal(trained(9, resumed, before).arrays(), uninterrupted)
    parts = {name.split(".")[0] for name in uninterrupted}
    assert parts == {"network", "average", "optimiser"}


def test_the_same_seed_gives_the_same_weights() -> None:
    assert equal(trained(5).arrays(), trained(5).arrays())


def test_a_state_of_another_network_is_refused() -> None:
    other = Trainer(GAME, NetworkConfig(blocks=1, channels=16), CONFIG, ALGORITHM, 7)
    with pytest.raises(CorruptFileError, match="another shape"):
        trainer().restore(other.arrays(), 0)


def test_the_learning_rate_warms_up_and_follows_a_cosine_down_to_its_floor() -> None:
    made = trainer(warmup_steps=4, learning_rate=0.01, final_learning_rate=0.1)
    made.step_count = 1
    assert made.learning_rate(0.0) == pytest.approx(0.004)
    made.step_count = 100
    rates = [made.learning_rate(fraction) for fraction in (0.0, 0.5, 1.0, 2.0)]
    assert rates == pytest.approx([0.01, 0.0055, 0.001, 0.001])


def test_averages_follow_weights_and_running_statistics() -> None:
    """A twin average, step by step, with the same decay for every tensor."""
    made = trainer(ema_decay=0.5)
    names = [name for name, array in made.arrays().items() if name.startswith("network.") and array.dtype == np.float32]
    twin = {name: made.arrays()[name].copy() for name in names}
    for step in range(1, 9):
        made.step(BATCHES[step % 4], 0.0)
        decay = min(0.5, (1 + step) / (10 + step))
        twin = {name: decay * twin[name] + (1 - decay) * made.arrays()[name] for name in names}
    arrays = made.arrays()
    assert any("running_var" in name for name in names)
    for name in names:
        average = arrays[name.replace("network.", "average.")]
        np.testing.assert_allclose(average, twin[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_published_weights_are_the_folded_averages() -> None:
    made = trained(6)
    weights = made.averaged(12)
    arrays = made.arrays()
    scale = arrays["average.stem.norm.weight"] / np.sqrt(arrays["average.stem.norm.running_var"] + 1e-4)
    expected = arrays["average.stem.convolution.weight"] * scale[:, None, None, None]
    np.testing.assert_allclose(weights.arrays["stem.weight"], expected, rtol=1e-5, atol=1e-7)
    assert (weights.version, weights.game) == (12, "reversi4")


def test_norms_and_biases_do_not_decay() -> None:
    groups = trainer(weight_decay=0.25)._optimiser.param_groups
    decays = {id(parameter): group["weight_decay"] for group in groups for parameter in group["params"]}
    network = trainer()._network
    assert len(decays) == len(list(network.parameters()))
    shapes = {(parameter.ndim > 1, group["weight_decay"]) for group in groups for parameter in group["params"]}
    assert shapes == {(True, 0.25), (False, 0.0)}


def test_a_long_gradient_is_cut_to_the_clip() -> None:
    made = trainer(gradient_clip=0.01)
    _, norm = made.step(BATCHES[0], 0.0)
    cut = torch.cat(
        [parameter.grad.flatten() for parameter in made._network.parameters() if parameter.grad is not None]
    )
    assert norm > 0.01
    assert float(cut.norm()) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(("target", "got"), [(float("nan"), "loss nan"), (float("inf"), "loss inf"), (1e3, "loss 49")])
def test_a_diverged_step_names_itself_and_the_last_checkpoint_and_changes_nothing(target: float, got: str) -> None:
    made = trained(3)
    made.last_good = "runs/x/checkpoints/000002"
    before = {name: array.copy() for name, array in made.arrays().items() if "norm.running" not in name}
    bad = replace(BATCHES[0], margin=np.full(32, target, np.float32))
    with pytest.raises(TrainingDivergedError, match=f"step 3.*{got}.*runs/x/checkpoints/000002"):
        made.step(bad, 0.0)
    after = made.arrays()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before if "num_batches" not in name)


def test_the_losses_come_in_the_order_of_their_names() -> None:
    values, norm = trainer().step(BATCHES[0], 0.0)
    assert values.shape == (len(LOSS_NAMES),)
    total = values[1] + values[2] + 0.5 * values[3] + 0.3 * values[4]
    assert float(values[0]) == pytest.approx(float(total), rel=1e-5)
    assert norm > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_device_this_machine_lacks_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"learner\.device must be cpu"):
        trainer(device="cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_learns_what_the_cpu_learns() -> None:
    here, there = trainer(), trainer(device="cuda")
    for step in range(20):
        ours, _ = here.step(BATCHES[step % 4], 0.0)
        theirs, _ = there.step(BATCHES[step % 4], 0.0)
    torch.testing.assert_close(theirs.cpu(), ours, rtol=0.05, atol=0.02)
    assert there.averaged(0).arrays.keys() == here.averaged(0).arrays.keys()
    resumed = trainer(device="cuda")
    resumed.restore(there.arrays(), there.step_count)
    assert equal(resumed.arrays(), there.arrays())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch": 0}, "learner.batch must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learner.learning_rate must be above 0, got 0.0"),
        ({"ema_decay": 1.5}, "learner.ema_decay must be from 0 to 1, got 1.5"),
        ({"candidate_every_steps": 7}, "a multiple of learner.publish_every_steps"),
    ],
)
def test_a_setting_out_of_range_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(CONFIG, **changes)
