"""What a run says of itself in its models: how it trains, and neither where it is nor what is secret."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
import yaml

from scripts.config.compose import compose, to_yaml
from scripts.config.job import job_of
from scripts.run.folder import RunFolder
from scripts.run.training import training_of


def test_a_run_says_how_it_trains_and_not_where() -> None:
    job = job_of(compose(["run.seed=7", "run.dir=/home/me/secret", "replay=redis", "replay.url=redis://host:1/0"]))
    training = training_of(job, "night")
    assert (training.run, training.algorithm, training.cores) == ("night", "alphazero", len(os.sched_getaffinity(0)))
    assert training.program.startswith("reversi-zero ")
    assert training.machine
    values = yaml.safe_load(training.configuration)
    assert values["run"]["seed"] == 7
    assert values["search"]["simulations"] == job.search.simulations
    assert values["network"]["kind"] == job.network.kind
    assert not {"cluster", "registry", "tracking"} & values.keys()
    assert "secret" not in training.configuration
    assert "redis://" not in training.configuration


def test_on_a_cluster_nobody_says_how_many_cores() -> None:
    training = training_of(job_of(compose(["cluster=ray"])), "night")
    assert training.cores is None
    assert training.machine.startswith("a Ray cluster, its driver on ")


@pytest.mark.parametrize(
    ("setting", "mode"),
    [
        ("run.seed=1", 0o644),
        ("++tracking.alerts.webhook=https://ntfy.sh/runs", 0o600),
        ("init=https://models.org/six/?sig=a1b2", 0o600),
    ],
)
def test_a_configuration_that_may_hold_a_secret_is_for_its_owner_alone(tmp_path: Path, setting: str, mode: int) -> None:
    folder = RunFolder.create(str(tmp_path), "run")
    with contextlib.closing(folder):
        folder.write_setup(to_yaml(compose([setting])))
    assert (folder.path / "config.yaml").stat().st_mode & 0o777 == mode
