"""A Ray cluster of several nodes on this machine, each a real raylet with its own resources, and with a token.

The nodes share this machine's loopback, or each has its own machine on a network (`tests/faults/drill/namespaces.py`).
They are not ended with `ray stop`, which would end every Ray on the machine.
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
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from reversi.errors import UnreachableError
from scripts.run.processes import children
from tests.faults.drill.namespaces import Machine, Network
from tests.faults.drill.run import ROOT

START_S = 120.0
"""Longest time in seconds until a node is up.  Ray itself ends a node that is not up after 30 s, so that a busy machine
may need several starts: at most `STARTS`."""

STARTS = 4

STARTED = "Ray runtime started"
"""Output of `ray start` once a node is up."""

PORTS = range(20_000, 32_000)
"""Below the ports that systems assign to connections: one of those could be taken between being found free and being
used, and a Ray agent whose port is taken continues to run without accepting jobs."""

HEALTH = {"RAY_health_check_failure_threshold": "8"}
"""As in docs/cluster.md.  The head checks a node every 3 s, waits 10 s for an answer, and gives it up after this many
failures.  Ray's default of 5 ends within a minute, and after a cut of 30 s TCP may need as long to recover."""

COMMON = ("--block", "--object-store-memory=100000000", "--min-worker-port=0", "--max-worker-port=0")


@dataclass(frozen=True)
class Node:
    """One node: the parent of all its processes."""

    process: subprocess.Popen[bytes]
    machine: Machine | None = None
    """Where it runs; None is this machine."""
    options: tuple[str, ...] = ()
    """The options given to `ray start`."""

    def roles(self) -> set[str]:
        """Return the actor classes that run on it; Ray names processes after them."""
        titles = [title for _, title in children(self.process.pid) if title.startswith("ray::")]
        return {title.removeprefix("ray::").split(".")[0].split()[0] for title in titles}

    def raylet(self) -> psutil.Process:
        """Return the node's raylet."""
        return next(child for child, title in children(self.process.pid) if Path(title.split()[0]).name == "raylet")

    def end(self) -> None:
        """End all processes of the node, by their ids."""
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
    """A cluster: its head, the nodes that have joined, and how to reach it."""

    folder: Path
    port: int
    dashboard_port: int
    agent_port: int
    """Port on which the head's agent accepts jobs from its dashboard."""
    token: str
    environment: dict[str, str]
    """For processes that use the cluster."""
    head: Node
    joined: list[Node] = field(default_factory=list)
    network: Network | None = None
    """The network between the nodes; None is this machine's loopback."""

    @property
    def address(self) -> str:
        """Address of the head, `HOST:PORT`."""
        return f"{_host(self.head.machine)}:{self.port}"

    @property
    def overrides(self) -> list[str]:
        """The overrides of a run that uses the cluster."""
        return ["cluster=ray", f"cluster.address={self.address}", f"cluster.token_file={self.token_file}"]

    @property
    def token_file(self) -> Path:
        """The file with the token."""
        return self.folder / "token"

    def join(self, *options: str, machine: Machine | None = None) -> Node:
        """Start another node with options of `ray start`; on a network it gets a new machine, unless one is given."""
        (agent,) = _free_ports(1)
        machine = machine or (self.network.add() if self.network else None)
        where = [f"--address={self.address}", f"--dashboard-agent-listen-port={agent}"]
        if machine is not None:  # nodes that share a folder would count as one machine
            where.append(f"--temp-dir={self.folder / str(machine.number)}")
        log = self.folder / f"node-{len(self.joined)}.log"
        node = _up([*where, *options], self.environment, log, machine)
        self.joined.append(replace(node, options=options))
        return self.joined[-1]

    def start_again(self) -> None:
        """Start Ray again where it has ended by itself, as a machine's supervision does (docs/cluster.md)."""
        for node in [node for node in self.joined if node.process.poll() is not None]:
            node.end()
            self.joined.remove(node)
            self.join(*node.options, machine=node.machine)


@contextmanager
def ray_nodes(*head_options: str, network: Network | None = None) -> Iterator[Nodes]:
    """Start a head with options of `ray start`; end it afterwards, with all nodes that have joined it.

    network  gives each node its own machine and address; without one all nodes are on loopback
    """
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
        **HEALTH,
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
        machine = network.add() if network else None
        head = _up([*where, *head_options], environment, folder / "head.log", machine)
        nodes = Nodes(folder, port, dashboard, agent, token, environment, head, network=network)
        try:
            yield nodes
        finally:
            for node in (*nodes.joined, head):
                node.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _up(options: Sequence[str], environment: dict[str, str], log: Path, machine: Machine | None) -> Node:
    """Start a node and wait until it is up; UnreachableError with Ray's last message if it does not come up."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *COMMON, *options]
    if machine is not None:
        command = machine.command([*command, f"--node-ip-address={machine.address}"])
    for _ in range(STARTS):
        with open(log, "wb") as out:
            node = Node(subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=out), machine)
        deadline = time.monotonic() + START_S
        while node.process.poll() is None and time.monotonic() < deadline:
            if STARTED in log.read_text(errors="replace"):
                return node
            time.sleep(0.1)
        node.end()
    words = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    raise UnreachableError(f"a Ray node did not start in {STARTS} tries: {words[-1]}")


def _host(machine: Machine | None) -> str:
    return machine.address if machine else "127.0.0.1"


def _free_ports(count: int) -> list[int]:
    """Return free ports that the system does not assign to others before they are used."""
    ports: list[int] = []
    while len(ports) < count:
        port = secrets.choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            ports.append(port)
    return ports
