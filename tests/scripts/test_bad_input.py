"""Wrong use of every command: one line that says what was expected and what was given, and the right exit code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.scripts.conftest import Answer, Reversi


def complaint(answer: Answer) -> tuple[int, str]:
    """Return exit code and message, which must be all that was printed, on one line."""
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    return answer.code, answer.err


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("conquer", "unknown command 'conquer'; try 'reversi --help'"),
        ("staus", "unknown command 'staus', did you mean 'status'? try 'reversi --help'"),
        ("perft", "DEPTH"),
        ("perft x", "expected a whole number from 0 to 2147483647, got 'x'"),
        ("perft -1", "-1"),
        ("perft 99999999999999999999", "expected a whole number"),
        ("perft 121", "DEPTH: expected at most 120 plies in reversi8, got 121"),
        ("perft --size 7 3", "size must be 4, 6 or 8, got 7"),
        ("perft --position XO 3", "got 2 squares in 'XO'"),
        ("perft --sizes 6 3", "--sizes"),
        ("match --a random", "--b"),
        ("match --a nobody --b random --size 6 --games 2", "unknown player 'nobody'"),
        ("match --a flat-mc:x --b random --games 2", "flat-mc:x"),
        ("match --a mcts --b random --games 2", "expected a model"),
        ("match --a random --b greedy --size 5", "size must be 4, 6 or 8, got 5"),
        ("match --a random --b greedy --games 7", "games must be even and at least 2"),
        ("match --a random --b greedy --games 0", "games must be even and at least 2"),
        ("match --a random --b greedy --games 2000000000", "expected a whole number from 0 to 1000000"),
        ("rate --games 2000000000", "expected a whole number from 0 to 1000000"),
        ("label --positions 2000000000 -o set", "expected a whole number from 1 to 1000000"),
        ("match --a random --b greedy --seed -1", "--seed"),
        ("match --a random --b greedy --openings none.txt --games 2", "none.txt"),
        ("match --a random --b greedy --size 4 --opening-plies 1 --games 400", "distinct openings"),
        (
            "rate --truth nope.safetensors --players random",
            "nope.safetensors: expected a labels archive, but it does not exist",
        ),
        ("rate --ladder nope.yaml", "nope.yaml: expected settings as key: value, but it does not exist"),
        (
            "match --a random --b greedy --openings sub/none.txt",
            "sub/none.txt: expected a file of openings, but it does not exist",
        ),
        ("play nobody", "nobody"),
        ("play random --opponent greedy", "expected one opponent"),
        ("play --color red", "'red'"),
        ("pull", "-o"),
        ("pull -o x --version first", "got 'first'"),
        ("export --model nowhere/model", "got 'nowhere/model'"),
        ("export --model -1", "got '-1'"),
        ("export champion.onnx", "champion.onnx"),
        ("export --opset 9", "--opset"),
        ("analyze --model nowhere/model", "got 'nowhere/model'"),
        ("analyze --simulations many", "got 'many'"),
        ("bench fastest_row", "unknown row 'fastest_row'"),
        ("bench perft_leaves_per_s --size 5", "size must be 4, 6 or 8, got 5"),
        ("bench perft_leaves_per_s --repeats 0", "expected a whole number from 1 to 2147483647, got '0'"),
        ("train no.such.key=1", "unknown key 'no.such.key'"),
        ("train gate.games=7", "gate.games must be even"),
        ("train experiment=nope", "'experiment/nope'"),
        ("train run.minutes=soon", "run.minutes must be a number, got 'soon'"),
    ],
)
def test_wrong_usage_exits_with_2(reversi: Reversi, command: str, expected: str) -> None:
    code, message = complaint(reversi(*command.split()))
    assert code == 2
    assert expected in message


@pytest.mark.parametrize(
    "command",
    [
        "pull --registry {} -o x",
        "export --registry {} -o x",
        "models --registry {}",
        "match --a gated --b random --games 2 --registry {}",
        "analyze --registry {}",
        "play --registry {}",
    ],
)
def test_a_registry_that_is_not_there_exits_with_3(reversi: Reversi, tmp_path: Path, command: str) -> None:
    missing = str(tmp_path / "nowhere")
    code, message = complaint(reversi(*command.format(missing).split()))
    assert code == 3
    assert missing in message


@pytest.mark.parametrize(
    "command",
    [
        "pull -o x --size 4",
        "export -o x --size 4",
        "play --size 4",
        "analyze --size 4",
        "models",
        "match --a latest --b random",
    ],
)
def test_no_model_yet_exits_with_4(
    reversi: Reversi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, message = complaint(reversi(*command.split()))
    assert code == 4
    assert "reversi train" in message


def test_a_model_of_another_board_is_refused(reversi: Reversi, registry: Path) -> None:
    for command in ("analyze --size 8", "match --a gated --b random --size 8 --games 2", "play gated --size 8"):
        code, message = complaint(reversi(*command.split(), "--registry", registry))
        assert code == 1
        assert "expected a model for reversi8, got version 3 for reversi6" in message


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "foreign"])
def test_a_damaged_model_is_refused_and_not_pulled(
    reversi: Reversi, registry: Path, tmp_path: Path, damage: str
) -> None:
    copy = tmp_path / "registry"
    shutil.copytree(registry, copy)
    file = copy / "models" / "000003" / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    flipped = bytes(data)
    file.write_bytes({"truncated": flipped[:1000], "empty": b"", "flipped": flipped, "foreign": b"#" * 5000}[damage])
    for arguments in (["pull", "--registry", copy, "-o", tmp_path / "out"], ["analyze", "--model", file.parent]):
        code, message = complaint(reversi(*arguments))
        assert code == 1
        assert "000003" in message
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_named(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, message = complaint(reversi("pull", "--registry", registry, "-o", tmp_path / "file" / "model"))
    assert code == 1
    assert str(tmp_path / "file") in message


def test_a_model_is_no_registry(reversi: Reversi, registry: Path) -> None:
    folder = registry / "models" / "000003"
    code, message = complaint(reversi("models", "--registry", folder))
    assert code == 3
    assert message.endswith(
        f"{folder}: expected a registry of models, but it is a single model; name it with --model\n"
    )


def test_a_run_that_is_not_there_cannot_be_resumed(reversi: Reversi, tmp_path: Path) -> None:
    code, message = complaint(reversi("train", f"resume={tmp_path / 'none'}"))
    assert code in (1, 2)
    assert "none" in message
