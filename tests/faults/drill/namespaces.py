"""Several machines on one: the kernel's network namespaces, connected by their own switch, which can lose packets.

    machine 1 (198.51.100.1) --veth--+
                                     +-- bridge          separate from the network of this machine
    machine 2 (198.51.100.2) --veth--+

The bridge has its own namespace too, without a connection outside: the addresses may be in use elsewhere, and any
number of networks may exist side by side.  The kernel drops packets where they arrive (iptables, match `statistic`); a
machine that is cut off keeps its carrier, as behind a failed switch.  Machines share the disk and the process ids.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from reversi.errors import ConfigError

PREFIX = "198.51.100."
"""TEST-NET-2 of RFC 5737, which no real network uses."""

CARD = "eth0"
"""A machine's network card."""

NAME = re.compile(r"reversi-(\d+)-\d+")
"""A namespace's name: the process that made it, and its number there."""

PATH = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
"""Search path including root's tools, which not every root shell has in its path."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A namespace with a network card."""

    name: str
    number: int

    @property
    def address(self) -> str:
        """The machine's address."""
        return f"{PREFIX}{self.number}"

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the command that runs `words` on it, as the same process."""
        return [_tool("ip"), "netns", "exec", self.name, *words]

    def processes(self) -> list[int]:
        """Return the ids of the processes on it."""
        return [int(pid) for pid in _done("ip", "netns", "pids", self.name).split()]


@dataclass
class Packets:
    """Packets sent to the machines of a network while some of them were dropped."""

    arrived: int = 0
    """Packets that reached a machine's card, including those dropped there."""
    dropped: int = 0


class Network:
    """A switch, and the machines on it."""

    _numbers = itertools.count()
    """Numbers of this process' namespaces."""

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self._names: list[str] = []

    def open(self) -> None:
        """Create the switch; ConfigError if this machine does not support it."""
        self._switch = self._namespace()
        _done("ip", "-n", self._switch, "link", "add", "switch", "type", "bridge")
        _done("ip", "-n", self._switch, "link", "set", "switch", "up")

    def add(self) -> Machine:
        """Add another machine."""
        machine = Machine(name=self._namespace(), number=len(self.machines) + 1)
        port = _port(machine)
        _done(
            *("ip", "link", "add", CARD, "netns", machine.name, "type", "veth"),
            *("peer", "name", port, "netns", self._switch),
        )
        _done("ip", "-n", self._switch, "link", "set", port, "master", "switch", "up")
        _done("ip", "-n", machine.name, "address", "add", f"{machine.address}/24", "dev", CARD)
        for card in ("lo", CARD):
            _done("ip", "-n", machine.name, "link", "set", card, "up")
        _done("ip", "-n", machine.name, "route", "add", "default", "dev", CARD)  # for programs to find their address
        self.machines.append(machine)
        return machine

    @contextmanager
    def losing(self, share: float) -> Iterator[Packets]:
        """Drop this share of all packets between machines, in both directions; the counts are set at the end."""
        packets = Packets()
        for machine in self.machines:
            _filter(machine, "-A", "INPUT", "-i", CARD)
            _filter(
                *(machine, "-A", "INPUT", "-i", CARD, "-j", "DROP"),
                *("-m", "statistic", "--mode", "random", "--probability", str(share)),
            )
        try:
            yield packets
        finally:
            for machine in self.machines:
                arrived, dropped = (
                    int(line.split()[0]) for line in _filter(machine, "-nvxL", "INPUT").splitlines()[2:]
                )
                packets.arrived, packets.dropped = packets.arrived + arrived, packets.dropped + dropped
                _filter(machine, "-F", "INPUT")

    @contextmanager
    def cut_off(self, machine: Machine) -> Iterator[None]:
        """Cut a machine off in the meantime, in both directions: its port is detached from the switch."""
        _done("ip", "-n", self._switch, "link", "set", _port(machine), "nomaster")
        try:
            yield
        finally:
            _done("ip", "-n", self._switch, "link", "set", _port(machine), "master", "switch")

    def close(self) -> None:
        """End the processes on the machines, and remove the network."""
        while self._names:
            _remove(self._names.pop())

    def _namespace(self) -> str:
        name = f"reversi-{os.getpid()}-{next(self._numbers)}"
        _done("ip", "netns", "add", name)
        self._names.append(name)
        return name


@contextmanager
def network() -> Iterator[Network]:
    """Yield a network without machines, and remove it afterwards; also remove what earlier processes left behind.

    Raises ConfigError, in one line, if this user, machine or kernel does not support it.
    """
    if os.geteuid() != 0:
        raise ConfigError("network namespaces are the superuser's: expected to run as root, got another user")
    for tool, package in (("ip", "iproute2"), ("iptables", "iptables")):
        if shutil.which(tool, path=PATH) is None:
            raise ConfigError(f"network namespaces need the program {tool!r}, there is none; install {package}")
    remove_stale()
    with contextlib.closing(Network()) as made:
        made.open()
        yield made


def remove_stale() -> None:
    """Remove the networks of processes that have ended without doing so, and end the processes on them."""
    for line in _done("ip", "netns", "list").splitlines():
        match = NAME.fullmatch(line.split()[0])
        if match and not psutil.pid_exists(int(match[1])):
            _remove(match[0])


def _port(machine: Machine) -> str:
    """Return the port of the switch to which a machine is connected."""
    return f"port{machine.number}"


def _filter(machine: Machine, *words: str) -> str:
    """Change or list the packet filter of a machine."""
    return _done(*machine.command([_tool("iptables"), "-w", *words]))


def _remove(name: str) -> None:
    for pid in _done("ip", "netns", "pids", name).split():
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(int(pid)).kill()
    _done("ip", "netns", "delete", name)


def _tool(name: str) -> str:
    return shutil.which(name, path=PATH) or name


def _done(*words: str) -> str:
    """Run a command and return its output; ConfigError with its last message if this kernel refuses it."""
    done = subprocess.run([_tool(words[0]), *words[1:]], text=True, capture_output=True, check=False)
    if done.returncode:
        message = (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
        raise ConfigError(f"expected this machine to have network namespaces, {' '.join(words)!r} got {message!r}")
    return done.stdout
