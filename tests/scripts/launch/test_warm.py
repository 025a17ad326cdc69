"""The warm-up that every run begins with takes every named job; it has its own, smaller numbers."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.launch.warm import warm

EXPERIMENTS = sorted(path.stem for path in (Path(__file__).parents[3] / "conf" / "experiment").glob("*.yaml"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_prepared(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    warm(job_of(compose([f"experiment={name}"])))
    assert capsys.readouterr().err.startswith("preparing")


@pytest.mark.parametrize("name", ["reversi6_laptop", "reversi8_patterns", "dqn6"])
def test_what_is_prepared_does_not_depend_on_the_replay_of_the_job(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own gives no sample of a few games where each position is seldom used, or draws are large."""
    job = job_of(compose([f"experiment={name}"]))
    warm(dataclasses.replace(job, replay=dataclasses.replace(job.replay, reuse=1e-9, bucket_capacity=10**12)))
    assert capsys.readouterr().err.startswith("preparing")
