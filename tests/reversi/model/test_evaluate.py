"""Both backends against the unfolded float32 network in eval mode, at every kind of batch size, and their opening."""

import numpy as np
import pytest
import torch

from reversi.errors import ConfigError, IncompatibleModelError, MissingPackageError
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import GAMES, game_named
from reversi.model import evaluate, machine
from reversi.model.backend import padded
from reversi.model.evaluate import open_evaluator
from reversi.model.network import fold
from tests.configs import resnet
from tests.reversi.model.samples import LINES, SMALL, network, positions, weights

TOLERANCE = {"float32": (1e-4, 1e-4), "bf16": (0.1, 0.03)}
"""Largest difference of a logit (they spread over 3 or so) and of a value.  Measured: 0.00001, 0.00001; 0.03, 0.008."""

BOTH = pytest.mark.parametrize("backend", ["openvino", "torch"])
BATCH = 40


def truth(net, game, own, opp, margin_weight=0.0):
    """Return logits and utilities by the network as it is trained, batch norms and all."""
    planes = np.zeros((len(own), PLANES, game.size, game.size), np.float32)
    write_planes(game.id, own, opp, planes)
    with torch.inference_mode():
        out = net(torch.from_numpy(planes))
    chances = out.wdl.softmax(1)
    value = (1 - margin_weight) * (chances[:, 0] - chances[:, 2]) + margin_weight * out.margin
    return out.policy.numpy(), value.numpy()


@BOTH
@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_answers_agree_with_float32_torch_at_every_batch_size(backend, precision, game, config):
    if precision == "bf16" and not machine.cpu_has_bf16():
        pytest.skip("this CPU computes in float32 where bf16 is asked for")
    net = network(game, seed=1, config=config)
    evaluator = open_evaluator(fold(net, game, 5), backend=backend, precision=precision, batch=BATCH)
    assert (evaluator.name, evaluator.precision, evaluator.version) == (backend, precision, 5)
    own, opp = positions(game, 2 * BATCH + 3)
    expected_logits, expected_value = truth(net, game, own, opp)
    assert expected_value.std() > 0.05, "the test's network should have opinions"
    worst = np.zeros(2)
    for count in (2 * BATCH + 3, 0, 1, 2, 3, 17, BATCH - 1, BATCH, BATCH + 1, 1):
        logits, value = evaluator(own[:count], opp[:count])
        assert logits.dtype == value.dtype == np.float32
        assert (logits.shape, value.shape) == ((count, game.actions), (count,))
        assert logits.flags.c_contiguous
        assert value.flags.c_contiguous
        if count:
            errors = abs(logits - expected_logits[:count]).max(), abs(value - expected_value[:count]).max()
            worst = np.maximum(worst, errors)
    assert (worst <= TOLERANCE[precision]).all(), f"logits and value differ by {worst}"


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
@pytest.mark.parametrize("layout", ["boards", "lanes"])
@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_openvino_answers_alike_in_both_layouts(layout, game, config):
    from reversi.model.openvino_backend import OpenVinoBackend

    net = network(game, seed=2, config=config)
    settings = {"precision": "float32", "layout": layout, "batch": BATCH, "threads": 1, "slots": 2}
    backend = OpenVinoBackend(fold(net, game, 1), **settings)
    own, opp = positions(game, BATCH)
    expected_logits, expected_value = truth(net, game, own, opp)
    for count in (BATCH, 1, 7, 33):
        backend.submit(1, own[:count], opp[:count])
        logits, outlook = backend.run(own[-count:], opp[-count:])
        np.testing.assert_allclose(logits, expected_logits[-count:], atol=1e-4)
        np.testing.assert_allclose(outlook[:, 0], expected_value[-count:], atol=1e-4)
        logits, outlook = backend.collect(1)
        np.testing.assert_allclose(logits, expected_logits[:count], atol=1e-4)
        np.testing.assert_allclose(outlook[:, 0], expected_value[:count], atol=1e-4)


@BOTH
@pytest.mark.parametrize("margin_weight", [0.25, 1.0])
def test_the_margin_has_its_share_of_the_utility(backend, margin_weight):
    game = game_named("reversi6")
    net = network(game, seed=3)
    settings = {"precision": "float32", "batch": BATCH, "slots": 1, "margin_weight": margin_weight}
    evaluator = open_evaluator(fold(net, game, 1), backend=backend, **settings)
    own, opp = positions(game, BATCH + 1)
    expected = truth(net, game, own, opp, margin_weight)[1]
    assert abs(expected - truth(net, game, own, opp)[1]).max() > 0.05, "margin and value should differ"
    np.testing.assert_allclose(evaluator(own, opp)[1], expected, atol=1e-4)
    evaluator.submit(0, own[:7], opp[:7])
    np.testing.assert_allclose(evaluator.collect(0)[1], expected[:7], atol=1e-4)


@BOTH
def test_a_position_is_judged_alike_alone_and_in_company(backend):
    game = game_named("reversi6")
    own, opp = positions(game, 48)
    evaluator = open_evaluator(weights(game), backend=backend, precision="float32", batch=64)
    logits, value = (array.copy() for array in evaluator(own, opp))
    for index in (0, 20, 47):
        alone_logits, alone_value = evaluator(own[index : index + 1], opp[index : index + 1])
        np.testing.assert_allclose(alone_logits[0], logits[index], atol=1e-5)
        np.testing.assert_allclose(alone_value[0], value[index], atol=1e-5)


