"""What a run says of itself in its models: how it trains, and neither where it is nor what is secret."""

from __future__ import annotations

import os

import yaml

from scripts.config.compose import compose
from scripts.config.job import job_of
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
