"""What every test needs, and the rule of this folder: only tests in `runs/` and `faults/` start processes."""

from __future__ import annotations

import multiprocessing.util
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from scripts.config.cluster import LocalClusterConfig
from scripts.ray.environment import prepare

pytest.register_assert_rewrite("tests.learner.replay.laws")

PROCESSES = tuple(Path(__file__).with_name(name) for name in ("runs", "faults"))
"""Folders whose tests start processes."""


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard() -> None:
    """Let the programs that tests start be interrupted: one that is started in the background inherits deafness."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare for the real Ray run before any test imports Ray, unless the processes of tests prepare themselves."""
    if not all(_starts_processes(Path(argument.partition("::")[0]).resolve()) for argument in config.args):
        prepare(LocalClusterConfig(kind="local", object_store_mb=80, max_restarts=1, stall_s=60))


def _starts_processes(path: Path) -> bool:
    return any(folder == path or folder in path.parents for folder in PROCESSES)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let no test, nor its fixtures, start a process elsewhere, except the one that is marked as the real Ray run."""
    with pytest.MonkeyPatch.context() as patched:
        if _starts_processes(item.path):
            for name in [name for name in os.environ if name.startswith("RAY_")]:
                patched.delenv(name)  # its processes prepare themselves
        elif not item.get_closest_marker("ray"):
            patched.setattr(subprocess.Popen, "__init__", _refuse)
            patched.setattr(multiprocessing.util, "spawnv_passfds", _refuse)
        return (yield)


def _refuse(*_: Any, **__: Any) -> NoReturn:
    pytest.fail("a test that starts a process belongs in tests/runs or tests/faults")
