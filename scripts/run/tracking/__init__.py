"""Trackers of metrics: rows of numbers, made from typed reports, go to any set of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.config.tracking import TrackingConfig, without_webhook
from scripts.run.tracking.metrics import Tracker


def open_trackers(settings: TrackingConfig, folder: Path, config: Mapping[str, Any], run_id: str) -> list[Tracker]:
    """Return the trackers of `settings`, which write into the run's `folder` and store the job's `config`; other
    programs know the run by its random name `run_id`."""
    trackers, config = list[Tracker](), without_webhook(config)
    if settings.jsonl is not None:
        from scripts.run.tracking.jsonl import JsonlTracker

        trackers.append(JsonlTracker(folder / "metrics.jsonl"))
    if settings.tensorboard is not None:
        from scripts.run.tracking.tensorboard import TensorboardTracker

        trackers.append(TensorboardTracker(folder / "tensorboard" / folder.name, config))
    if settings.wandb is not None:
        from scripts.run.tracking.wandb import WandbTracker

        trackers.append(WandbTracker(folder, config, settings.wandb, run_id))
    if settings.alerts is not None:
        from scripts.run.tracking.alerts import AlertsTracker

        trackers.append(AlertsTracker(folder, settings.alerts))
    return trackers
