"""Machines of their own on this one: their network loses what it is told to, and a Ray cluster of two runs on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from reversi.errors import ConfigError
from tests.faults.drill import namespaces as drill_namespaces
from tests.faults.drill.machines import FAR, NEAR, spread_run
from tests.faults.drill.namespaces import Machine, Network, network
from tests.runs.training.processes import wait_for

PORT, SENT = 9999, 2000

RECEIVER = f"""
import socket
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("0.0.0.0", {PORT}))
line.settimeout(20)
print("ready", flush=True)
count = 0
while line.recv(10) != b"end":
    count += 1
print(count)
"""

SENDER = f"""
import socket, sys, time
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range({SENT}):
    line.sendto(b"one", (sys.argv[1], {PORT}))
    time.sleep(1e-4)
"""

END = f"""
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"end", (sys.argv[1], {PORT}))
"""

CONNECT = f"""
import socket, sys
try:
    socket.create_connection((sys.argv[1], {PORT}), timeout=1)
except OSError as error:
    print(type(error).__name__)
"""

LEFT_BEHIND = """
import os, signal, subprocess
from tests.faults.drill.namespaces import network
with network() as made:
    nowhere = subprocess.DEVNULL
    sleeper = subprocess.Popen(made.add().command(["sleep", "600"]), stdout=nowhere, stderr=nowhere)
    print(made.machines[0].name, sleeper.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def joined() -> Iterator[Network]:
    with ExitStack() as ends:
        try:
            made = ends.enter_context(network())
            for _ in range(2):
                made.add()
            with made.losing(0.5):
                pass
        except ConfigError as error:
            pytest.skip(str(error))
        yield made


def python(machine: Machine, program: str, *arguments: str) -> list[str]:
    return machine.command([sys.executable, "-c", program, *arguments])


def said(command: list[str]) -> str:
    return subprocess.run(command, text=True, capture_output=True, check=True, timeout=30).stdout.strip()


@pytest.mark.parametrize("there", [0, 1])
def test_the_kernel_drops_the_share_it_is_told_each_way_and_counts_it(joined: Network, there: int) -> None:
    target, source = joined.machines[there], joined.machines[1 - there]
    with subprocess.Popen(python(target, RECEIVER), text=True, stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        with joined.losing(0.3) as packets:
            said(python(source, SENDER, target.address))
        said(python(source, END, target.address))
        received = int(receiver.stdout.read())
    assert packets.arrived == SENT
    assert packets.dropped == SENT - received
    assert 0.25 * SENT < packets.dropped < 0.35 * SENT, "five standard deviations"


def test_who_is_cut_off_reaches_nobody_until_it_is_back(joined: Network) -> None:
    here, there = joined.machines
    connects = python(there, CONNECT, here.address)
    assert said(connects) == "ConnectionRefusedError", "an answer: nobody listens"
    with joined.cut_off(there):
        assert said(connects) == "TimeoutError"
    assert said(connects) == "ConnectionRefusedError"


def test_what_a_killed_process_left_behind_is_taken_away(joined: Network) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", LEFT_BEHIND], cwd=root, text=True, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == -9, done.stderr
    name, pid = done.stdout.split()
    assert psutil.pid_exists(int(pid))
    drill_namespaces.remove_stale()
    names = said(["ip", "netns", "list"])
    assert name not in names
    assert all(machine.name in names for machine in joined.machines), "those of a process that lives stay"
    wait_for(lambda: not psutil.pid_exists(int(pid)), 10)


def test_where_there_can_be_no_network_one_line_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def why() -> str:
        with pytest.raises(ConfigError) as caught, network():
            pass
        return str(caught.value)

    monkeypatch.setattr(drill_namespaces, "PATH", "/nowhere")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert why() == "network namespaces need the program 'ip', there is none; install iproute2"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert why() == "network namespaces are the superuser's: expected to run as root, got another user"


@pytest.mark.usefixtures("joined")
def test_a_run_on_two_machines_goes_on_over_lost_packets_and_a_cut(tmp_path: Path) -> None:
    with spread_run(tmp_path, []) as spread:
        assert {node.machine.address for node in (spread.nodes.head, *spread.nodes.joined) if node.machine} == {
            "198.51.100.1",
            "198.51.100.2",
        }
        with spread.network.losing(0.1) as packets:
            for _ in range(5):  # a round is some 30 packets
                spread.wait_for_round(FAR)
        assert packets.dropped > 0
        with spread.network.cut_off(spread.far):
            time.sleep(1)  # what is under way arrives
            before = spread.deliveries(FAR)
            spread.wait_for_round(NEAR)
            assert spread.deliveries(FAR) == before
        spread.wait_for_round(FAR)
        stopped = spread.stopped()
    assert stopped.whole
    assert stopped.losses is not None
    assert (stopped.losses.lost, stopped.losses.twice_games) == (0, 0)
    assert stopped.losses.acknowledged >= 4
