"""A Redis server that stays away ends the run, saved; once the server is back the run goes on with all it was sent."""

from __future__ import annotations

import contextlib
import json
import subprocess
from pathlib import Path

import pytest

from learner.replay.redis.embedded import EmbeddedServer, server_program
from reversi.errors import ConfigError
from tests.runs.redis.redis_contents import counted, deliveries
from tests.runs.training.processes import command, resume, wait_for
from tests.scripts.launch.tiny_job import elapsed_s, metrics


def server(tmp_path: Path) -> contextlib.closing[EmbeddedServer]:
    """The server on this test's data; each start listens at another address."""
    return contextlib.closing(EmbeddedServer(tmp_path / "redis", memory_mb=64, append_only=True))


@pytest.mark.parametrize("cluster", ["local", "serial"])
def test_a_run_whose_redis_server_is_gone_is_saved_and_goes_on_when_it_is_back(cluster: str, tmp_path: Path) -> None:
    try:
        server_program()
    except ConfigError as error:
        pytest.skip(str(error))
    run = tmp_path / "left"
    job = (
        f"cluster={cluster}",
        "run.name=left",
        "run.minutes=9",
        "run.checkpoint_minutes=9",
        "run.summary_games=0",
        "tracking=jsonl",
    )
    with server(tmp_path) as first:
        redis = ("replay=redis", f"replay.url={first.server.url}", "replay.patience_s=2")
        with subprocess.Popen(
            command(tmp_path, *job, *redis), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            wait_for(lambda: (run / "metrics.jsonl").exists() and len(metrics(run, "learner")) > 1, 240)
            trained = metrics(run, "learner")[-1]["learner/step"]
            acknowledged = deliveries(first.server, run)
            first.close()
            _, err = process.communicate(timeout=120)
    assert process.returncode == 3, err
    assert "gave up after 2 s" in err
    assert f"; go on from the last checkpoint with: reversi train resume={run}; see " in err
    (saved,) = (run / "checkpoints").glob("0*")
    assert json.loads((saved / "run.json").read_text())["progress"]["steps"] >= trained > 0
    with server(tmp_path) as again:
        there = (f"replay.url={again.server.url}", "replay.patience_s=60")
        for _ in range(3):  # a slow actor's last round ends after the last checkpoint: the next resume must count it
            done = resume(run, *there, f"run.minutes={elapsed_s(run) / 60 + 0.1}")
            assert done.returncode == 0, done.stderr
            held = deliveries(again.server, run)
            assert held.items() >= acknowledged.items()
            if counted(run) == sum(held.values()):
                break
    assert counted(run) == sum(held.values())
