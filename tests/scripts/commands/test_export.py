from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from reversi.games.planes import PLANES, write_planes
from reversi.games.position import Position
from reversi.games.rules import game_named
from reversi.model.config import TableConfig
from reversi.model.evaluate import open_evaluator
from reversi.model.export import to_onnx
from reversi.model.lookup import load_model
from tests.documents import blocks
from tests.reversi.model.samples import LINES, STACKS, positions, weights
from tests.scripts.conftest import Reversi

PAGE = Path(__file__).parents[3] / "docs" / "export.md"


def test_export_writes_the_gated_model(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "champion.onnx"
    answer = reversi("export", "--registry", registry, "-o", file)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        f"{file}: version 3 of reversi6, 1 blocks x 16 channels; {file.stat().st_size} bytes\n"
        "  input   planes  float32[batch, 4, 6, 6]\n"
        "  output  policy  float32[batch, 37]\n"
        "  output  wdl     float32[batch, 3]\n"
        "  output  margin  float32[batch]\n"
    )
    assert file.read_bytes() == to_onnx(load_model("gated", str(registry)))
    assert [path.name for path in file.parent.iterdir()] == ["champion.onnx"]


def test_json_describes_the_file(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    file = tmp_path / "four.onnx"
    answer = json.loads(reversi("export", "--registry", registry, "--model", 4, "-o", file, "--json").out)
    assert (answer["version"], answer["path"], answer["game"]) == (4, str(file), "reversi6")
    assert answer["size"] == file.stat().st_size
    assert answer["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    published = registry / "models" / "000004" / "model.safetensors"
    assert answer["weights_sha256"] == hashlib.sha256(published.read_bytes()).hexdigest()
    session = onnxruntime.InferenceSession(file)
    for key, nodes in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
        assert [(port["name"], port["shape"]) for port in answer[key]] == [(node.name, node.shape) for node in nodes]
        about = session.get_modelmeta().custom_metadata_map
        assert [port["meaning"] for port in answer[key]] == [about[node.name] for node in nodes]


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_models_folder_or_file_is_exported_under_its_own_name(
    reversi: Reversi, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = registry / "models" / "000004"
    answer = reversi("export", "--model", folder if what == "folder" else folder / "model.safetensors")
    assert answer.code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["reversi6-4.onnx"]


@pytest.mark.parametrize("config", [LINES, STACKS["2 agents, dense"], TableConfig()], ids=str)
def test_every_kind_of_model_is_exported(reversi: Reversi, tmp_path: Path, config: object) -> None:
    weights("tictactoe", 7, config=config).save(tmp_path / "model.safetensors")
    file = tmp_path / "model.onnx"
    answer = reversi("export", "--model", tmp_path, "-o", file)
    assert answer.code == 0
    assert f"version 7 of tictactoe, {config};" in answer.out
    assert ("policy" in answer.out, "  q  " in answer.out) == (config == LINES, config != LINES)
    assert len(onnxruntime.InferenceSession(file).get_outputs()) == (3 if config == LINES else 1)


def test_an_existing_file_is_replaced_and_a_folder_is_not(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    file = tmp_path / "champion.onnx"
    file.write_text("an older one")
    assert reversi("export", "--registry", registry, "-o", file).code == 0
    assert file.read_bytes() == to_onnx(load_model("gated", str(registry)))
    folder = tmp_path / "folder"
    folder.mkdir()
    answer = reversi("export", "--registry", registry, "-o", folder)
    assert (answer.code, answer.out, answer.err) == (1, "", f"error: cannot write {folder}: Is a directory\n")
    assert {path.name for path in tmp_path.iterdir()} == {"champion.onnx", "folder"}


def test_a_place_that_cannot_be_written_is_named(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    answer = reversi("export", "--registry", registry, "-o", tmp_path / "file" / "model.onnx")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"error: cannot write {tmp_path / 'file' / 'model.onnx'}: ")
    assert answer.err.count("\n") == 1


def test_a_package_that_is_not_installed_is_named_with_its_extra_in_one_line(
    reversi: Reversi, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "reversi.model.export", raising=False)
    answer = reversi("export", "--registry", registry, "-o", tmp_path / "x.onnx")
    expected = "error: expected the package onnx, which is not installed; pip install 'reversi-zero[export]'\n"
    assert (answer.code, answer.out, answer.err) == (2, "", expected)
    assert not (tmp_path / "x.onnx").exists()


def test_a_version_that_is_not_there_and_a_damaged_model_leave_no_file(
    reversi: Reversi, registry: Path, tmp_path: Path
) -> None:
    file = tmp_path / "x.onnx"
    answer = reversi("export", "--registry", registry, "--model", 5, "-o", file)
    assert answer.code == 2
    assert "expected the version of a published model (0, 3, 4), got 5" in answer.err
    copy = tmp_path / "registry"
    shutil.copytree(registry, copy)
    (copy / "models" / "000003" / "model.safetensors").write_bytes(b"#" * 100)
    answer = reversi("export", "--registry", copy, "-o", file)
    assert answer.code == 1
    assert "000003" in answer.err
    assert not file.exists()


@pytest.mark.parametrize("size", [4, 6, 8])
def test_the_example_of_the_documentation_plays_the_model_s_legal_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], size: int
) -> None:
    """Its legal moves, its planes and its move are those of this program, for a network with opinions."""
    game, model = game_named(f"reversi{size}"), weights(f"reversi{size}", seed=2, config=LINES)
    (tmp_path / "champion.onnx").write_bytes(to_onnx(model))
    monkeypatch.chdir(tmp_path)
    [code] = blocks(PAGE, "python")
    example: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), example)

    start = Position.start(game.name)
    own, opp = np.array([start.own], np.uint64), np.array([start.opp], np.uint64)
    planes = np.zeros((1, PLANES, size, size), np.float32)
    write_planes(game.id, own, opp, planes)
    np.testing.assert_array_equal(example["planes"], planes)
    logits, value = open_evaluator(model, precision="float32", batch=1)(own, opp)
    legal = start.legal_actions()
    assert example["action"] == max(legal, key=lambda action: logits[0, action])
    assert example["move"] in start.legal_moves()
    wdl = example["wdl"]
    assert isinstance(wdl, np.ndarray)
    assert wdl[0, 0] - wdl[0, 2] == pytest.approx(value[0], abs=1e-4)
    assert capsys.readouterr().out.startswith(f"{example['move']}: win 0.")

    legal_moves = example["legal_moves"]
    assert callable(legal_moves)
    masks = positions(game, 200, seed=size)
    planes = np.zeros((200, PLANES, size, size), np.float32)
    write_planes(game.id, *masks, planes)
    for board in planes.astype(bool):
        np.testing.assert_array_equal(legal_moves(board[0], board[1]), board[2])
        np.testing.assert_array_equal(legal_moves(board[1], board[0]), board[3])
