"""Weights & Biases, online or in files beside the run, which `wandb sync` uploads later and `wandb leet` plots.

Without a login wandb prompts for one on a terminal and fails elsewhere; without a network it blocks for a while.  So
`mode: auto` is online where WANDB_MODE says so or a login is at hand (WANDB_API_KEY or a netrc file), and a session
that cannot reach the server is kept in files.
Online, a resumed run continues its wandb run, whose id is the run's own random name: two runs called `night` are two.
`tracking.wandb.id` names another one, and `tracking.wandb=null` none, also for a resumed run.
Offline, each session is a wandb run of its own, in a group with the run's name: of two offline runs with one id, the
one synced last replaces the other (wandb issues 3841, 4624, 5865).
"""

from __future__ import annotations

import logging
import netrc
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scripts.config.tracking import WandbConfig

log = logging.getLogger(__name__)

PROJECT = "reversi-zero"
"""The project without `project` and WANDB_PROJECT."""

HOST = "https://api.wandb.ai"
"""wandb's own server; WANDB_BASE_URL names another one."""

FOLDERS = ("WANDB_CACHE_DIR", "WANDB_DATA_DIR")
"""Variables that name wandb's folders for copies of artifacts; it would take some in the home folder."""

_GIVEN = set(os.environ)

GATE = ("candidate", "against", "wins", "draws", "losses", "elo", "elo_low", "elo_high", "promoted", "minutes")
"""Columns of the table of matches."""


class WandbTracker:
    """Mirrors the metrics to one wandb run, each promoted model as an artifact with the alias `champion`, and the
    matches as a table; the first error is logged and turns it off."""

    def __init__(self, folder: Path, config: Mapping[str, Any], settings: WandbConfig, run_id: str) -> None:
        """Begin, or go on with, the wandb run of the run in `folder` with this configuration and random name."""
        os.environ.setdefault("WANDB_SILENT", "true")
        os.environ |= {name: str(folder / "wandb" / ".copies") for name in FOLDERS if name not in _GIVEN}
        self._folder, self._matches = folder, list[list[Any]]()
        self._run: Any = None
        self._registry = str(config.get("registry", {}).get("url") or folder / "registry")
        mode = mode_of(settings)
        try:
            self._run = self._begin(config, settings, run_id, mode)
        except Exception as error:  # wandb raises many types of errors, none of which may end a run
            if mode != "online":
                self._give_up(error)
                return
            line = f"wandb: the server cannot be used ({error}); this session is in {folder}/wandb for `wandb sync`"
            print(line.replace("\n", " "), file=sys.stderr, flush=True)
            try:
                self._run = self._begin(config, settings, run_id, "offline")
            except Exception as again:
                self._give_up(again)

    def _begin(self, config: Mapping[str, Any], settings: WandbConfig, run_id: str, mode: Any) -> Any:
        before = os.environ.get("WANDB_MODE")
        os.environ["WANDB_MODE"] = mode  # whatever `init` is told, without it wandb reports on itself to its server
        try:
            return self._made(config, settings, run_id, mode)
        finally:
            os.environ.pop("WANDB_MODE")
            if before is not None:
                os.environ["WANDB_MODE"] = before

    def _made(self, config: Mapping[str, Any], settings: WandbConfig, run_id: str, mode: Any) -> Any:
        import wandb

        online = mode == "online"
        run = wandb.init(
            project=settings.project or os.environ.get("WANDB_PROJECT") or PROJECT,
            entity=settings.entity,
            name=self._folder.name,
            id=(settings.id or run_id) if online else None,
            resume="allow" if online else None,
            group=settings.group or (None if online else self._folder.name),
            tags=list(settings.tags),
            mode=mode,
            dir=str(self._folder),
            config=dict(config),
            settings=wandb.Settings(console="off", init_timeout=20, x_disable_stats=True),
        )
        run.define_metric("*", step_metric="step")
        return run

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Log one row; wandb plots it over `step`, or `elapsed_s`."""
        if self._run is None:
            return
        try:
            self._run.log({"step": step, "elapsed_s": elapsed_s, **metrics})
            if metrics.get("gate/candidate_version", -1) >= 0:
                self._match(metrics, elapsed_s)
        except Exception as error:  # as above
            self._give_up(error)

    def close(self) -> None:
        """Log the table of matches and finish the wandb run."""
        if self._run is None:
            return
        try:
            if self._matches:
                import wandb

                self._run.log({"gate": wandb.Table(columns=list(GATE), data=self._matches)})
            self._run.finish()
        except Exception as error:  # as above
            self._give_up(error)

    def _match(self, metrics: dict[str, float], elapsed_s: float) -> None:
        """Keep a match for the table; of a promotion, log the model and say who is champion."""
        import wandb

        version, champion = int(metrics["gate/candidate_version"]), int(metrics["gate/champion_version"])
        numbers = [metrics.get(f"gate/{name}") for name in ("wins", "draws", "losses", "elo", "elo_low", "elo_high")]
        opponent = int(metrics["gate/opponent_version"])
        self._matches.append([version, opponent, *numbers, version == champion, round(elapsed_s / 60, 2)])
        if version != champion:
            return
        said = {"champion": version, "champion_elo": metrics["gate/champion_elo"]}
        said |= {"champion_minutes": round(elapsed_s / 60, 2), "promotions": int(metrics.get("gate/promotions", 0))}
        self._run.summary.update(said)
        model = wandb.Artifact(f"{self._run.id}-model", type="model", metadata={"version": version, **metrics})
        place = f"{self._registry}/models/{version:06d}"
        if "://" in place:
            model.add_reference(place, checksum=False)
        else:
            model.add_dir(place)
        self._run.log_artifact(model, aliases=["champion", f"v{version}"])

    def _give_up(self, error: Exception) -> None:
        self._run = None
        log.warning("wandb is off for the rest of this run: %s", error)


def mode_of(settings: WandbConfig) -> str:
    """Return `online`, `offline` or `disabled`."""
    if settings.mode != "auto":
        return settings.mode
    mode = os.environ.get("WANDB_MODE", "")
    if mode:
        return {"dryrun": "offline", "run": "online"}.get(mode, mode)
    return "online" if _has_login() else "offline"


def _has_login() -> bool:
    """Return whether a key for wandb's server is in the environment or in a netrc file."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlsplit(os.environ.get("WANDB_BASE_URL", HOST)).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