@BOTH
def test_loading_a_version_answers_as_opening_it_would(backend):
    game = game_named("reversi6")
    own, opp = positions(game, 33)
    old, new = weights(game, 1, seed=1), weights(game, 2, seed=2)
    evaluator = open_evaluator(old, backend=backend, precision="float32", batch=64)
    before = evaluator(own, opp)[1].copy()
    evaluator.load(new)
    expected = open_evaluator(new, backend=backend, precision="float32", batch=64)(own, opp)[1]
    assert evaluator.version == 2
    np.testing.assert_allclose(evaluator(own, opp)[1], expected, atol=1e-6)
    assert abs(expected - before).max() > 0.05


def test_loading_another_game_or_network_is_refused_and_the_old_one_stays():
    evaluator = open_evaluator(weights("reversi6", 1), batch=4)
    with pytest.raises(IncompatibleModelError, match="reversi6, got version 2 for reversi8"):
        evaluator.load(weights("reversi8", 2))
    with pytest.raises(IncompatibleModelError, match="2 blocks x 16 channels, got 1 blocks x 8"):
        evaluator.load(weights("reversi6", 3, config=resnet(blocks=1, channels=8)))
    assert evaluator.version == 1


def test_padded_sizes_are_few_and_never_wasteful():
    for batch in (1, 5, 32, 64, 100, 256, 2048):
        sizes = {padded(count, batch) for count in range(1, batch + 1)}
        assert len(sizes) <= 22
        assert max(sizes) == padded(batch, batch) == batch
        for count in range(1, batch + 1):
            assert count <= padded(count, batch) <= max(2 * count, count + 16, count + batch / 16)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"backend": "onnx"}, "backend must be one of auto, openvino, torch, got 'onnx'"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, got 'tpu'"),
        ({"precision": "int8"}, "precision must be one of auto, bf16, float32, got 'int8'"),
        ({"batch": 0}, "batch must be 1 or more, got 0"),
        ({"threads": 0}, "threads must be 1 or more, got 0"),
        ({"slots": 0}, "slots must be 1 or more, got 0"),
        ({"device": "cuda", "backend": "openvino"}, "backend must be torch"),
    ],
)
def test_a_wrong_choice_is_a_config_error(wrong, message):
    with pytest.raises(ConfigError, match=message):
        open_evaluator(weights("reversi4"), **{"batch": 4} | wrong)


@pytest.mark.parametrize("backend", ["openvino", "auto"])
def test_a_missing_openvino_is_an_error_or_a_line(backend, monkeypatch, caplog):
    monkeypatch.setattr(machine, "installed", lambda package: package != "openvino")
    if backend == "openvino":
        with pytest.raises(MissingPackageError, match=r"openvino.*pip install 'reversi-zero\[towers\]'"):
            open_evaluator(weights("reversi4"), backend=backend, batch=4)
    else:
        own, opp = positions(game_named("reversi4"), 4)
        evaluator = open_evaluator(weights("reversi4"), backend=backend, precision="float32", batch=4)
        assert evaluator.name == "torch"
        assert caplog.messages == ["openvino is not installed: the network runs in torch, several times slower"]
        monkeypatch.undo()
        other = open_evaluator(weights("reversi4"), precision="float32", batch=4)
        assert other.name == "openvino"
        np.testing.assert_allclose(evaluator(own, opp)[1], other(own, opp)[1], atol=1e-5)


def test_without_any_backend_there_is_one_line(monkeypatch):
    monkeypatch.setattr(machine, "installed", lambda package: False)
    with pytest.raises(MissingPackageError, match=r"openvino.*pip install 'reversi-zero\[towers\]'"):
        open_evaluator(weights("reversi4"), batch=4)
    with pytest.raises(MissingPackageError, match=r"torch.*pip install 'reversi-zero\[train\]'"):
        open_evaluator(weights("reversi4"), backend="torch", batch=4)


@BOTH
def test_a_cpu_without_bf16_computes_in_float32_and_says_so_if_bf16_was_asked_for(backend, monkeypatch, caplog):
    monkeypatch.setattr(machine, "cpu_has_bf16", lambda: False)
    monkeypatch.setattr(evaluate, "faster", None)  # nothing to measure
    game = game_named("reversi6")
    own, opp = positions(game, 8)
    assert open_evaluator(weights(game), backend=backend, batch=8).precision == "float32"
    assert not caplog.messages
    evaluator = open_evaluator(weights(game), backend=backend, precision="bf16", batch=8)
    assert evaluator.precision == "float32"
    assert caplog.messages == ["this CPU has no bf16 arithmetic: the network runs in float32"]
    truth = open_evaluator(weights(game), backend=backend, precision="float32", batch=8)(own, opp)
    np.testing.assert_array_equal(evaluator(own, opp)[1], truth[1])


def test_torch_keeps_the_thread_count_of_the_learner_beside_it():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        evaluator = open_evaluator(weights("reversi4"), backend="torch", batch=4, threads=1)
        evaluator(*positions(game_named("reversi4"), 4))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
