"""Signals: the first asks to stop, one right behind it is the same, a later one ends the process; nohup holds."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from scripts.run.interrupt import EXIT_INTERRUPTED, TOGETHER_S, Interrupt

PATIENCE_S = 120
"""Longest wait for a process, on a machine that many share."""

PROGRAM = """
import signal, sys, time
from scripts.run.interrupt import Interrupt
{before}
now_s = 100.0
with Interrupt(clock=lambda: now_s) as interrupt:
    print("up", flush=True)
    while not interrupt.requested:
        time.sleep(0.01)
    now_s += {later_s}
    print("requested", flush=True)
    sys.stdin.readline()
print("over")
"""
"""A process whose clock stands still until the first signal, and is `later_s` ahead from then on."""

HEEDED = "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
"""Done first, as the tests themselves may run under nohup."""


def started(before: str = HEEDED, later_s: float = 0.0) -> subprocess.Popen[str]:
    program = PROGRAM.format(before=before, later_s=later_s)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def ask(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send the first signal and wait until it has been heeded."""
    process.send_signal(number)
    assert process.stdout is not None
    assert process.stdout.readline() == "requested\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_a_signal_asks_for_the_end(number: signal.Signals) -> None:
    process = started()
    ask(process, number)
    out, err = process.communicate("\n", timeout=PATIENCE_S)
    assert (out, process.returncode) == ("over\n", 0)
    assert "stopping: saving the run (again to stop now)" in err


def test_two_at_once_are_one() -> None:
    """As `timeout` sends them: to its child, and to the child's group."""
    process = started(later_s=0.9 * TOGETHER_S)
    ask(process, signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate("\n", timeout=PATIENCE_S)
    assert (out, process.returncode) == ("over\n", 0)
    assert err.count("stopping") == 1


def test_a_later_one_ends_it_now() -> None:
    process = started(later_s=TOGETHER_S)
    ask(process, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE_S)  # it waits for a line, which never comes
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (out, process.returncode) == ("", EXIT_INTERRUPTED)
    assert "what came after the last checkpoint is lost" in err


def test_nohup_outlives_its_terminal() -> None:
    process = started("signal.signal(signal.SIGHUP, signal.SIG_IGN)", later_s=TOGETHER_S)
    process.send_signal(signal.SIGHUP)
    ask(process, signal.SIGTERM)
    out, err = process.communicate("\n", timeout=PATIENCE_S)
    assert (out, process.returncode) == ("over\n", 0)
    assert err.count("stopping") == 1


def test_outside_a_run_signals_do_what_they_did_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with Interrupt():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
