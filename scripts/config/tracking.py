"""Settings of the trackers of metrics (`conf/tracking`) and of the page beside a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from reversi.settings import LATER, at_least, between, require, require_ranges


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
    id: str | None = field(default=None, metadata=LATER)
    """The run there; null is the random name in `run.id`.  A resumed run goes on there, or under another id apart."""

    def __post_init__(self) -> None:
        fits = self.id is None or (0 < len(self.id) <= 128 and not set(self.id) & set("/\\#?%:"))
        require(fits, "tracking.wandb.id", "null or at most 128 characters without /\\#?%:", self.id)


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


def without_webhook(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's configuration without the webhook, whose address is all that it takes to write there."""
    tracking = job.get("tracking")
    alerts = tracking.get("alerts") if isinstance(tracking, Mapping) else None
    if not isinstance(tracking, Mapping) or not isinstance(alerts, Mapping) or alerts.get("webhook") is None:
        return dict(job)
    return {**job, "tracking": {**tracking, "alerts": {**alerts, "webhook": "https://***"}}}


@dataclass(frozen=True, kw_only=True)
class PlainConfig:
    """A tracker without settings: `jsonl` and `tensorboard`."""


@dataclass(frozen=True, kw_only=True)
class TrackingConfig:
    """The trackers to write to, each with its own settings and null where it is off; and the page beside the run."""

    port: Annotated[int | None, between(0, 65_535)] = field(default=None, metadata=LATER)
    """Port on which the run serves its page, as `reversi watch` does, while it trains: the driver's machine, on which
    the run's folder is.  0, or a port that is taken, is any free one; null serves none."""
    host: str = field(default="127.0.0.1", metadata=LATER)
    """Address that it listens on; any but this machine's own wants a token (REVERSI_WATCH_TOKEN, or a new one)."""
    jsonl: PlainConfig | None = field(default=None, metadata=LATER)
    tensorboard: PlainConfig | None = field(default=None, metadata=LATER)
    wandb: WandbConfig | None = field(default=None, metadata=LATER)
    alerts: AlertsConfig | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        require_ranges(self, "tracking")
        fits = self.port is None or self.jsonl is not None
        require(fits, "tracking.port", "null without the tracker jsonl, which the page reads", self.port)
