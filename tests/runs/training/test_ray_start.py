"""A Ray of our own on a machine that is too busy to have it up in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from reversi.errors import UnreachableError
from scripts.config.cluster import LocalClusterConfig
from scripts.ray import cluster as ray_cluster
from scripts.run.processes import children

CONFIG = LocalClusterConfig(kind="local", object_store_mb=100, max_restarts=0, stall_s=60)
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
        assert sleepers() == 1, "those of the first two starts are gone"
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


def test_a_worker_is_not_waited_for_while_ray_ends(inits: list[str]) -> None:
    """It may crash or hang on its way out."""
    inits += [""]
    code = "import time; print(flush=True); time.sleep(60)"
    with ray_cluster.ray_of(CONFIG):
        worker = subprocess.Popen(["ray::Worker", "-c", code], executable=sys.executable, stdout=subprocess.PIPE)
        worker.stdout.readline()  # type: ignore[union-attr]
    end_sleepers()
    assert worker.wait(5) == -signal.SIGKILL
    worker.stdout.close()  # type: ignore[union-attr]


def test_rays_processes_and_signal_handlers_do_not_take_the_runs_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SIGTERM to the run's group would end Ray before the run has saved, and Ray's handler the run itself."""
    groups, handler = list[tuple[int, int]](), signal.getsignal(signal.SIGTERM)

    def init(**_: Any) -> None:
        ray_cluster.ray_utils.set_sigterm_handler(lambda *_: None)
        with ray_cluster.ray_services.ConsolePopen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            groups.append((child.pid, os.getpgid(child.pid)))
            assert signal.getsignal(signal.SIGTERM) is handler

    def shutdown() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    monkeypatch.setattr(ray_cluster.ray, "init", init)
    monkeypatch.setattr(ray_cluster.ray, "shutdown", shutdown)
    with ray_cluster.ray_of(CONFIG):
        pass
    ((pid, group),) = groups
    assert pid == group != os.getpgid(0)
    assert signal.getsignal(signal.SIGTERM) is handler
