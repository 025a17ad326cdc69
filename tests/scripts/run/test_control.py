"""The target number of actors: the file, its bounds, who reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reversi.capacity import cores
from reversi.errors import ConfigError, CorruptFileError, UsageError
from scripts.config.compose import compose
from scripts.config.job import JobConfig, job_of
from scripts.run.control import (
    CONTROL,
    MAX_BYTES,
    MOST_A_CORE,
    MOST_ON_A_CLUSTER,
    TargetWatcher,
    check_target,
    forget_target,
    groups_of,
    read_target,
    sets_actors,
    write_target,
)


def job(*overrides: str) -> JobConfig:
    return job_of(compose(["actors.count=1", *overrides]))


def test_a_target_comes_back_and_is_forgotten(tmp_path: Path) -> None:
    assert read_target(tmp_path) == {}
    write_target(tmp_path, {"cpu": 40, "gpu": 2})
    assert read_target(tmp_path) == {"cpu": 40, "gpu": 2}
    assert [path.name for path in tmp_path.iterdir()] == [CONTROL], "replaced whole, nothing left beside it"
    forget_target(tmp_path)
    forget_target(tmp_path)
    assert read_target(tmp_path) == {}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b'{"format": 2, "actors": {"actors": 3}}',
        b'{"format": 1}',
        b'{"format": 1, "actors": [3]}',
        b'{"format": 1, "actors": {"actors": 3.0}}',
        b'{"format": 1, "actors": {"actors": true}}',
        b'{"format": 1, "actors": {"actors": "3"}}',
        b"\xff\xfe",
        b"[" * 50_000,
        b" " * (MAX_BYTES + 1),
    ],
)
def test_a_file_that_is_none_of_ours_is_one_error_and_changes_nothing(text: bytes, tmp_path: Path) -> None:
    (tmp_path / CONTROL).write_bytes(text)
    with pytest.raises(CorruptFileError, match="expected what `reversi scale` writes"):
        read_target(tmp_path)
    assert TargetWatcher(tmp_path, job()).changed() is None


def test_a_change_is_reported_once_per_file(tmp_path: Path) -> None:
    watcher = TargetWatcher(tmp_path, job())
    assert watcher.changed() is None
    for count in (2, 3, 3):
        write_target(tmp_path, {"actors": count})
        assert watcher.changed() == {"actors": count}
        assert watcher.changed() is None
    write_target(tmp_path, {"actors": 10**9})
    assert watcher.changed() is None, "out of range, whoever wrote it"


def test_groups_are_those_of_the_configuration() -> None:
    assert groups_of(job()) == {"actors": 1}
    assert groups_of(job("cluster=ray", "cluster.actors.gpu.count=2")) == {"cpu": None, "gpu": 2}
    with pytest.raises(ConfigError, match="cluster=serial"):
        groups_of(job("cluster=serial"))
    with pytest.raises(ConfigError, match="only actor reads game files"):
        groups_of(job_of(compose(["experiment=wthor"])))


@pytest.mark.parametrize(
    ("overrides", "target", "fits"),
    [
        ([], {"actors": 1}, True),
        ([], {"actors": MOST_A_CORE * cores()}, True),
        ([], {"actors": MOST_A_CORE * cores() + 1}, False),
        ([], {"actors": 0}, False),
        ([], {"actors": -1}, False),
        ([], {"cpu": 1}, False),
        (["cluster=ray"], {"cpu": MOST_ON_A_CLUSTER}, True),
        (["cluster=ray"], {"cpu": MOST_ON_A_CLUSTER + 1}, False),
        (["cluster=ray"], {"cpu": MOST_ON_A_CLUSTER, "gpu": 1}, False),
        (["cluster=ray"], {"cpu": 0}, False),
        (["cluster=ray"], {"cpu": 0, "gpu": 1}, True),
        (["cluster=ray"], {"gpu": 0}, True),
        (["cluster=ray"], {"actors": 1}, False),
    ],
)
def test_there_is_an_actor_at_least_and_a_bound(overrides: list[str], target: dict[str, int], fits: bool) -> None:
    if fits:
        check_target(job(*overrides), target)
    else:
        with pytest.raises(UsageError, match="expected"):
            check_target(job(*overrides), target)


def test_an_override_that_counts_actors_is_known() -> None:
    counting = ["actors.count=3", "cluster.actors.cpu.count=null"]
    others = ["actors.games=3", "cluster.actors.cpu.cpus=2", "gate.games=20", "cluster.max_restarts=1"]
    assert [sets_actors(item) for item in (*counting, *others)] == [True] * 2 + [False] * 4


def test_the_file_is_plain_json(tmp_path: Path) -> None:
    write_target(tmp_path, {"actors": 3})
    assert json.loads((tmp_path / CONTROL).read_text()) == {"format": 1, "actors": {"actors": 3}}
