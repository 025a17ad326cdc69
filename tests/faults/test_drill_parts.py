"""What drills observe with: a log that is put aside, a server's confirmations, a relay that misbehaves, outcomes."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from learner.replay.redis.embedded import EmbeddedServer
from learner.replay.redis.sink import RedisSink
from learner.replay.redis.stream import streams
from reversi.record import encode
from scripts.bench.setup import Settings, records_of
from tests.faults.drill import kills as drill_kills
from tests.faults.drill.__main__ import together
from tests.faults.drill.acknowledged import AcknowledgedLog, Probe
from tests.faults.drill.log import LogFollower
from tests.faults.drill.network import Relay
from tests.faults.drill.outcome import Outcome, write
from tests.faults.drill.run import DrillRun
from tests.runs.training.processes import wait_for

DRILL = Outcome(drill="actor", asked=2, kills=2, went_on_s=[1.5, 4.0], lost_games=0, kept=True, seen="nothing")


def test_a_log_is_read_once_over_the_moment_at_which_it_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    follower = LogFollower(path)
    follower.read()
    handler = RotatingFileHandler(path, maxBytes=1000, backupCount=3)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    for number in range(100):
        record = logging.LogRecord(
            "scripts.ray.driver", logging.WARNING, "", 0, "%s works again", (f"actor-{number % 3}",), None
        )
        handler.emit(record)
        if number % 7 == 0:
            follower.read()
    handler.close()
    follower.read()
    assert (tmp_path / "run.log.3").exists()
    assert len(follower.lines) == 100
    assert follower.returns == {"actor-0": 34, "actor-1": 33, "actor-2": 33}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with contextlib.closing(EmbeddedServer(tmp_path / "redis", memory_mb=64, append_only=True)) as running:
        yield running


def test_a_ledger_has_what_was_acknowledged_before_and_after_the_death_of_the_server(server: EmbeddedServer) -> None:
    records = records_of(Settings(size=4, blocks=1, channels=2))
    keys = streams("drill", 1)
    acknowledged = AcknowledgedLog(lambda: server.server, keys)
    sink = RedisSink(server.server, "drill", shards=1, backlog_batches=1000, patience_s=30)
    try:
        for sequence in range(20):
            sink.push(encode(records, "actor-0", sequence))
            if sequence == 9:
                with contextlib.closing(server.server.client()) as client, contextlib.suppress(Exception):
                    client.execute_command("SHUTDOWN", "NOSAVE")
        wait_for(lambda: len(acknowledged.games) == 20, 20)
    finally:
        sink.close()
        acknowledged.close()
    assert acknowledged.games == {("actor-0", sequence): len(records) for sequence in range(20)}
    assert abs(acknowledged.newest_ms / 1000 - time.time()) < 60


def test_a_probe_keeps_what_was_confirmed_and_the_ledger_sees_all_of_it(server: EmbeddedServer) -> None:
    records = records_of(Settings(size=4, blocks=1, channels=2))
    with contextlib.closing(AcknowledgedLog(lambda: server.server, streams("drill", 1))) as acknowledged:
        probe = Probe(server.server, "drill", encode(records, "actor-0", 0))
        wait_for(lambda: len(probe.games) >= 3, 20)
        assert time.monotonic() - probe.begun < 20
        probe.close()
        wait_for(lambda: acknowledged.games.items() >= probe.games.items(), 10)
        assert set(probe.games) == {("drill", sequence) for sequence in range(len(probe.games))}
        assert set(probe.games.values()) == {len(records)}


class Echo:
    """Answers what it is sent, on a unix socket."""

    def __init__(self, path: Path) -> None:
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := connection.recv(1000):
                connection.sendall(data)

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    with contextlib.closing(Echo(tmp_path / "echo")), contextlib.closing(Relay(str(tmp_path / "echo"))) as made:
        yield made


def test_a_relay_holds_back_what_is_sent_until_it_thaws_and_breaks_connections_when_told(relay: Relay) -> None:
    with socket.create_connection(("127.0.0.1", relay.port), timeout=5) as line:
        line.sendall(b"one")
        assert line.recv(10) == b"one"
        relay.freeze()
        line.sendall(b"two")
        line.settimeout(0.3)
        with pytest.raises(TimeoutError):
            line.recv(10)
        line.settimeout(5)
        relay.thaw()
        assert line.recv(10) == b"two"
        relay.lose(1.0)
        began = time.monotonic()
        line.sendall(b"three")
        assert line.recv(10) == b"three"
        assert time.monotonic() - began >= 0.4, "lost on the way there and on the way back"
        relay.cut()
        with pytest.raises(ConnectionResetError):
            line.recv(10)
    with socket.create_connection(("127.0.0.1", relay.port), timeout=5) as line:
        relay.lose(0.0)
        line.sendall(b"again")
        assert line.recv(10) == b"again"


def test_outcomes_have_one_form_for_programs_and_a_line_for_people(tmp_path: Path) -> None:
    write(tmp_path / "outcomes.json", [DRILL])
    (read,) = json.loads((tmp_path / "outcomes.json").read_text())
    assert list(read) == [field.name for field in fields(Outcome)]
    assert read["went_on_s"] == [1.5, 4.0]
    assert DRILL.line.split()[:4] == ["actor", "kept", "2", "times;"]
    assert "went on after 2.8 s, at worst 4.0 s; 0 games lost; nothing" in DRILL.line


def test_the_page_describes_every_field_of_an_outcome() -> None:
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    table = page[page.index("`--out FILE`") : page.index("## Soak")]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == [field.name for field in fields(Outcome)]


def test_roles_named_together_share_a_run_and_other_drills_have_their_own() -> None:
    roles, others = ["actor", "gate", "redis", "redis-memory"], ["disk", "stall"]
    assert together(["disk", "redis", "actor", "disk"], roles, others) == [["redis", "actor"], ["disk"]]
    assert together([], roles, others) == [["actor", "gate"], ["redis"], ["redis-memory"], ["disk"], ["stall"]]


class GivenUp:
    """A run whose gate is another process than the one that was killed."""

    def __init__(self, began: float) -> None:
        self._began = began

    def processes(self, role: str) -> list[Any]:
        return [SimpleNamespace(create_time=lambda: self._began)]


@pytest.mark.parametrize(("began", "role", "missed"), [(-5, "gate", True), (5, "gate", False), (-5, "actor", False)])
def test_a_kill_of_what_the_run_had_given_up_is_noticed(began: float, role: str, missed: bool) -> None:
    """By a process of the role that is older than the kill; of actors there may be others."""
    victim = drill_kills._Victim(role, due=0.0, killed=1.0, killed_at=1000.0)
    assert drill_kills._was_missed(cast(DrillRun, GivenUp(1000.0 + began)), victim) == missed
