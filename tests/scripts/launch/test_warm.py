"""The warm-up that every run begins with takes every named job; it has its own, smaller numbers."""

from __future__ import annotations

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
