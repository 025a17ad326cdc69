"""A Ray cluster of several nodes on this machine, each a real raylet with resources of its own, and a token.

Never ended by `ray stop`, which ends every Ray of the machine.
"""

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from reversi.errors import UnreachableError
from scripts.processes import children

ROOT = Path(__file__).parents[1]

START_S = 120.0
"""Longest until a node is up.  Ray itself gives a node 30 s and then ends it, which a busy machine may need more than
once: `STARTS` times at most."""

STARTS = 4

STARTED = "Ray runtime started"
"""What `ray start` says of a node that is up."""

PORTS = range(20_000, 32_000)
"""Below those that systems give to connections: one of these may be taken between being found free and being used, and
a Ray agent that finds its port taken lives on without taking jobs."""

COMMON = ("--block", "--object-store-memory=100000000", "--min-worker-port=0", "--max-worker-port=0")


@dataclass(frozen=True)
class Node:
    """One node: the process under which all of its processes are."""

    process: subprocess.Popen[bytes]

    def roles(self) -> set[str]:
        """Return the actor classes that run on it; Ray names processes after them."""
        titles = [title for _, title in children(self.process.pid) if title.startswith("ray::")]
        return {title.removeprefix("ray::").split(".")[0].split()[0] for title in titles}

    def raylet(self) -> psutil.Process:
        """Return the node's raylet."""
        return next(child for child, title in children(self.process.pid) if Path(title.split()[0]).name == "raylet")

    def end(self) -> None:
        """End it and every process of it, by their numbers."""
        below = [child for child, _ in children(self.process.pid)]
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2)
        for child in below:
            with contextlib.suppress(psutil.Error):
                child.kill()
        self.process.kill()
        self.process.wait()


@dataclass
class Nodes:
    """A cluster: its head, the nodes that have joined, and how it is reached."""

    folder: Path
    port: int
    dashboard_port: int
    agent_port: int
    """Where the head takes jobs from its dashboard."""
    token: str
    environment: dict[str, str]
    """For processes that use the cluster."""
    head: Node
    joined: list[Node] = field(default_factory=list)

    @property
    def token_file(self) -> Path:
        """The file with the token."""
        return self.folder / "token"

    def join(self, *options: str) -> Node:
        """Start another node with options of `ray start`."""
        (agent,) = _free_ports(1)
        where = [f"--address=127.0.0.1:{self.port}", f"--dashboard-agent-listen-port={agent}"]
        log = self.folder / f"node-{len(self.joined)}.log"
        self.joined.append(_up([*where, *options], self.environment, log))
        return self.joined[-1]

    def wait_for_dashboard(self) -> None:
        """Wait until jobs can be submitted."""
        _wait_for_port(self.dashboard_port, "dashboard")
        _wait_for_port(self.agent_port, "agent")


@contextmanager
def ray_nodes(*head_options: str) -> Iterator[Nodes]:
    """Start a head with options of `ray start`, and end it afterwards with all nodes that have joined it."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # a run's folder may be too long for Ray's sockets
    port, dashboard, agent, client = _free_ports(4)
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
    where = [
        "--head",
        f"--port={port}",
        f"--dashboard-port={dashboard}",
        f"--dashboard-agent-listen-port={agent}",
        f"--ray-client-server-port={client}",
        f"--temp-dir={folder}",
    ]
    try:
        head = _up([*where, *head_options], environment, folder / "head.log")
        nodes = Nodes(folder, port, dashboard, agent, token, environment, head)
        try:
            yield nodes
        finally:
            for node in (*nodes.joined, head):
                node.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _up(options: Sequence[str], environment: dict[str, str], log: Path) -> Node:
    """Start a node and wait until it is up; UnreachableError, with Ray's last words, if it never is."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *COMMON, *options]
    for _ in range(STARTS):
        with open(log, "wb") as out:
            node = Node(subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=out))
        deadline = time.monotonic() + START_S
        while node.process.poll() is None and time.monotonic() < deadline:
            if STARTED in log.read_text(errors="replace"):
                return node
            time.sleep(0.1)
        node.end()
    words = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    raise UnreachableError(f"a Ray node did not start in {STARTS} tries: {words[-1]}")


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on and that the system gives to nobody else before they are used."""
    found: list[int] = []
    while len(found) < count:
        port = secrets.choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            found.append(port)
    return found


def _wait_for_port(port: int, what: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        if time.monotonic() >= deadline:
            raise UnreachableError(f"expected Ray's {what} on port {port} within {START_S:.0f} s, none came")
        time.sleep(0.2)
