"""A Ray of our own on a machine that is too busy to have it up in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from reversi.errors import UnreachableError
from scripts.config.cluster import LocalClusterConfig
from scripts.ray import cluster as ray_cluster
from scripts.run.processes import children
from tests.runs.training.processes import wait_for

CONFIG = LocalClusterConfig(kind="local", object_store_mb=100, max_restarts=0, stall_s=60)
GROUP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
LATE = "The current node timed out during startup."


@pytest.fixture
def inits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the next starts say, each of which leaves a process behind; "" is a start that works."""
    says: list[str] = []

    def init(**_: Any) -> None:
        code = "import time; print(flush=True); time.sleep(600)"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout as begun:  # type: ignore[union-attr]
            begun.readline()  # just after its start a process has no command line yet
        if word := says.pop(0):
            raise Exception(word)

    monkeypatch.setattr(ray_cluster.ray, "init", init)
    monkeypatch.setattr(ray_cluster.ray, "shutdown", lambda: None)
    return says


def sleepers() -> int:
    return sum("time.sleep(600)" in line for _, line in children(os.getpid()))


def end_sleepers() -> None:
    for child, line in children(os.getpid()):
        if "time.sleep(600)" in line:
            child.kill()
            child.wait()


def test_a_ray_that_is_late_is_ended_and_started_again(inits: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    inits += [LATE, LATE, ""]
    with ray_cluster.ray_of(CONFIG):
        assert inits == []
        wait_for(lambda: sleepers() == 1)  # those of the first two starts end
    end_sleepers()
    assert capfd.readouterr().err.count("starting it again") == 2


@pytest.mark.parametrize("says", [[LATE] * ray_cluster.STARTS, ["no such thing"]])
def test_what_is_always_late_or_wrong_is_one_line(says: list[str], inits: list[str]) -> None:
    inits += says
    with pytest.raises(UnreachableError) as error, ray_cluster.ray_of(CONFIG):
        pass
    end_sleepers()
    assert inits == []
    assert str(error.value) == f"cannot use Ray at this machine: {says[0]}"


def test_what_ray_has_started_is_not_waited_for_while_it_ends(
    inits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its processes may crash or hang on their way out; what the run started before goes on."""
    inits += [""]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        monkeypatch.setattr(ray_cluster.ray, "shutdown", lambda: wait_for(lambda: sleepers() == 0, timeout_s=100))
        with ray_cluster.ray_of(CONFIG):
            assert sleepers() == 1
        assert other.poll() is None


def test_signals_to_the_whole_group_reach_the_run_alone_and_its_handlers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SIGTERM to the run's group would end Ray before the run has saved, and Ray's handler the run itself."""
    received: list[int] = []
    before = {number: signal.signal(number, lambda number, _: received.append(number)) for number in GROUP_SIGNALS}
    handlers = {number: signal.getsignal(number) for number in GROUP_SIGNALS}
    children: list[subprocess.Popen[bytes]] = []

    def init(**_: Any) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        children.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        for number in GROUP_SIGNALS:
            signal.pthread_kill(threading.get_ident(), number)  # another thread of the tests might take it
        assert received == []

    def shutdown() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    monkeypatch.setattr(ray_cluster.ray, "init", init)
    monkeypatch.setattr(ray_cluster.ray, "shutdown", shutdown)
    monkeypatch.setattr(ray_cluster, "kill", lambda processes: None)
    try:
        with ray_cluster.ray_of(CONFIG):
            assert sorted(received) == sorted(GROUP_SIGNALS), "they came as soon as the handlers were back"
            for number in GROUP_SIGNALS:
                children[0].send_signal(number)
            time.sleep(0.2)
            assert children[0].poll() is None
        assert {number: signal.getsignal(number) for number in GROUP_SIGNALS} == handlers
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
    finally:
        children[0].communicate(b"\n")
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_sigterm_that_ray_takes_while_it_starts_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come to another thread of the process, where it is not blocked."""

    def init(**_: Any) -> None:
        sys.exit(signal.SIGTERM)

    monkeypatch.setattr(ray_cluster.ray, "init", init)
    with pytest.raises(KeyboardInterrupt), ray_cluster.ray_of(CONFIG):
        pass
