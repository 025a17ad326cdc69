"""`pip install reversi-zero` without an extra: what it can do, and what it says of the rest."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest

from reversi.extras import EXTRAS
from tests.reversi.model.samples import SMALL, weights

ROOT = Path(__file__).parents[3]
LIGHT = [sys.executable, "-m", "tests.runs.programs.light"]
ENDING = "XXXXXXXXXXXOXOOOOOXXOXOOXOXOOO--O--- O"


def light(folder: Path, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` without the optional packages."""
    command = ["env", f"PYTHONPATH={ROOT}", *LIGHT, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        ("--help", "", "usage: reversi COMMAND"),
        ("train --help", "", "reversi8_patterns"),
        ("play alphabeta:shipped:2 --size 8", "f5\nhint\nquit\n", "f5"),
        ("play greedy --size 6", "hint\nquit\n", "quit"),
        ("analyze --model shipped --size 6 --simulations 4", f"{ENDING}\n", "b6"),
        ("review --model shipped --simulations 4 f5d6c3d3c4", "", "f5"),
        ("solve", f"{ENDING}\n", "b6 -30"),
        ("pull --model shipped -o copy", "", "reversi8"),
        ("match --a shipped --b greedy --size 8 --games 2 --simulations 4", "", "score"),
        ("replay f5d6c3", "", "f5"),
        ("perft 3", "", "56"),
    ],
)
def test_playing_and_analysing_need_no_optional_package(
    tmp_path: Path, arguments: str, stdin: str, expected: str
) -> None:
    done = light(tmp_path, *arguments.split(), stdin=stdin)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert expected in done.stdout


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("reversi.analyse('f5d6', 'shipped', simulations=20)", "discs"),
        (f"reversi.analyse('{ENDING}')", "b6   -30 discs, exact"),
        ("reversi.play('shipped', 'greedy', 'reversi6')", "PB[mcts:shipped:64]PW[greedy]"),
        ("reversi.Position.start('reversi8')._repr_svg_()", "<svg "),
    ],
)
def test_the_library_plays_and_analyses_without_an_optional_package(tmp_path: Path, code: str, expected: str) -> None:
    done = light(tmp_path, "-c", f"import reversi; print({code})")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert expected in done.stdout


def test_the_models_of_a_registry_are_listed(tmp_path: Path, registry: Path) -> None:
    assert "promoted" in light(tmp_path, "models", "--registry", registry).stdout


def test_the_page_plays_the_shipped_model(tmp_path: Path) -> None:
    command = ["env", f"PYTHONPATH={ROOT}", *LIGHT, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+/", line)))
            with urllib.request.urlopen(address + "api/info", timeout=100) as answer:
                assert json.load(answer)["analysis"] is True
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(100) == 0


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        ("train", "hydra", "train"),
        ("train --cfg job", "hydra", "train"),
        ("launch --address http://127.0.0.1:1", "hydra", "train"),
        ("status --address http://127.0.0.1:1 x", "ray", "train"),
        ("export --model shipped", "onnx", "export"),
        ("models --registry s3://bucket/models", "s3fs", "s3"),
        ("models --registry hf://me/models", "huggingface_hub", "hf"),
        ("bench learner_samples_per_s", "hydra", "train"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(tmp_path: Path, arguments: str, package: str, extra: str) -> None:
    done = light(tmp_path, *arguments.split())
    line = f"error: expected the package {package}, which is not installed; pip install 'reversi-zero[{extra}]'\n"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(line)
    assert done.stderr.count("error: ") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        "play",
        "match --b greedy --games 2 --a",
        "analyze --model",
        "serve --model",
        "review f5d6c3 --model",
        "gtp --model",
    ],
)
def test_a_network_with_layers_names_the_extra_that_it_needs(tmp_path: Path, command: str) -> None:
    model = tmp_path / "tower"
    weights("reversi8", 3, config=SMALL).save(model)
    name, *rest = command.split()
    done = light(tmp_path, name, *rest, model, stdin="--------" * 3 + "---OX------XO---" + "--------" * 3 + " X\n")
    line = "expected the package openvino, which is not installed; pip install 'reversi-zero[towers]'\n"
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr == f"error: {line}"


def test_every_optional_package_has_the_extra_that_installs_it() -> None:
    """The names of pyproject.toml are those of distributions: some differ from what is imported."""
    imported = {"hydra-core": "hydra", "huggingface-hub": "huggingface_hub"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        imported.get(name, name): extra
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in ("dev", "peers")
        for name in (re.split(r"[\[<>=,]", requirement)[0] for requirement in requirements)
        if name != project["name"]
    }
    assert extras == EXTRAS
