from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reversi import __version__
from reversi.errors import NoGatedModelError, ReversiError, UnreachableError
from scripts import cli
from scripts.commands import perft, signature
from tests.scripts.conftest import Reversi

ROOT = Path(__file__).parents[2]


def test_without_a_command_help_is_printed(reversi: Reversi) -> None:
    bare, asked = reversi(), reversi("--help")
    assert bare == asked
    assert bare.code == 0
    assert bare.out.startswith("examples:\n  reversi train")
    assert all(f"\n  {name} " in bare.out for name in cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_of_every_command_starts_with_an_example(reversi: Reversi, command: str) -> None:
    answer = reversi(command, "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"examples:\n  reversi {command}")
    assert f"usage: reversi {command}" in answer.out


def test_version(reversi: Reversi) -> None:
    assert reversi("--version").out == f"reversi {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["match", "--help"], ["train", "--help"], ["match"], ["nope"]])
def test_help_and_usage_errors_answer_in_under_a_second(arguments: list[str]) -> None:
    start_s = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "scripts.cli", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert time.perf_counter() - start_s < 1
    assert done.returncode == (0 if "--help" in arguments else 2)


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    heavy = ["numpy", "numba", "torch", "ray", "openvino", "onnx", "hydra", "omegaconf", "wandb", "rich", "fsspec"]
    modules = ", ".join(cli.module_of(name) for name in cli.COMMANDS if name != "train")
    program = f"import sys, scripts.cli, {modules}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ReversiError("it failed\nfor two reasons"), 1),
        (UnreachableError("nobody answers"), 3),
        (NoGatedModelError("not yet"), 4),
        (OSError(28, "No space left on device", "runs/x"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_a_failure_is_one_line_and_an_exit_code(
    reversi: Reversi, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(args: object) -> int:
        raise error

    monkeypatch.setattr(signature, "run", fail)
    answer = reversi("signature")
    assert answer.code == code
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1


def test_a_bug_keeps_its_traceback(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perft, "run", lambda args: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        reversi("perft", 1)


class Freed:
    """Is interrupted while it is freed, where Python drops every exception."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_while_something_is_freed_is_not_lost(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        Freed()
        time.sleep(30)
        return 0

    before, began_s = sys.unraisablehook, time.monotonic()
    monkeypatch.setattr(signature, "run", run)
    answer = reversi("signature")
    assert (answer.code, answer.err) == (130, "error: interrupted\n")
    assert time.monotonic() - began_s < 29, "what the command waits for is interrupted"
    assert sys.unraisablehook is before


def test_train_passes_its_overrides_on_unread(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts.commands import train

    seen: list[list[str]] = []

    def run(overrides: list[str]) -> int:
        seen.append(overrides)
        return 0

    monkeypatch.setattr(train, "run", run)
    assert reversi("train", "run.minutes=5", "--cfg", "job").code == 0
    assert seen == [["run.minutes=5", "--cfg", "job"]]


def test_a_reader_that_leaves_early_hears_no_complaint() -> None:
    command = [sys.executable, "-m", "scripts.cli", "--help"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == ""


def test_the_signature_is_one_number(reversi: Reversi) -> None:
    from reversi.search.signature import signature as computed

    assert reversi("signature").out == f"{computed()}\n"
    assert reversi("signature", "--json").out == f'{{"signature": {computed()}}}\n'


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("solve <&-", 0),
        ("solve <&- >&-", 0),
        ("play greedy --size 4 <&-", 0),
        ("play greedy --size 4 >&-", 0),
        ("play greedy --size 4 <&- >&- 2>&-", 0),
        ("perft 2 --size 4 >&- 2>&-", 0),
        ("nope 2>&-", 2),
    ],
)
def test_streams_that_are_closed_are_as_good_as_dev_null(command: str, code: int) -> None:
    line = f"{sys.executable} -m scripts.cli {command}"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, text=True, capture_output=True, input="quit\n", timeout=120)
    assert (done.returncode, done.stderr) == (code, "")


FULL = Path("/dev/full")


def printing_into(command: list[str], stdout: int) -> tuple[int, str]:
    """Return the exit code and the messages of a process that prints into this descriptor, through a buffer."""
    process = [sys.executable, "-m", "scripts.cli", *command]
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(process, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, env=usual)
    return done.returncode, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["play", "--help"], ["--help"], ["train", "--help"], ["train", "--cfg", "job"]])
def test_what_cannot_be_printed_is_an_error(command: list[str]) -> None:
    with FULL.open("w") as full:
        found = printing_into(command, full.fileno())
    assert found == (1, "error: standard output: No space left on device\n")


@pytest.mark.parametrize("command", [["play", "--help"], ["train", "--cfg", "job"], ["train", "--info"]])
def test_a_reader_that_is_gone_ends_a_command_without_a_word(command: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    found = printing_into(command, writing)
    os.close(writing)
    assert found == (1, "")
