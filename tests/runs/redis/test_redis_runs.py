"""`reversi train replay=redis` as its users run it: whatever is killed, nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from learner.replay.redis.embedded import EmbeddedServer
from learner.replay.redis.key import run_key
from learner.replay.redis.server import RedisServer
from learner.replay.redis.sink import RedisSink
from reversi.errors import ConfigError, RunError, UnreachableError
from reversi.record import encode
from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.launch.preflight import check_machine
from scripts.launch.redis_run import forget, redis_of
from scripts.launch.train import train
from scripts.run.session import Session
from scripts.run.status import read_status
from tests.configs import redis_config
from tests.random_games import random_records
from tests.runs.redis.redis_contents import counted, deliveries
from tests.runs.training.processes import command, resume, wait_for
from tests.scripts.launch.tiny_job import TINY, elapsed_s

REDIS = ("replay=redis", "tracking=jsonl", "run.summary_games=0", "replay.reuse=0.5")
"""Over Redis, and with more play than learning: a serial run would learn from a delivery for ten seconds."""


@contextmanager
def killed_in_the_end(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed like a power cut kills it."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def server_of(run: Path, other_than: int = 0) -> tuple[RedisServer, int]:
    """Return the server that runs with `run` and its process; its log names that, its supervisor the socket."""
    log = run / "redis" / "redis.log"

    def pid() -> int:
        return int(re.findall(r"pid=(\d+), just started", log.read_text())[-1])

    def up() -> bool:
        if not log.exists() or not re.search("pid=.*Ready to accept", log.read_text(), re.DOTALL):
            return False
        return pid() != other_than and psutil.pid_exists(pid())

    wait_for(up)
    words = psutil.Process(psutil.Process(pid()).ppid()).cmdline()
    server = RedisServer(url=f"unix://{words[words.index('--unixsocket') + 1]}")
    wait_for(server.answers)
    return server, pid()


def left_behind(run: Path) -> dict[tuple[str, int], int]:
    """Return the deliveries in the folder of a run that has ended."""
    served = EmbeddedServer(run / "redis", memory_mb=256, append_only=True)
    try:
        return deliveries(served.server, run)
    finally:
        served.close()


def test_a_server_of_our_own_is_not_for_a_cluster_of_machines() -> None:
    on_a_cluster = ["cluster=ray", "replay=redis"]
    with pytest.raises(ConfigError, match=r"replay.url must be an address that every node reaches, .* 'embedded://'"):
        check_machine(job_of(compose(on_a_cluster)))
    check_machine(job_of(compose([*on_a_cluster, "replay.url=redis://redis:6379/0"])))


def test_a_server_that_is_not_there_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    overrides = [f"run.dir={tmp_path}", *TINY, *REDIS, "cluster=serial", "run.name=lost"]
    with pytest.raises(UnreachableError, match=r"^redis at redis://127.0.0.1:1/0: expected an answer, got "):
        train([*overrides, "replay.url=redis://127.0.0.1:1/0"])
    assert not (tmp_path / "lost").exists()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_run_that_trained_nothing_leaves_nothing_on_the_server(
    interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def launch(session: Session) -> None:
        with redis_of(session.job.replay, session.folder.path) as redis:
            assert redis is not None
            sink = RedisSink.of(redis.config, redis.server, redis.key)
            sink.push(encode(random_records("reversi4", 5, 0), "a", 0))
            sink.close()
            assert len(client.keys(f"reversi:{redis.key}:*")) == 1
        if not interrupted:
            raise RunError("no luck")
        session.interrupt.request()

    monkeypatch.setattr("scripts.launch.warm.warm", lambda job: None)
    monkeypatch.setattr("scripts.launch.train._launch", launch)
    with contextlib.closing(EmbeddedServer(tmp_path / "redis", memory_mb=64, append_only=False)) as running:
        client = running.server.client()
        others = {b"reversi:brief-0:drawn": b"1", b"reversi:brief:drawn": b"2"}
        others |= {b"filler-%d" % number: bytes(1 << 20) for number in range(33)}
        for key, value in others.items():
            client.set(key, value)
        overrides = [*TINY, *REDIS, "cluster=serial", "run.name=brief", f"run.dir={tmp_path}"]
        overrides.append(f"replay.url={running.server.url}")
        if interrupted:
            assert not train(overrides).finished
        else:
            with pytest.raises(RunError, match="no luck"):
                train(overrides)
        assert set(client.keys()) == set(others)
        client.close()
    assert not (tmp_path / "brief").exists()
    assert re.search(r"^redis at .*: \d\d of 64 MB are not this run's", capsys.readouterr().err, re.M)


def test_a_copied_folder_is_another_run_on_a_server_and_the_same_on_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, copy = tmp_path / "run", tmp_path / "copy"
    with contextlib.closing(EmbeddedServer(tmp_path / "redis", memory_mb=64, append_only=False)) as running:
        config = redis_config(url=running.server.url)
        keys = []
        with redis_of(config, run) as first:
            assert first is not None
        shutil.copytree(run, copy)
        said = []
        for folder in (copy, run, copy):
            if folder is run:
                (copy / "checkpoints" / "000001").mkdir(parents=True)
            with redis_of(config, folder) as started:
                assert started is not None
                keys.append(started.key)
            said.append(capsys.readouterr().err.splitlines())
        shutil.copytree(copy, tmp_path / "third")
        with redis_of(config, tmp_path / "third") as third:
            assert third is not None
            said.append(capsys.readouterr().err.splitlines())
    assert keys == [keys[0], first.key, keys[0]]
    assert keys[0].startswith("copy-")
    left = "is a copy: what redis holds under {!r} is left to the original, and this run"
    assert said == [
        [f"{copy} {left.format(first.key)} has no checkpoint and begins anew, under {keys[0]!r}"],
        ["no checkpoint yet: the learner begins anew, with the games that redis holds"],
        [],
        [f"{tmp_path / 'third'} {left.format(keys[0])} goes on from its last checkpoint, under {third.key!r}"],
    ]
    own, again = tmp_path / "own", tmp_path / "again"
    with redis_of(redis_config(memory_mb=16), own) as first:
        assert first is not None
    shutil.copytree(own, again)
    with redis_of(redis_config(memory_mb=16), again) as second:
        assert second is not None
        assert second.key == first.key


def test_a_stopped_run_with_a_model_and_no_checkpoint_is_not_offered_to_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only one over Redis can be; nor is there a row of metrics of training that never began."""

    def launch(session: Session) -> None:
        (session.folder.path / "registry" / "models" / "000000").mkdir(parents=True)
        session.interrupt.request()

    monkeypatch.setattr("scripts.launch.warm.warm", lambda job: None)
    monkeypatch.setattr("scripts.launch.train._launch", launch)
    said = []
    for name, replay in (("memory", "replay=memory"), ("redis", "replay=redis")):
        overrides = [*TINY, replay, "cluster=serial", f"run.name={name}", f"run.dir={tmp_path}"]
        assert not train(overrides).finished
        said.append(capsys.readouterr().out.splitlines()[-1])
        assert read_status(tmp_path / name).state == "empty"
    words = "stopped before training continued; nothing is lost"
    assert said == [
        f"{words}; start it again under a new run.name",
        f"{words}; go on with:  reversi train resume={tmp_path / 'redis'}",
    ]


