"""A real Ray cluster of two nodes on this machine: two raylets with resources of their own, a token, jobs."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
START_S = 60.0


@dataclass(frozen=True)
class TwoNodes:
    """The cluster: how it is reached, and the process under which each node's processes are."""

    dashboard: str
    token: str
    token_file: Path
    environment: dict[str, str]
    head: psutil.Process
    worker: psutil.Process

    def roles(self, node: psutil.Process) -> set[str]:
        """Return the actor classes that run on a node; Ray names processes after them."""
        names = set()
        for process in node.children(recursive=True):
            with contextlib.suppress(psutil.Error, IndexError):
                title = process.cmdline()[0]
                names |= {title.removeprefix("ray::").split(".")[0]} if title.startswith("ray::") else set()
        return names

    def reversi(self, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command line with the cluster and its token in the environment."""
        return self.python("-m", "scripts.cli", *arguments, timeout_s=timeout_s)

    def python(self, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run Python likewise."""
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, text=True, capture_output=True, timeout=timeout_s, check=False
        )


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    """Start a head with 3 CPUs and a node with 2 CPUs, a GPU by name only and the label role=actors; end them after.

    Never by `ray stop`, which ends every Ray of the machine.
    """
    folder = Path(tempfile.mkdtemp(prefix="two-"))  # pytest's own is too long for Ray's sockets
    gcs, dashboard, *agents = _free_ports(5)
    token = secrets.token_hex(32)
    (folder / "token").write_text(token)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(folder / "token"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{dashboard}",
    }
    environment.pop("RAY_AUTH_TOKEN", None)
    common = ["--block", "--object-store-memory=100000000", "--min-worker-port=0", "--max-worker-port=0"]
    head_options = [
        "--head",
        f"--port={gcs}",
        f"--dashboard-port={dashboard}",
        f"--dashboard-agent-listen-port={agents[0]}",
        f"--ray-client-server-port={agents[1]}",
        f"--temp-dir={folder}",
        "--num-cpus=3",
        "--num-gpus=0",
    ]
    node_options = [
        f"--address=127.0.0.1:{gcs}",
        f"--dashboard-agent-listen-port={agents[2]}",
        "--num-cpus=2",
        "--num-gpus=1",
        "--labels=role=actors",
    ]
    head = _start([*common, *head_options], environment, folder / "head.log")
    try:
        _wait_for_port(gcs)
        node = _start([*common, *node_options], environment, folder / "node.log")
        try:
            _wait_for_port(dashboard)
            yield TwoNodes(
                f"http://127.0.0.1:{dashboard}",
                token,
                folder / "token",
                environment,
                psutil.Process(head.pid),
                psutil.Process(node.pid),
            )
        finally:
            _end(node)
    finally:
        _end(head)
        shutil.rmtree(folder, ignore_errors=True)


def _start(options: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *options]
    with open(log, "wb") as out:
        return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=out)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a node and every process of it, by their numbers."""
    children = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    for child in children:
        with contextlib.suppress(psutil.Error):
            child.kill()
    process.kill()
    process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.2)
