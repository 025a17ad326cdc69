"""A pattern network as a model: its file, its evaluator, its ONNX file, its place in the registry."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from reversi.errors import ConfigError, CorruptFileError, IncompatibleModelError
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import GAMES, game_named, legal_moves
from reversi.model.card import card
from reversi.model.config import PatternConfig, network_from_json, network_to_json
from reversi.model.evaluate import open_evaluator
from reversi.model.export import output_ports, to_onnx
from reversi.model.registry import Registry
from reversi.model.weights import Weights, array_dtype, array_shapes
from reversi.patterns.evaluate import expected_result, judge_positions, margins_of
from reversi.patterns.tables import DISC, NO_TABLES, has_tables, phase_of
from scripts.config.compose import compose
from tests.reversi.model.samples import PATTERNS, SMALL, positions, weights

GAME = game_named("reversi4")


def test_the_file_keeps_every_number_and_its_type():
    before = weights(GAME, 7, config=PATTERNS)
    after = Weights.from_bytes(before.to_bytes(), "here")
    assert (after.version, after.network) == (7, PATTERNS)
    assert {name: array.dtype for name, array in after.arrays.items()} == {
        "tables": np.int16,
        "bias": np.int16,
        "width": np.float32,
        "temperature": np.float32,
    }
    for name, array in before.arrays.items():
        assert (after.arrays[name] == array).all()
        assert array_dtype(PATTERNS, name) == array.dtype
    assert network_from_json(network_to_json(PATTERNS), "here") == PATTERNS


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("tables", np.float32, "expected tables as finite int16 numbers"),
        ("width", np.float64, "expected width as finite float32 numbers"),
    ],
)
def test_another_type_is_refused(name, array, message):
    arrays = weights(GAME, config=PATTERNS).arrays
    data = Weights(GAME.name, PATTERNS, 0, arrays | {name: arrays[name].astype(array)}).to_bytes()
    with pytest.raises(CorruptFileError, match=message):
        Weights.from_bytes(data, "here")


def test_a_width_of_0_is_refused():
    arrays = weights(GAME, config=PATTERNS).arrays
    data = Weights(GAME.name, PATTERNS, 0, arrays | {"width": 0 * arrays["width"]}).to_bytes()
    with pytest.raises(CorruptFileError, match="expected every width above 0"):
        Weights.from_bytes(data, "here")


def test_patterns_of_another_board_are_refused():
    with pytest.raises(IncompatibleModelError, match="must cover every square of 8x8"):
        Weights.from_bytes(Weights("reversi8", replace(PATTERNS, patterns=("a1 b1",)), 0, {}).to_bytes(), "here")
    with pytest.raises(ConfigError, match="wants a board of Reversi, got 3x3"):
        array_shapes(PATTERNS, 3)


@pytest.mark.parametrize(
    ("game", "phases", "count"), [("reversi8", 15, 173_412), ("reversi6", 8, 0), ("reversi4", 3, 0)]
)
def test_the_configured_patterns_fit_their_board(game, phases, count):
    values = compose(["network=patterns", f"game={game}"])["network"]
    shape = array_shapes(network_from_json(values, "conf"), game_named(game).size)["tables"]
    assert shape[0] == phases
    assert count in (0, shape[1])


def test_evaluations_are_those_of_the_kernel_and_of_newer_weights_after_a_swap():
    own, opp = positions(GAME, 50)
    one, two = (weights(GAME, version, seed=version, config=PATTERNS) for version in (1, 2))
    evaluator = open_evaluator(one, batch=16, margin_weight=0.25)
    assert (evaluator.name, evaluator.device, evaluator.version) == ("patterns", "cpu", 1)
    for model in (one, two):
        evaluator.load(model)
        logits, utility = evaluator(own, opp)
        expected, outlook = np.zeros((50, GAME.actions), np.float32), np.zeros((50, 2), np.float32)
        judge_positions(evaluator.tables, GAME.id, own, opp, expected, outlook)
        assert (logits == expected).all()
        assert utility == pytest.approx(0.75 * outlook[:, 0] + 0.25 * outlook[:, 1], abs=1e-6)


def test_other_networks_have_no_tables():
    assert open_evaluator(weights(GAME, config=SMALL), batch=1).tables is NO_TABLES
    assert not has_tables(NO_TABLES)
    assert has_tables(open_evaluator(weights(GAME, config=PATTERNS)).tables)


def test_it_runs_on_cpus_alone():
    assert open_evaluator(weights(GAME, config=PATTERNS), device="auto").device == "cpu"
    with pytest.raises(ConfigError, match=r"device must be cpu \(or auto\) for patterns, got 'cuda'"):
        open_evaluator(weights(GAME, config=PATTERNS), device="cuda")


def test_the_onnx_file_answers_as_the_tables_do():
    model = weights(GAME, 3, config=PATTERNS)
    own, opp = positions(GAME, 200)
    can_move = np.array([legal_moves(GAME.id, *each) != 0 for each in zip(own, opp, strict=True)])
    own, opp = own[can_move], opp[can_move]
    planes = np.zeros((len(own), PLANES, 4, 4), np.float32)
    write_planes(GAME.id, own, opp, planes)
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    names = [port.name for port in output_ports("margin", GAME)]
    assert [output.name for output in session.get_outputs()] == names == ["wdl", "margin"]
    tables, found = open_evaluator(model).tables, np.zeros(len(own), np.int64)
    margins_of(tables, own, opp, found)
    for count in (len(own), 1, 0):
        wdl, margin = session.run(names, {"planes": planes[:count]})
        share = np.clip(found[:count] / DISC / GAME.squares, -1, 1)
        np.testing.assert_allclose(margin, share.astype(np.float32), rtol=0, atol=1e-6)
        widths = [tables.width[phase_of(6, len(tables.width), *each)] for each in zip(own[:count], opp, strict=False)]
        result = [expected_result(np.float32(m / DISC), w) for m, w in zip(found[:count], widths, strict=True)]
        np.testing.assert_allclose(wdl[:, 0] - wdl[:, 2], np.array(result), rtol=0, atol=2e-6)
        np.testing.assert_allclose(wdl.sum(1), np.ones(count), rtol=0, atol=1e-6)


def test_the_registry_takes_it_as_any_other(tmp_path):
    registry = Registry(tmp_path, create=True)
    info = registry.publish(weights(GAME, 4, config=PATTERNS), "first", None)
    assert "5 patterns, phases of 6 discs (patterns)" in card(info)
    assert "| knows | the expected margin of a position |" in card(info)
    loaded = registry.load(registry.get(4))
    assert isinstance(loaded.network, PatternConfig)
    assert (loaded.arrays["tables"] == weights(GAME, 4, config=PATTERNS).arrays["tables"]).all()


def test_every_board_has_patterns():
    for game in GAMES.values():
        if game.name != "tictactoe":
            assert compose(["network=patterns", f"game={game.name}"])["network"]["kind"] == "patterns"
