"""An actor that cannot reach Redis while the others can: it is started again, and the run never notices."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from learner.replay.redis.embedded import EmbeddedServer, server_program
from reversi.errors import ConfigError
from scripts.cli import main
from tests.faults.drill.network import Relay
from tests.runs.training.processes import command, wait_for
from tests.scripts.launch.tiny_job import metrics


class Door(Relay):
    """A relay that resets new connections while it is `shut`; those that were made before stay."""

    def __init__(self, target: str) -> None:
        self.shut = threading.Event()
        super().__init__(target)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.shut.is_set():
            writer.transport.abort()
        else:
            await super()._accept(reader, writer)


def test_an_actor_that_cannot_reach_redis_ends_no_run(tmp_path: Path) -> None:
    try:
        server_program()
    except ConfigError as error:
        pytest.skip(str(error))
    run = tmp_path / "door"
    with contextlib.ExitStack() as ends:
        closing = contextlib.closing(EmbeddedServer(tmp_path / "redis", memory_mb=64, append_only=False))
        server = ends.enter_context(closing)
        door = ends.enter_context(contextlib.closing(Door(server.server.url.removeprefix("unix://"))))
        redis = (
            "replay=redis",
            f"replay.url=redis://127.0.0.1:{door.port}",
            "replay.patience_s=2",
            "replay.bucket_capacity=1000000000",
        )
        job = (
            "run.name=door",
            "run.minutes=10",
            "run.checkpoint_minutes=0.05",
            "tracking=jsonl",
            "search.simulations=100",
        )
        process = ends.enter_context(
            subprocess.Popen(command(tmp_path, *job, *redis), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        ends.callback(process.kill)
        log = run / "logs" / "run.log"

        def says(words: str) -> bool:
            return process.poll() is not None or (log.exists() and words in log.read_text())

        wait_for(lambda: process.poll() is not None or any((run / "checkpoints").glob("0*")), 240)
        door.shut.set()
        assert main(["scale", str(run), "2"]) == 0
        wait_for(lambda: says("actor-1 is called again in 2 s, as others may reach the server: redis at"))
        games = metrics(run, "run")[-1]["run/games"]
        wait_for(lambda: process.poll() is not None or metrics(run, "run")[-1]["run/games"] > games)
        door.shut.clear()
        wait_for(lambda: process.poll() is not None or alive(run) == 2)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped and saved; go on with:" in out


def alive(run: Path) -> float:
    return metrics(run, "health/actors")[-1]["health/actors/alive"]
