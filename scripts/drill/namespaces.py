"""Several machines on one: network namespaces of the kernel on a switch of their own, which can lose packets.

    machine 1 (198.51.100.1) --veth--+
                                     +-- bridge          nothing of it touches the network of this machine
    machine 2 (198.51.100.2) --veth--+

The bridge has a namespace as well, and no way out: the addresses may be in use elsewhere, and any number of networks
may exist side by side.  Packets are dropped where they arrive, by the kernel (iptables, match `statistic`); what is cut
off keeps its carrier, as behind a switch that has failed.  Machines share the disk and the processes' numbers.
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
"""TEST-NET-2 of RFC 5737, which is in use nowhere."""

CARD = "eth0"
"""A machine's network card."""

NAME = re.compile(r"reversi-(\d+)-\d+")
"""A namespace's name: the process that made it, and its number there."""

PATH = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
"""Where the tools of the superuser are; not every shell of one looks there."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A namespace with a network card."""

    name: str
    number: int

    @property
    def address(self) -> str:
        """Its address."""
        return f"{PREFIX}{self.number}"

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the command that runs `words` on it, as the same process."""
        return [_tool("ip"), "netns", "exec", self.name, *words]

    def processes(self) -> list[int]:
        """Return the numbers of the processes on it."""
        return [int(pid) for pid in _done("ip", "netns", "pids", self.name).split()]


@dataclass
class Packets:
    """What the machines of a network were sent while some of it was lost."""

    arrived: int = 0
    """Packets that reached a machine's card, those that were dropped there included."""
    dropped: int = 0


class Network:
    """A switch, and the machines on it."""

    _numbers = itertools.count()
    """Of this process' namespaces."""

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self._names: list[str] = []

    def open(self) -> None:
        """Make the switch; ConfigError where this machine has no such thing."""
        self._switch = self._namespace()
        _done("ip", "-n", self._switch, "link", "add", "switch", "type", "bridge")
        _done("ip", "-n", self._switch, "link", "set", "switch", "up")

    def add(self) -> Machine:
        """Join another machine."""
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
        _done("ip", "-n", machine.name, "route", "add", "default", "dev", CARD)  # by which programs know their address
        self.machines.append(machine)
        return machine

    @contextmanager
    def losing(self, share: float) -> Iterator[Packets]:
        """Drop this share of all packets between machines, each way; what is yielded is counted at its end."""
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
        """Let nothing through to a machine, or from it, meanwhile: its port is none of the switch's."""
        _done("ip", "-n", self._switch, "link", "set", _port(machine), "nomaster")
        try:
            yield
        finally:
            _done("ip", "-n", self._switch, "link", "set", _port(machine), "master", "switch")

    def close(self) -> None:
        """End what still runs on the machines, and take all of it away."""
        while self._names:
            _remove(self._names.pop())

    def _namespace(self) -> str:
        name = f"reversi-{os.getpid()}-{next(self._numbers)}"
        _done("ip", "netns", "add", name)
        self._names.append(name)
        return name


@contextmanager
def network() -> Iterator[Network]:
    """Yield a network without machines, and take it away afterwards, with what earlier processes left behind.

    ConfigError, in one line, where this user, machine or kernel cannot have one.
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
    """Take away the networks of processes that have ended without doing so, and end what still runs on them."""
    for line in _done("ip", "netns", "list").splitlines():
        found = NAME.fullmatch(line.split()[0])
        if found and not psutil.pid_exists(int(found[1])):
            _remove(found[0])


def _port(machine: Machine) -> str:
    """Return the switch's port that a machine is plugged into."""
    return f"port{machine.number}"


def _filter(machine: Machine, *words: str) -> str:
    """Change, or list, what a machine's kernel does with packets."""
    return _done(*machine.command([_tool("iptables"), "-w", *words]))


def _remove(name: str) -> None:
    for pid in _done("ip", "netns", "pids", name).split():
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(int(pid)).kill()
    _done("ip", "netns", "delete", name)


def _tool(name: str) -> str:
    return shutil.which(name, path=PATH) or name


def _done(*words: str) -> str:
    """Run a command and return what it prints; ConfigError with its last words if this kernel does not let it."""
    done = subprocess.run([_tool(words[0]), *words[1:]], text=True, capture_output=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
        raise ConfigError(f"expected this machine to have network namespaces, {' '.join(words)!r} got {said!r}")
    return done.stdout
