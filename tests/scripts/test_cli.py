from __future__ import annotations

import gc
import signal
import sys
import time

import pytest

from reversi import __version__
from reversi.errors import NoGatedModelError, ReversiError, UnreachableError
from scripts import cli
from scripts.commands import perft, signature
from scripts.config.compose import choices_by_group, compose
from scripts.config.help import SETTINGS, sentence_of
from tests.scripts.conftest import Reversi


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


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ReversiError("it failed\nfor two reasons"), 1),
        (UnreachableError("nobody answers"), 3),
        (NoGatedModelError("not yet"), 4),
        (OSError(28, "No space left on device", "runs/x"), 1),
        (OSError(2, "No such file", "runs/\x1b[2J\x07"), 1),
        (MemoryError("Unable to allocate 114. GiB for an array with shape (2048,)"), 1),
    ],
)
def test_a_failure_is_one_line_and_an_exit_code(
    reversi: Reversi, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def fail(args: object) -> int:
        raise error

    monkeypatch.setattr(signature, "run", fail)
    answer = reversi("signature")
    assert answer.code == code
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert answer.err[:-1].isprintable()


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
    assert (answer.code, answer.err) == (130, "\n")
    assert time.monotonic() - began_s < 29, "what the command waits for is interrupted"
    assert sys.unraisablehook is before


class HalfMade:
    """Was interrupted before it had what it frees at its end."""

    def __del__(self) -> None:
        raise AttributeError


def test_what_ctrl_c_leaves_half_made_says_nothing(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        kept = HalfMade()
        raise KeyboardInterrupt(f"at {id(kept)}")

    heard: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    monkeypatch.setattr(signature, "run", run)
    answer = reversi("signature")
    gc.collect()
    assert (answer.code, answer.err, heard) == (130, "\n", [])


def test_train_passes_its_overrides_on_unread(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts.commands import train

    seen: list[list[str]] = []

    def run(overrides: list[str]) -> int:
        seen.append(overrides)
        return 0

    monkeypatch.setattr(train, "run", run)
    assert reversi("train", "run.minutes=5", "--cfg", "job").code == 0
    assert seen == [["run.minutes=5", "--cfg", "job"]]


def test_the_signature_is_one_number(reversi: Reversi) -> None:
    from reversi.search.signature import signature as computed

    assert reversi("signature").out == f"{computed()}\n"
    assert reversi("signature", "--json").out == f'{{"signature": {computed()}}}\n'


@pytest.mark.parametrize(
    ("line", "guess"),
    [
        ("paly", "'play'"),
        ("play --simulatons 4", "'--simulations'"),
        ("play greddy", "'greedy'"),
        ("match --a mtcs:gated:64 --b random", "'mcts:gated:64'"),
        ("train experment=reversi8_gpu", "'experiment'"),
        ("train experiment=reversi8_latop", "'reversi8_laptop'"),
        ("train run.minuets=3", "'run.minutes'"),
        ("train seach.simulations=3", "'search.simulations'"),
        ("train --cgf job", "'--cfg'"),
        ("train --resume x", "'resume='"),
        ("train minutes=3", "'run.minutes'"),
        ("analyze --model gatd", "'gated'"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_one_that_was_meant(reversi: Reversi, line: str, guess: str) -> None:
    answer = reversi(*line.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert f", did you mean {guess}?" in answer.err


def test_the_help_of_commands_and_of_training_fits_eighty_columns(
    reversi: Reversi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("", *cli.COMMANDS):
        assert [line for line in reversi(*name.split(), "--help").out.splitlines() if len(line) >= 80] == []


def test_the_help_of_training_has_every_experiment_and_only_settings_that_there_are(reversi: Reversi) -> None:
    shown = reversi("train", "--help").out
    for name in choices_by_group()["experiment"]:
        assert f"\n  {name}  " in shown
        assert 10 < len(sentence_of(name)) < 70, name
    values = compose([])
    for setting in SETTINGS:
        node = values
        for part in setting.split("."):
            assert part in node, setting
            node = node[part]
