"""Settings of the trackers of metrics (`conf/tracking`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reversi.settings import LATER


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
class PlainConfig:
    """A tracker without settings: `jsonl` and `tensorboard`."""


TRACKERS: dict[str, type[WandbConfig] | type[PlainConfig]] = {
    "jsonl": PlainConfig,
    "tensorboard": PlainConfig,
    "wandb": WandbConfig,
}
"""The settings of every tracker."""
