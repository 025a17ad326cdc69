"""What a shell is offered when it asks as argcomplete's function does: the line in the environment."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from scripts.completion import settings
from scripts.config.compose import compose, flat
from scripts.config.job import JobConfig

ROOT = Path(__file__).parents[3]


def offered(line: str, folder: Path) -> list[str]:
    """Return what completes `line` in a shell in `folder`."""
    asked = {
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_SHELL": "bash",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'><=;|&(:",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "PYTHONPATH": str(ROOT),
    }
    program = ["bash", "-c", '"$0" -m scripts.cli 8>&1 9>/dev/null 1>/dev/null', sys.executable]
    done = subprocess.run(program, env={**os.environ, **asked}, cwd=folder, capture_output=True, check=True, timeout=60)
    return [word.strip() for word in done.stdout.decode().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a run, another folder and a file."""
    (tmp_path / "runs" / "night").mkdir(parents=True)
    (tmp_path / "runs" / "night" / "config.yaml").write_text("run: {}\n")
    (tmp_path / "file.txt").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("reversi ", {"train", "play", "signature"}),
        ("reversi pl", {"play"}),
        ("reversi play --op", {"--opponent"}),
        ("reversi play --opponent ", {"gated", "shipped", "greedy", "mcts:"}),
        ("reversi play --opponent mcts:", {"gated", "latest", "shipped"}),
        ("reversi play --color ", {"black", "white"}),
        ("reversi play --game ", {"reversi4", "reversi6", "reversi8", "tictactoe"}),
        ("reversi prove --game ", {"reversi4", "tictactoe"}),
        ("reversi play --size ", {"4", "6", "8"}),
        ("reversi bench --size=", {"4", "6", "8"}),
        ("reversi gtp --model ", {"gated", "latest", "shipped"}),
        ("reversi rate --ladder ", {"dozen", "edax8"}),
        ("reversi bench perft", {"perft_leaves_per_s"}),
        ("reversi scale night 3 --group ", {"cpu", "gpu"}),
        ("reversi status ", {"night"}),
        ("reversi train ", {"experiment=", "run.minutes=", "network=", "--config-dir"}),
        ("reversi train search.b", {"search.backup_temperature=", "search.bounds="}),
        ("reversi train cluster.actors.gpu.c", {"cluster.actors.gpu.count=", "cluster.actors.gpu.cpus="}),
        ("reversi train learner.device=", {"auto", "cpu", "cuda"}),
        ("reversi launch search.bounds=", {"true", "false"}),
        ("reversi train experiment=reversi8_p", {"reversi8_patterns"}),
        ("reversi train resume=", {"night"}),
    ],
)
def test_a_shell_is_offered_what_fits_and_no_files(line: str, some: set[str], folder: Path) -> None:
    words = offered(line, folder)
    assert some <= set(words)
    assert all(word.startswith(line.rpartition(" ")[2].rpartition("=")[2].rpartition(":")[2]) for word in words)
    assert not {"file.txt", "runs/"} & set(words)


@pytest.mark.parametrize(
    "line",
    [
        *("reversi play --seed ", "reversi play --color p", "reversi replay --game ", "reversi play --opponent gtp:"),
        *("reversi train run.minutes=", "reversi train nonsense", "reversi status --address "),
    ],
)
def test_bash_is_kept_from_its_files_where_nothing_fits(line: str, folder: Path) -> None:
    assert offered(line, folder) == []


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        *((f"reversi {words}", {"file.txt", "runs/"}) for words in ("solve ", "play --save ", "train gate.openings=")),
        *((f"reversi {words}", {"runs/"}) for words in ("pull -o ", "models --registry ", "train --config-dir ")),
        ("reversi play --opponent policy:ru", {"runs/"}),
        ("reversi watch runs/", {"runs/night/"}),
        ("reversi rate --ladder f", {"file.txt"}),
    ],
)
def test_files_are_offered_where_they_are_taken(line: str, paths: set[str], folder: Path) -> None:
    assert {word for word in offered(line, folder) if "." in word or "/" in word} == paths


def choices(kind: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the settings of a type that are choices, with each of their values, as the imported dataclasses say."""
    if kind is bool:
        yield from [(key, "true"), (key, "false")]
    elif typing.get_origin(kind) is Literal:
        yield from ((key, value) for value in typing.get_args(kind))
    elif dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            yield from choices(typing.get_type_hints(kind)[field.name], f"{key}.{field.name}".lstrip("."))
    elif typing.get_origin(kind) is dict:
        for group in ("cpu", "gpu"):
            yield from choices(typing.get_args(kind)[1], f"{key}.{group}")
    else:
        for each in typing.get_args(kind):
            yield from choices(each, key)


def test_the_values_of_settings_are_those_of_the_dataclasses() -> None:
    assert {(key, value) for key, values in settings().items() for value in values} == set(choices(JobConfig))


@pytest.mark.parametrize(
    "overrides",
    [
        "cluster=ray tracking=[jsonl,wandb,alerts] replay=redis",
        "network=patterns algorithm=td actors=afterstate learner=td",
        "network=table algorithm=q_table actors=epsilon learner=table",
        "network=wthor8 algorithm=supervised actors=games learner=sgd",
        "experiment=dqn8",
    ],
)
def test_every_setting_of_a_job_is_offered(overrides: str) -> None:
    keys = {key for key, _ in flat(compose(overrides.split())) if ".gpu.settings." not in key}
    assert keys - settings().keys() == {"begun_from"}


def test_completing_imports_nothing_heavy(folder: Path) -> None:
    program = (
        "import sys; from scripts.completion import ladders, overrides, players;"
        "overrides('run.'), overrides('learner.device='), players(''), ladders('');"
        "print({'numpy', 'numba', 'torch', 'ray', 'hydra', 'omegaconf'} & sys.modules.keys())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=folder, capture_output=True, check=True
    )
    assert printed.stdout == b"set()\n"
