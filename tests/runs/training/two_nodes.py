"""A real Ray cluster of two nodes on this machine, and command lines that use it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.drill.nodes import ROOT, START_S, Node, Nodes, ray_nodes


@dataclass(frozen=True)
class TwoNodes:
    """The cluster: how it is reached, and its nodes."""

    nodes: Nodes
    worker: Node

    @property
    def head(self) -> Node:
        """The node with the driver."""
        return self.nodes.head

    @property
    def dashboard(self) -> str:
        """The address of the dashboard."""
        return f"http://127.0.0.1:{self.nodes.dashboard_port}"

    @property
    def token(self) -> str:
        """What opens it."""
        return self.nodes.token

    @property
    def token_file(self) -> Path:
        """The file with it."""
        return self.nodes.token_file

    @property
    def environment(self) -> dict[str, str]:
        """For processes that use the cluster."""
        return self.nodes.environment

    def roles(self, node: Node) -> set[str]:
        """Return the actor classes that run on a node."""
        return node.roles()

    def reversi(self, *arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command line with the cluster and its token in the environment."""
        return self.python("-m", "scripts.cli", *arguments, timeout_s=timeout_s)

    def python(self, *arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Run Python likewise."""
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, text=True, capture_output=True, timeout=timeout_s, check=False
        )


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    """Start a head with 3 CPUs and a node with 2 CPUs, a GPU by name only and the label role=actors; end them after."""
    with ray_nodes("--num-cpus=3", "--num-gpus=0") as nodes:
        worker = nodes.join("--num-cpus=2", "--num-gpus=1", "--labels=role=actors")
        for port in (nodes.dashboard_port, nodes.agent_port):  # jobs can be submitted once both answer
            wait_for_port(port)
        yield TwoNodes(nodes, worker)


def wait_for_port(port: int) -> None:
    """Wait until something listens on a port of this machine."""
    deadline = time.monotonic() + START_S
    while True:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        assert time.monotonic() < deadline, f"nothing listens on port {port}"
        time.sleep(0.2)
