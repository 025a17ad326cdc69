"""Weights & Biases, imported only here: offline unless a key is set; its failures never end a run.

Without a key wandb prompts for one on a terminal and fails elsewhere; without a network it blocks for half a minute.
So a run is offline unless WANDB_API_KEY or WANDB_MODE is set; `wandb sync` uploads it later, `wandb leet` plots it.
Online, a resumed run continues its wandb run.  Offline, each session is a wandb run of its own, in a group with the
run's name: of two offline runs with one id, the one synced last replaces the other (wandb issues 3841, 4624, 5865).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


class WandbTracker:
    """Mirrors the metrics to one wandb run; the first error is logged and turns it off."""

    def __init__(self, folder: Path, config: Mapping[str, Any], *, project: str) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")
        os.environ.setdefault("WANDB_MODE", "online" if os.environ.get("WANDB_API_KEY") else "offline")
        offline = os.environ["WANDB_MODE"] in ("offline", "dryrun")
        self._run: Any = None
        try:
            import wandb

            self._run = wandb.init(
                project=project,
                name=folder.name,
                id=None if offline else folder.name,
                resume=None if offline else "allow",
                group=folder.name if offline else None,
                dir=str(folder),
                config=dict(config),
                settings=wandb.Settings(console="off", init_timeout=20, x_disable_stats=True),
            )
        except Exception as error:  # wandb raises many types of errors, none of which may end a run
            self._give_up(error)

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Log one row; wandb can plot it over `step` or `elapsed_s`."""
        if self._run is None:
            return
        try:
            self._run.log({"step": step, "elapsed_s": elapsed_s, **metrics})
        except Exception as error:  # as above
            self._give_up(error)

    def close(self) -> None:
        """Finish the wandb run."""
        if self._run is None:
            return
        try:
            self._run.finish()
        except Exception as error:  # as above
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._run = None
        log.warning("wandb is off for the rest of this run: %s", error)