def test_what_an_unreachable_server_keeps_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = run_key(tmp_path)
    forget(redis_config(url="redis://127.0.0.1:1/0"), tmp_path)
    assert capsys.readouterr().err.startswith(f"the records of {key!r} stay on the server: redis at redis://127.0.0.1")


def test_a_run_killed_twice_goes_on_with_all_that_was_acknowledged(tmp_path: Path) -> None:
    run = tmp_path / "killed"
    start = command(
        tmp_path, *REDIS, "cluster=serial", "run.name=killed", "run.minutes=9", "run.checkpoint_minutes=0.02"
    )
    again = [*start[: start.index("train")], "train", f"resume={run}", "run.checkpoint_minutes=9"]
    acknowledged: dict[tuple[str, int], int] = {}
    pid = 0
    for life, arguments in enumerate((start, again)):
        with killed_in_the_end(arguments):
            wait_for(lambda: list((run / "checkpoints").glob("0*")))
            server, pid = server_of(run, other_than=pid)
            wait_for(lambda: (f"actor-0-{life}", 1) in deliveries(server, run))  # noqa: B023
            acknowledged = deliveries(server, run)
        wait_for(lambda: not psutil.pid_exists(pid))  # noqa: B023
    done = resume(run, f"run.minutes={elapsed_s(run) / 60 + 0.05}")
    assert done.returncode == 0, done.stderr
    held = left_behind(run)
    assert held.items() >= acknowledged.items()
    assert {producer for producer, _ in held} >= {"actor-0-0", "actor-0-1"}, "no name was used twice"
    assert counted(run) == sum(held.values())


def test_a_run_killed_before_its_first_checkpoint_goes_on_with_what_redis_holds(tmp_path: Path) -> None:
    run = tmp_path / "early"
    with killed_in_the_end(
        command(tmp_path, *REDIS, "cluster=serial", "run.name=early", "run.minutes=9", "run.checkpoint_minutes=9")
    ):
        server, pid = server_of(run)
        wait_for(lambda: (run / "redis-key").exists())
        wait_for(lambda: len(deliveries(server, run)) > 4)
        acknowledged = deliveries(server, run)
    wait_for(lambda: not psutil.pid_exists(pid))
    assert not list((run / "checkpoints").glob("0*"))
    done = resume(run, "run.minutes=0.05")
    assert done.returncode == 0, done.stderr
    assert "no checkpoint yet: the learner begins anew, with the games that redis holds" in done.stderr
    held = left_behind(run)
    assert held.items() >= acknowledged.items()
    assert counted(run) == sum(held.values())
