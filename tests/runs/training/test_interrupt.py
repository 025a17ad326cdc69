"""Signals: the first asks to stop, one right behind it is the same, a later one ends the process; nohup holds."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from scripts.run.interrupt import EXIT_INTERRUPTED, TOGETHER_S

PROGRAM = """
import signal, sys, time
from scripts.run.interrupt import Interrupt
{before}
with Interrupt() as interrupt:
    print("up", flush=True)
    end = time.monotonic() + 20
    while time.monotonic() < end and not interrupt.requested:
        time.sleep(0.01)
    print("requested", interrupt.requested, flush=True)
    time.sleep({after})
print("over")
"""


HEEDED = "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
"""Said first, as the tests themselves may run under nohup."""


def started(after: float, before: str = HEEDED) -> subprocess.Popen[str]:
    program = PROGRAM.format(before=before, after=after)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_for_the_end(number: signal.Signals) -> None:
    process = started(0)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == ("requested True\nover\n", 0)
    assert "stopping: saving the run (again to stop now)" in err


def test_two_at_once_are_one() -> None:
    """As `timeout` sends them: to its child, and to the child's group."""
    process = started(2 * TOGETHER_S)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == ("requested True\nover\n", 0)


def test_a_later_one_ends_it_now() -> None:
    process = started(20)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "requested True\n"
    time.sleep(1.5 * TOGETHER_S)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (out, process.returncode) == ("", EXIT_INTERRUPTED)
    assert "what came after the last checkpoint is lost" in err


def test_nohup_outlives_its_terminal() -> None:
    process = started(0, before="signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == ("requested True\nover\n", 0)
    assert err.count("stopping") == 1
