"""The command line as a process: it answers at once, and survives closed streams, full disks and readers that leave."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def children_cpu_s() -> float:
    """The processor's time of all children that have ended: unlike the clock's it is the same on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("arguments", [["--help"], ["match", "--help"], ["train", "--help"], ["match"], ["nope"]])
def test_help_and_usage_errors_answer_in_under_a_second(arguments: list[str]) -> None:
    begun_s = children_cpu_s()
    done = subprocess.run([sys.executable, "-m", "scripts.cli", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert children_cpu_s() - begun_s < 1
    assert done.returncode == (0 if "--help" in arguments else 2)


def test_a_reader_that_leaves_early_hears_no_complaint() -> None:
    command = [sys.executable, "-m", "scripts.cli", "--help"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert done.returncode == 130
    assert done.stderr == ""


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
    assert found == (130, "")


def test_a_whole_process_leaves_no_traceback() -> None:
    command = [sys.executable, "-m", "scripts.cli", "match", "--a", "nobody", "--b", "random", "--games", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown player")
    assert "Traceback" not in done.stderr
