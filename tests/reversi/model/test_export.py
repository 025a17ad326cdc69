"""Exported files, run by onnxruntime, against the networks they were made from: every kind, every game."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from reversi.errors import IncompatibleModelError
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import GAMES, game_named
from reversi.model import export, machine
from reversi.model.config import ResNetConfig, TableConfig, network_from_json
from reversi.model.export import input_port, output_ports, to_onnx
from reversi.model.lookup import load_model
from reversi.model.network import fold
from reversi.model.registry import Registry
from reversi.model.table import table_index
from tests.configs import resnet
from tests.reversi.model.samples import LINES, SMALL, STACKS, network, positions, stack, weights

TOLERANCE = 1e-5
"""Largest difference of an output in float32; measured: 0.000002 of a logit, which spread over 3 or so."""

EVERY_GAME = pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
NETWORKS = {"dual": SMALL, "lines": LINES, **STACKS}
EVERY_NETWORK = pytest.mark.parametrize("config", NETWORKS.values(), ids=NETWORKS)
TICTACTOE = game_named("tictactoe")


def planes_of(game, own, opp):
    planes = np.zeros((len(own), PLANES, game.size, game.size), np.float32)
    write_planes(game.id, own, opp, planes)
    return planes


def built(game, config):
    """Return a network as it is in training, in eval mode."""
    return network(game, 1, config) if isinstance(config, ResNetConfig) else stack(game, config, 1)


def truth(made, planes):
    """Return the outputs by float32 torch of the network as it is trained, batch norms and all."""
    with torch.inference_mode():
        out = made(torch.from_numpy(planes))
    if made.config.head != "dual":
        return {made.config.head: out.numpy()}
    return {"policy": out.policy.numpy(), "wdl": out.wdl.softmax(1).numpy(), "margin": out.margin.numpy()}


def opened(data):
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def answers(session, planes):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"planes": planes}), strict=True))


@EVERY_NETWORK
@EVERY_GAME
def test_outputs_are_those_of_float32_torch_at_every_batch_size(game, config):
    made = built(game, config)
    planes = planes_of(game, *positions(game, 300))
    expected = truth(made, planes)
    for values in expected.values():
        assert values.std(0).mean() > 100 * TOLERANCE, "the test's network should have opinions"
    session = opened(to_onnx(fold(made, game, 5)))
    for count in (300, 1, 0, 7, 64):
        found = answers(session, planes[:count])
        assert list(found) == list(expected)
        for name, values in expected.items():
            assert found[name].dtype == np.float32
            np.testing.assert_allclose(found[name], values[:count], rtol=0, atol=TOLERANCE)


def test_a_table_answers_with_the_row_of_the_position():
    table = weights(TICTACTOE, config=TableConfig())
    own, opp = positions(TICTACTOE, 300)
    rows = [table_index(*pair) for pair in zip(own, opp, strict=True)]
    assert len(set(rows)) > 100
    for count in (300, 1, 0):
        found = answers(opened(to_onnx(table)), planes_of(TICTACTOE, own, opp)[:count])
        assert list(found) == ["q"]
        np.testing.assert_array_equal(found["q"], np.pad(table.arrays["q"][rows[:count]], ((0, 0), (0, 1))))


@pytest.mark.parametrize("game", [game for game in GAMES.values() if game.size > 3], ids=lambda game: game.name)
def test_rows_of_lines_stay_exact_where_floats_are_rounded_to_bf16(game, tmp_path):
    """OpenVINO rounds by default on CPUs with bf16; with rows computed in floats, a logit of 8x8 differed by 3.3."""
    if not machine.cpu_has_bf16():
        pytest.skip("this CPU has no bf16")
    from reversi.model.openvino_backend import _core

    made = built(game, LINES)
    (tmp_path / "model.onnx").write_bytes(to_onnx(fold(made, game, 1)))
    compiled = _core().compile_model(tmp_path / "model.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "bf16"})
    planes = planes_of(game, *positions(game, 200))
    for name, values in truth(made, planes).items():
        differences = abs(compiled(planes)[name] - values)
        assert 1e-4 < differences.max() < 0.15, "bf16, but no more than bf16"


@EVERY_NETWORK
@EVERY_GAME
def test_the_file_is_valid_and_its_shapes_are_those_described(game, config):
    model = onnx.load_from_string(to_onnx(weights(game, config=config)))
    onnx.checker.check_model(model, full_check=True)
    assert (model.ir_version, [each.version for each in model.opset_import]) == (7, [13])
    assert {node.domain for node in model.graph.node} == {""}
    for ports, infos in (
        ([input_port(game)], model.graph.input),
        (output_ports(config.head, game), model.graph.output),
    ):
        assert [port.name for port in ports] == [info.name for info in infos]
        for port, info in zip(ports, infos, strict=True):
            sizes = info.type.tensor_type.shape.dim
            assert tuple(size.dim_param or size.dim_value for size in sizes) == port.shape
            assert port.shape[0] == "batch"
            assert info.doc_string == port.meaning


def test_the_file_has_nothing_that_is_not_used():
    for config in NETWORKS.values():
        graph = onnx.load_from_string(to_onnx(weights("reversi6", config=config))).graph
        used = {name for node in graph.node for name in node.input} | {output.name for output in graph.output}
        made = {each.name for each in graph.initializer} | {name for node in graph.node for name in node.output}
        assert made <= used


@pytest.mark.parametrize("config", [SMALL, LINES, STACKS["2x2, dense"], STACKS["no padding"]], ids=str)
def test_the_file_says_what_it_is(config, tmp_path):
    registry = Registry(str(tmp_path), create=True)
    info = registry.publish(weights("reversi6", 12, config=config), "promoted", None)
    meta = opened(to_onnx(load_model("gated", str(tmp_path)))).get_modelmeta()
    about = meta.custom_metadata_map
    assert (meta.version, meta.producer_name, meta.graph_name) == (12, "reversi-zero", "reversi6")
    assert (about["game"], about["board_size"], about["version"]) == ("reversi6", "6", "12")
    assert (about["rules_version"], about["planes_version"]) == ("1", "1")
    assert about["weights_sha256"] == info.sha256
    assert network_from_json(json.loads(about["network"]), "here") == config
    assert about["planes"].startswith("1 or 0: discs of the side to move; discs of the opponent; legal moves")
    for port in output_ports(config.head, game_named("reversi6")):
        assert about[port.name] == port.meaning


def test_equal_weights_give_equal_bytes_and_others_others():
    one, same, other = (to_onnx(weights("reversi4", 1, seed=seed, config=LINES)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_weights_beyond_the_limit_of_protobuf_are_refused(monkeypatch):
    small = weights("reversi4")
    size = sum(array.nbytes for array in small.arrays.values())
    monkeypatch.setattr(export, "MAX_BYTES", size)
    assert len(to_onnx(small)) > size
    monkeypatch.setattr(export, "MAX_BYTES", size - 1)
    with pytest.raises(IncompatibleModelError, match=f"at most {size - 1} bytes for an ONNX file, got {size}"):
        to_onnx(small)


def test_what_is_not_weights_fits_in_the_room_left_for_it():
    """The largest graph: most blocks, and the lines' indices."""
    large = resnet(blocks=64, channels=1, lines=True)
    wide = weights("reversi8", config=large)
    room = (2 << 30) - export.MAX_BYTES
    assert len(to_onnx(wide)) - sum(array.nbytes for array in wide.arrays.values()) < room / 4
