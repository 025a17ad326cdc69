"""The trainer: exact resume, schedule, averages with fitting statistics, and an end when training diverges."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from learner.algorithms.reports import AlphaZeroLosses, losses_of
from learner.batches import TrainingBatch
from learner.training.trainer import LARGEST_LOSS, Trainer
from reversi.errors import ConfigError, CorruptFileError, TrainingDivergedError
from tests.configs import resnet
from tests.learner.jobs import ALGORITHM, CONFIG, GAME, NETWORK, batch, trainer

BATCHES = [batch(32, seed) for seed in range(4)]
OPTIMISERS: dict[str, dict[str, Any]] = {
    "adamw": {},
    "adam": {"optimiser": "adam"},
    "sgd": {"optimiser": "sgd"},
    "sgd with momentum": {"optimiser": "sgd", "momentum": 0.9},
    "rmsprop": {"optimiser": "rmsprop"},
    "rmsprop with momentum": {"optimiser": "rmsprop", "momentum": 0.5},
    "muon": {"optimiser": "muon"},
}


def trained(steps: int, made: Trainer | None = None, first: int = 0) -> Trainer:
    made = made or trainer()
    for step in range(first, first + steps):
        made.step(BATCHES[step % len(BATCHES)], step / 40)
    return made


def equal(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> bool:
    """Whether two states are the same bit for bit."""
    return left.keys() == right.keys() and all(left[name].tobytes() == right[name].tobytes() for name in left)


@pytest.mark.parametrize("before", [0, 11])
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_a_restored_trainer_goes_on_bit_for_bit(kind: str, before: int) -> None:
    made = trained(before, trainer(**OPTIMISERS[kind]))
    kept = {name: array.copy() for name, array in made.arrays().items()}
    uninterrupted = trained(9, made, before).arrays()
    resumed = Trainer(GAME, NETWORK, made.config, ALGORITHM, 8)  # another seed: nothing of it may remain
    resumed.restore(kept, before)
    assert equal(trained(9, resumed, before).arrays(), uninterrupted)
    parts = {name.split(".")[0] for name in uninterrupted}
    assert parts == {"network", "average", "optimiser"}


@pytest.mark.parametrize(
    ("before", "after"), tuple(itertools.permutations(("adamw", "adam", "sgd", "rmsprop", "muon"), 2))
)
def test_another_optimiser_begins_anew(before: str, after: str) -> None:
    """As it would on this network untrained: moments of another kind would be steps of any size."""
    kept = trained(11, trainer(**OPTIMISERS[before])).arrays()
    resumed, fresh = trainer(**OPTIMISERS[after]), trainer(**OPTIMISERS[after])
    resumed.restore(kept, 11)
    networks = {name: array for name, array in kept.items() if name.partition(".")[0] in ("network", "average")}
    fresh.restore(fresh.arrays() | networks, 0)
    fresh.step_count = 11
    assert equal(trained(3, resumed, 11).arrays(), trained(3, fresh, 11).arrays())


@pytest.mark.parametrize("weights", [{"value_weight": 100.0}, {"owner_weight": 100.0}])
def test_heavy_losses_are_no_divergence(weights: dict[str, float]) -> None:
    made = Trainer(GAME, NETWORK, CONFIG, replace(ALGORITHM, **weights), 7)
    values, _ = made.step(BATCHES[0], 0.0)
    assert LARGEST_LOSS < float(values[0]) < 100 * LARGEST_LOSS
    made.check()


def test_the_same_seed_gives_the_same_weights() -> None:
    assert equal(trained(5).arrays(), trained(5).arrays())


def test_a_state_of_another_network_is_refused() -> None:
    other = Trainer(GAME, resnet(blocks=1, channels=16), CONFIG, ALGORITHM, 7)
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
    decayed, plain = (trained(1, trainer(weight_decay=decay)).arrays() for decay in (0.5, 0.0))
    for name, _ in trainer()._network.named_parameters():
        same = np.array_equal(decayed[f"network.{name}"], plain[f"network.{name}"])
        assert same == (plain[f"network.{name}"].ndim <= 1), name


TWINS: dict[str, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
    "rmsprop": torch.optim.RMSprop,
}


@pytest.mark.parametrize("kind", [kind for kind in OPTIMISERS if kind != "muon"])
def test_clipping_and_optimiser_are_torchs_parameter_by_parameter(kind: str) -> None:
    """The twin takes the trainer's own gradients, as they were before clipping.  Muon: `test_muon.py`."""
    made = trainer(gradient_clip=0.5, **OPTIMISERS[kind])
    names = [name for name, _ in made._network.named_parameters()]
    twins = [nn.Parameter(torch.from_numpy(made.arrays()[f"network.{name}"].copy())) for name in names]
    matrices, vectors = ([twin for twin in twins if (twin.ndim > 1) == wanted] for wanted in (True, False))
    groups = [{"params": matrices, "weight_decay": CONFIG.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    momentum = {"momentum": made.config.momentum} if made.config.momentum else {}
    optimiser = TWINS[made.config.optimiser](groups, lr=0.0, **momentum)
    for step in range(4):
        made._backward(BATCHES[step])
        for name, twin in zip(names, twins, strict=True):
            twin.grad = made._weights.split(made._gradient)[name].contiguous().clone()
        nn.utils.clip_grad_norm_(twins, 0.5)
        for group in optimiser.param_groups:
            group["lr"] = made.learning_rate(0.0)
        optimiser.step()
        made.step(BATCHES[step], 0.0)
        arrays = made.arrays()
        for name, twin in zip(names, twins, strict=True):
            got = torch.from_numpy(arrays[f"network.{name}"])
            torch.testing.assert_close(got, twin.data, rtol=1e-3, atol=1e-5, msg=name)
            twin.data.copy_(got)


def test_a_long_gradient_is_cut_to_the_clip() -> None:
    made = trainer(gradient_clip=0.01)
    _, norm = made.step(BATCHES[0], 0.0)
    cut = torch.cat(
        [parameter.grad.flatten() for parameter in made._network.parameters() if parameter.grad is not None]
    )
    assert norm > 0.01
    assert float(cut.norm()) == pytest.approx(0.01, rel=1e-3)


BAD = [(float("nan"), "loss nan"), (float("inf"), "loss inf"), (1e3, r"loss (49|50)\d{4}")]


def spoiled(target: float) -> TrainingBatch:
    return replace(BATCHES[0], margin=torch.full((32,), target))


@pytest.mark.parametrize(("target", "got"), BAD)
def test_a_diverged_step_names_itself_and_what_helps_and_changes_nothing(target: float, got: str) -> None:
    made = trained(3)
    before = {name: array.copy() for name, array in made.arrays().items() if "norm.running" not in name}
    with pytest.raises(TrainingDivergedError, match=f"step 3.*{got}.*; lower learner.learning_rate"):
        made.step(spoiled(target), 0.0)
    made._divergence[0] = -1
    after = made.arrays()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before if "num_batches" not in name)


def test_a_diverged_step_beyond_the_whole_numbers_of_float32_is_named_exactly() -> None:
    made = trainer()
    made.step_count = 2**24 + 1
    with pytest.raises(TrainingDivergedError, match="step 16777217:"):
        made.step(spoiled(float("nan")), 0.0)


@pytest.mark.parametrize(("target", "got"), BAD)
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_steps_after_a_diverged_one_are_left_out_until_someone_looks(kind: str, target: float, got: str) -> None:
    """As on a GPU, where the host looks every few steps only."""
    made = trained(3, trainer(**OPTIMISERS[kind]))
    made._check_every = 8
    before = [each.clone() for each in (made._weights.values, *made._optimiser.moments.values())]
    made.step(spoiled(target), 0.0)
    trained(4, made, 4)
    after = (made._weights.values, *made._optimiser.moments.values())
    assert all(now.equal(then) for now, then in zip(after, before, strict=True))
    for refused in (made.arrays, lambda: made.averaged(1), lambda: trained(1, made, 8)):
        with pytest.raises(TrainingDivergedError, match=f"step 3: .*{got}"):
            refused()


def test_a_device_without_memory_for_the_batch_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    made = trainer()

    def full(_: TrainingBatch) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nand so on")

    monkeypatch.setattr(made, "_cpu_losses", full)
    with pytest.raises(ConfigError, match=r"^learner\.batch must fit .* got 32: CUDA out of memory.*2\.00 GiB\.$"):
        made.step(BATCHES[0], 0.0)


def test_any_number_of_threads_learns_the_same() -> None:
    one, three = trained(6), trained(6, trainer(threads=3))
    for name, array in one.arrays().items():
        # AdamW moves a parameter whose gradient is little but rounding by the learning rate, 0.002, in any direction
        np.testing.assert_allclose(three.arrays()[name], array, rtol=2e-2, atol=6 * 0.002, err_msg=name)
    assert equal(trained(6, trainer(threads=3)).arrays(), three.arrays())


def test_a_compiled_step_is_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what torch.compile sees, but without a compiler, which takes a minute."""
    compiled = functools.partial(torch.compile, backend="aot_eager")
    monkeypatch.setattr(torch, "compile", compiled)
    plain, made = trainer(), trainer(compile=True)
    for step in range(6):
        expected, norm = plain.step(BATCHES[step % 4], 0.0)
        got, got_norm = made.step(BATCHES[step % 4], 0.0)
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(got_norm, norm, rtol=2e-2, atol=1e-3)
    assert made._compiled is not None


def test_a_step_that_does_not_compile_is_made_without_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(*_: Any) -> Any:
        raise RuntimeError("no compiler here\nand forty lines more")

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=refuses))
    made = trained(3, trainer(compile=True))
    assert equal(made.arrays(), trained(3).arrays())
    (said,) = (record.getMessage() for record in caplog.records if record.name == "learner.training.trainer")
    assert "learner.compile" in said
    assert "no compiler here" in said
    assert "\n" not in said


def test_the_losses_come_in_the_order_of_their_names() -> None:
    values, norm = trainer().step(BATCHES[0], 0.0)
    got = losses_of("alphazero", values.tolist())
    assert isinstance(got, AlphaZeroLosses)
    total = got.policy + got.value + 0.5 * got.margin + 0.3 * got.owner
    assert got.total == pytest.approx(total, rel=1e-5)
    assert norm > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_device_this_machine_lacks_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"learner\.device must be auto or cpu"):
        trainer(device="cuda")
    assert trainer(device="auto").device == torch.device("cpu")


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
    ours, _ = there.step(BATCHES[0], 0.0)
    theirs, _ = resumed.step(BATCHES[0], 0.0)
    torch.testing.assert_close(theirs, ours, rtol=1e-3, atol=1e-3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_cuda_step_does_not_wait_for_the_device() -> None:
    made = trained(2, trainer(device="cuda", precision="auto"))
    there = [made.transfer.send(batch(32, seed, pinned=True)) for seed in range(8)]
    torch.cuda.set_sync_debug_mode("error")
    try:
        for step in range(2, 10):
            made.step(there[step - 2], 0.0)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert made.step_count == 10


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_leaves_out_what_diverged() -> None:
    made = trained(3, trainer(device="cuda"))
    before = made._weights.values.clone()
    made.step(spoiled(float("nan")), 0.0)
    trained(4, made, 4)
    assert made._weights.values.equal(before)
    with pytest.raises(TrainingDivergedError, match=r"step 3: .*loss nan"):
        made.check()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch": 0}, "learner.batch must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learner.learning_rate must be above 0, got 0.0"),
        ({"ema_decay": 1.5}, "learner.ema_decay must be from 0 to 1, got 1.5"),
        ({"candidate_every_steps": 7}, "a multiple of learner.publish_every_steps"),
        ({"momentum": 0.9}, "learner.momentum must be 0 for learner.optimiser=adamw, got 0.9"),
        ({"optimiser": "sgd", "momentum": 1.0}, "learner.momentum must be from 0 to below 1, got 1.0"),
        ({"prefetch": -1}, "learner.prefetch must be at least 0, got -1"),
    ],
)
def test_a_setting_out_of_range_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(CONFIG, **changes)


def begun() -> Trainer:
    """A trainer that begins with the weights of another one after 40 steps."""
    made = trainer(learning_rate=0.001)
    made.begin_from(trained(40).averaged(7))
    return made


def test_a_trainer_begins_with_the_weights_of_a_model_and_nothing_else_of_it() -> None:
    before, after = trained(40).averaged(7), begun()
    assert after.step_count == 0
    for name, array in after.averaged(7).arrays.items():
        np.testing.assert_allclose(array, before.arrays[name], rtol=1e-6, atol=1e-7, err_msg=name)
    fresh = trainer(learning_rate=0.001).arrays()
    moments = {name: array for name, array in after.arrays().items() if name.startswith("optimiser")}
    assert equal(moments, {name: fresh[name] for name in moments})
    owner = {name: array for name, array in after.arrays().items() if name.startswith("network.owner")}
    assert owner
    assert equal(owner, {name: fresh[name] for name in owner})


def test_the_first_step_from_a_model_has_the_losses_of_that_model() -> None:
    """Not those of a network whose norms divide by spreads that the weights do not know."""
    model = trained(40)
    with torch.no_grad():
        outputs = model.outputs(model.average_copy(), BATCHES[0])
        expected = model.objective.losses(outputs, BATCHES[0])
    values, _ = begun().step(BATCHES[0], 0.5)
    np.testing.assert_allclose(values[1:4], expected[1:4], rtol=1e-3)
    uncalibrated = begun()
    uncalibrated._calibrated = True
    other, _ = uncalibrated.step(BATCHES[0], 0.5)
    assert (other[1:4] - expected[1:4]).abs().max() > 0.01, "the calibration is what keeps them"


@pytest.mark.parametrize("before", [0, 5])
def test_a_restored_trainer_that_began_with_a_model_goes_on_bit_for_bit(before: int) -> None:
    made = trained(before, begun())
    kept = {name: array.copy() for name, array in made.arrays().items()}
    resumed = Trainer(GAME, NETWORK, made.config, ALGORITHM, 8)
    resumed.restore(kept, before)
    assert equal(trained(9, resumed, before).arrays(), trained(9, made, before).arrays())
