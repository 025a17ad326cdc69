"""The GPU's backend: its own parts on a CPU that stands in for one, and all of it where there is a GPU."""

from __future__ import annotations

import contextlib
import logging

import numpy as np
import pytest
import torch

from reversi.errors import ConfigError
from reversi.games.rules import game_named
from reversi.model import cuda_backend, machine
from reversi.model.action_values import Q_TEMPERATURE
from reversi.model.cuda_backend import CudaBackend, NoDeviceMemoryError
from reversi.model.evaluate import open_evaluator
from reversi.model.network import fold
from tests.reversi.model.samples import LINES, STACKS, network, positions, weights

GAME = game_named("reversi8")
OLD, NEW = weights(GAME, 1, seed=1), weights(GAME, 2, seed=2)
OTHERS = STACKS | {"lines": LINES}
NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


class Queue:
    """A stream or an event of a device that has always finished."""

    def __init__(self, **_: object) -> None:
        pass

    def wait_stream(self, other: object) -> None:
        pass

    def record(self, stream: object) -> None:
        pass

    def synchronize(self) -> None:
        pass


@pytest.fixture
def pretended_gpu(monkeypatch):
    """Let the CPU stand in for a GPU of 512 positions' memory; a captured step is the step itself."""
    monkeypatch.setattr(machine, "has_nvidia_gpu", lambda: True)
    for name, value in {
        "is_available": lambda: True,
        "get_device_capability": lambda: (9, 0),
        "Stream": Queue,
        "Event": Queue,
        "stream": contextlib.nullcontext,
        "current_stream": Queue,
        "graph_pool_handle": lambda: None,
        "empty_cache": lambda: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: None)
    monkeypatch.setattr(cuda_backend, "_DEVICE", torch.device("cpu"))
    monkeypatch.setattr(cuda_backend, "_pinned", lambda shape, kind: torch.zeros(shape, dtype=kind))
    captured: list[int] = []

    def capture(step, stream, pool):
        size = step.__closure__[1].cell_contents
        if size > 512:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.\nGPU 0 has a capacity of 8 GiB")
        captured.append(size)
        return step

    monkeypatch.setattr(cuda_backend, "_captured", capture)
    return captured


def same(answers, truth, part=slice(None)):
    return all(np.allclose(answer, right[part], atol=1e-5) for answer, right in zip(answers, truth, strict=True))


def test_slots_sizes_and_versions_as_on_the_cpu(pretended_gpu):
    own, opp = positions(GAME, 300)
    old, new = (open_evaluator(version, batch=300)(own, opp)[1].copy() for version in (OLD, NEW))
    evaluator = open_evaluator(OLD, device="cuda", precision="float32", batch=256, slots=2)
    assert (evaluator.name, evaluator.device, evaluator.precision) == ("torch", "cuda", "float32")
    truth = [a.copy() for a in open_evaluator(OLD, backend="torch", precision="float32", batch=300)(own, opp)]
    assert np.abs(old - new).max() > 0.05
    for count in (256, 1, 32, 33, 200):
        first, second = slice(0, count), slice(300 - count, 300)
        evaluator.submit(0, own[first], opp[first])
        evaluator.submit(1, own[second], opp[second])
        assert same(evaluator.collect(0), truth, first)
        assert same(evaluator.collect(1), truth, second)
    assert same(evaluator(own, opp), truth)
    assert sorted(pretended_gpu) == [32, 64, 256], "one graph per padded size"
    evaluator.load(NEW)
    truth = open_evaluator(NEW, backend="torch", precision="float32", batch=300)(own, opp)
    assert evaluator.version == 2
    assert same(evaluator(own, opp), truth)
    assert sorted(pretended_gpu) == [32, 64, 256], "a version needs no new graphs"


def test_a_batch_beyond_the_memory_is_judged_in_parts_with_the_same_answers(pretended_gpu, caplog):
    own, opp = positions(GAME, 1500)
    evaluator = open_evaluator(OLD, device="auto", precision="float32", batch=1500)
    assert (evaluator.device, evaluator.batch) == ("cuda", 1500)
    assert caplog.messages == ["GPU memory is short: batches of 1500 positions run 375 at a time"]
    truth = open_evaluator(OLD, backend="torch", precision="float32", batch=1500)(own, opp)
    assert same(evaluator(own, opp), truth)
    assert same(evaluator(own[:400], opp[:400]), truth, slice(400))
    assert pretended_gpu == [375, 32]


def test_a_batch_beyond_the_memory_is_a_config_error_if_the_gpu_was_insisted_on(pretended_gpu):
    message = r"cannot be used: it has no memory for 1500 positions at a time; lower actors.games \(CUDA out"
    with pytest.raises(ConfigError, match=message) as caught:
        open_evaluator(OLD, device="cuda", batch=1500)
    assert "\n" not in str(caught.value)


def test_without_memory_for_any_batch_the_cpu_judges(pretended_gpu, caplog, monkeypatch):
    def nothing_fits(*_):
        raise RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED")

    monkeypatch.setattr(cuda_backend, "_captured", nothing_fits)
    evaluator = open_evaluator(OLD, device="auto", precision="float32", batch=1024)
    assert (evaluator.device, evaluator.name) == ("cpu", "openvino")
    (message,) = caplog.messages
    assert message.startswith("the network runs on the CPU, the GPU cannot be used: it has no memory for 256 positions")


