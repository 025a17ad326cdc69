"""Trackers of metrics: rows of numbers, made from typed reports, go to any set of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reversi.settings import build
from scripts.config.tracking import AlertsConfig, WandbConfig
from scripts.run.tracking.metrics import Tracker


def open_trackers(
    settings: Mapping[str, Mapping[str, Any]], folder: Path, config: Mapping[str, Any], run_id: str
) -> list[Tracker]:
    """Return the trackers named in `settings`, which write into the run's `folder` and store the job's `config`; other
    programs know the run by its random name `run_id`."""
    trackers: list[Tracker] = []
    for name, values in settings.items():
        if name == "jsonl":
            from scripts.run.tracking.jsonl import JsonlTracker

            trackers.append(JsonlTracker(folder / "metrics.jsonl"))
        elif name == "tensorboard":
            from scripts.run.tracking.tensorboard import TensorboardTracker

            trackers.append(TensorboardTracker(folder / "tensorboard" / folder.name, config))
        elif name == "alerts":
            from scripts.run.tracking.alerts import AlertsTracker

            trackers.append(AlertsTracker(folder, build(AlertsConfig, values, "tracking.alerts")))
        elif name == "wandb":
            from scripts.run.tracking.wandb import WandbTracker

            wandb = build(WandbConfig, values, "tracking.wandb")
            trackers.append(WandbTracker(folder, config, wandb, run_id))
    return trackers
