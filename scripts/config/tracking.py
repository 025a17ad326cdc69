"""Settings of the trackers of metrics (`conf/tracking`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from reversi.settings import LATER, at_least, require, require_ranges


@dataclass(frozen=True, kw_only=True)
class WandbConfig:
    """Settings of wandb (`conf/tracking/wandb.yaml`)."""

    project: str | None
    """Project; null is WANDB_PROJECT or `reversi-zero`."""
    entity: str | None = field(default=None, metadata=LATER)
    """User or team; null is that of the login."""
    group: str | None = field(default=None, metadata=LATER)
    """Group of runs; null is none online, and the run's name offline."""
    tags: tuple[str, ...] = field(default=(), metadata=LATER)
    """Tags of the run."""
    mode: Literal["auto", "online", "offline", "disabled"] = field(default="auto", metadata=LATER)
    """Where it is written; `auto` is WANDB_MODE, else online with a login and offline without."""


@dataclass(frozen=True, kw_only=True)
class AlertsConfig:
    """When somebody is told (`conf/tracking/alerts.yaml`); a run's end, and its error, always."""

    webhook: str | None
    """Address that messages are sent to by POST, as JSON; null sends them to wandb alone, where it is on."""
    candidates_without_promotion: Annotated[int, at_least(1)]
    """Candidates rejected one after the other."""
    actors_missing_s: Annotated[float, at_least(0)]
    """Seconds that an actor is missing for."""
    disk_gb: Annotated[float, at_least(0)]
    """Free space in GB on the disk of the run's folder, below which somebody is told."""

    def __post_init__(self) -> None:
        require_ranges(self, "tracking.alerts")
        web = self.webhook is None or self.webhook.startswith(("http://", "https://"))
        require(web, "tracking.alerts.webhook", "null or an address beginning with https://", self.webhook)


@dataclass(frozen=True, kw_only=True)
class PlainConfig:
    """A tracker without settings: `jsonl` and `tensorboard`."""


TRACKERS: dict[str, type[WandbConfig] | type[AlertsConfig] | type[PlainConfig]] = {
    "jsonl": PlainConfig,
    "tensorboard": PlainConfig,
    "wandb": WandbConfig,
    "alerts": AlertsConfig,
}
"""The settings of every tracker."""