def test_errors_that_are_not_about_memory_are_not_hidden(pretended_gpu, monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(cuda_backend, "_captured", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        open_evaluator(OLD, device="auto", batch=8)


def test_bf16_is_chosen_where_the_gpu_has_it(pretended_gpu, monkeypatch, caplog):
    assert open_evaluator(OLD, device="auto", batch=8).precision == "bf16"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 5))
    assert open_evaluator(OLD, device="auto", batch=8).precision == "float32"
    assert not caplog.messages
    evaluator = open_evaluator(OLD, device="cuda", precision="bf16", batch=8)
    assert evaluator.precision == "bf16"
    assert caplog.messages == ["this GPU has no bf16 arithmetic: precision bf16 may be slower than float32"]
    own, opp = positions(GAME, 8)
    truth = open_evaluator(OLD, precision="float32", batch=8)(own, opp)[1]
    assert np.abs(evaluator(own, opp)[1] - truth).max() < 0.03


@pytest.mark.parametrize("config", OTHERS.values(), ids=OTHERS)
def test_other_networks_keep_slots_and_versions_apart_too(pretended_gpu, config):
    own, opp = positions(GAME, 300)
    versions = [weights(GAME, version, seed=version, config=config) for version in (1, 2)]
    first, second = (
        [a.copy() for a in open_evaluator(version, backend="torch", precision="float32", batch=300)(own, opp)]
        for version in versions
    )
    assert np.abs(first[0] - second[0]).max() > 0.5
    evaluator = open_evaluator(versions[0], device="cuda", precision="float32", batch=256, slots=2)
    assert evaluator.device == "cuda"
    evaluator.submit(0, own[:256], opp[:256])
    evaluator.submit(1, own[256:], opp[256:])
    assert same(evaluator.collect(0), first, slice(256))
    assert same(evaluator.collect(1), first, slice(256, None))
    evaluator.load(versions[1])
    assert same(evaluator(own, opp), second)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_driver_without_a_usable_gpu_is_said_in_one_line(monkeypatch, caplog):
    monkeypatch.setattr(machine, "has_nvidia_gpu", lambda: True)
    assert open_evaluator(OLD, device="auto", batch=4).device == "cpu"
    assert caplog.record_tuples == [
        (
            "reversi.model.evaluate",
            logging.WARNING,
            "the network runs on the CPU, the GPU cannot be used: torch finds no CUDA GPU",
        )
    ]
    with pytest.raises(ConfigError, match="device cuda cannot be used: torch finds no CUDA GPU"):
        open_evaluator(OLD, device="cuda", batch=4)
    monkeypatch.setattr(machine, "installed", lambda package: package != "torch")
    with pytest.raises(ConfigError, match="device cuda cannot be used: expected the package torch"):
        open_evaluator(OLD, device="cuda", batch=4)


def test_a_failed_opening_names_memory_only_when_it_is_memory():
    for text in ("CUDA out of memory. Tried", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED when calling"):
        with pytest.raises(NoDeviceMemoryError, match=text), cuda_backend._out_of_memory_named():
            raise RuntimeError(text + "\nsecond line")
    with pytest.raises(RuntimeError, match="other"), cuda_backend._out_of_memory_named():
        raise RuntimeError("other")


@NEEDS_GPU
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_gpu_answers_as_the_cpu_at_every_size(precision):
    net, (own, opp) = network(GAME, seed=1), positions(GAME, 300)
    truth = open_evaluator(fold(net, GAME, 0), backend="torch", precision="float32", batch=300)(own, opp)
    # float32 convolutions on a GPU are TF32 by default, with as many digits as bf16 has and three more
    evaluator = open_evaluator(fold(net, GAME, 0), device="cuda", precision=precision, batch=128, slots=2)
    for count in (300, 128, 1, 32, 33, 100):
        for answer, right, tolerance in zip(evaluator(own[:count], opp[:count]), truth, (0.1, 0.03), strict=True):
            np.testing.assert_allclose(answer, right[:count], atol=tolerance)


@NEEDS_GPU
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("config", OTHERS.values(), ids=OTHERS)
def test_a_gpu_answers_for_other_networks_as_the_cpu(config, precision):
    own, opp = positions(GAME, 300)
    old, new = (weights(GAME, version, seed=version, config=config) for version in (1, 2))
    evaluator = open_evaluator(old, device="cuda", precision=precision, batch=128, slots=2)
    for version in (old, new):
        evaluator.load(version)
        logits, value = (
            a.copy() for a in open_evaluator(version, backend="torch", precision="float32", batch=300)(own, opp)
        )
        scale = Q_TEMPERATURE if config.head == "q" else 1
        for count in (300, 128, 1, 33):
            answers = evaluator(own[:count], opp[:count])
            np.testing.assert_allclose(answers[0] * scale, logits[:count] * scale, atol=0.1)
            np.testing.assert_allclose(answers[1], value[:count], atol=0.1)


@NEEDS_GPU
def test_a_gpu_keeps_versions_and_slots_apart():
    own, opp = positions(GAME, 256)
    old, new = (
        open_evaluator(version, backend="torch", precision="float32", batch=256)(own, opp)[1].copy()
        for version in (OLD, NEW)
    )
    assert np.abs(old - new).max() > 0.2, "bf16 alone must not explain a difference"
    evaluator = open_evaluator(OLD, device="cuda", batch=256, slots=2)
    for _ in range(20):
        for version, other, truth in ((OLD, NEW, old), (NEW, OLD, new)):
            evaluator.load(version)
            evaluator.submit(0, own, opp)
            prepared = evaluator.prepare(other)
            evaluator.submit(1, own, opp)
            evaluator.take(prepared)
            for slot in (0, 1):
                np.testing.assert_allclose(evaluator.collect(slot)[1], truth, atol=0.05)


@NEEDS_GPU
def test_memory_of_a_gpu_that_is_full_is_named():
    with pytest.raises(NoDeviceMemoryError):
        CudaBackend(OLD, precision="float32", batch=2**28, slots=1, run_positions=2**28)
    assert open_evaluator(OLD, device="auto", batch=256).device == "cuda"
