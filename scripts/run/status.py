"""The status of a run, read from its folder by another process."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from reversi.errors import ConfigError, ReversiError, RunError, UsageError
from scripts.run.exit_record import EXIT_RECORD, ExitRecord, read_exit_record
from scripts.run.folder import checkpoints_in, is_left_over, lock_holder
from scripts.run.stopping_criteria import raised_limit
from scripts.run.tracking.jsonl import newest_values
from scripts.run.watch.beside import page_address

State = Literal["training", "finished", "stopped", "died", "empty"]


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The status of one run."""

    run: str
    """Its name."""
    folder: str
    """Its absolute path."""
    state: State
    """`training`; `finished`; `stopped`, by a signal or an error, and saved; `died` with unsaved training, or without a
    record of its end; `empty`."""
    pid: int | None
    """The driver's process, if it runs on this machine."""
    game: str
    """Name of the game."""
    elapsed_s: float
    """Seconds of training, all sessions."""
    games: int
    """Games played."""
    positions_per_s: float
    """Positions per second that a move is learned from, in the last row of metrics."""
    step: int
    """Steps of the learner."""
    version: int
    """The learner's newest version; -1 before the first."""
    champion: int | None
    """The gated version, None before there is one."""
    candidates: int
    """Models in the registry, whatever their verdict."""
    restarts: int
    """Restarts of roles that died."""
    resident_mb: float
    """Resident memory of the driver's machine's share of the run."""
    metrics_age_s: float | None
    """Seconds since the last row of metrics."""
    checkpoint: str | None
    """Folder of the newest checkpoint."""
    checkpoint_age_s: float | None
    """Seconds since it was saved."""
    health: dict[str, dict[str, float]]
    """State of each role while the run trains, as the driver sees it: `alive`, `wanted`, `restarts`, `pending_s`,
    `rss_mb`, by role."""
    actors_asked: dict[str, int]
    """Actors of each group, as last requested by `reversi scale`; empty if it was never used."""
    keeps_records: bool
    """Whether a run without a checkpoint can go on from the records that Redis holds."""
    more: str | None
    """Setting that lets a finished run continue, such as `run.minutes=20`."""
    name_free: bool
    """Whether it has ended and left nothing to go on from, so that a new run of its name takes its folder."""
    page: str | None
    """Address of its page while it trains, as seen from its machine, if it serves one (`tracking.port`)."""
    ended: ExitRecord | None
    """How its last session ended, as it recorded itself; None while it trains, and without a record."""

    @property
    def is_saved(self) -> bool:
        """Whether it has ended and a checkpoint holds all that it trained."""
        return self.state in ("finished", "stopped")

    @property
    def resume_command(self) -> str | None:
        """The command line that resumes it; None if nothing was saved."""
        if self.name_free or (self.checkpoint is None and not self.keeps_records):
            return None
        return " ".join(filter(None, (f"reversi train resume={quote(self.folder)}", self.more)))


def read_status(folder: Path) -> RunStatus:
    """Return the status of the run in `folder`."""
    config, row = config_of(folder), newest_values(folder)
    holder = lock_holder(folder)
    saved = next(reversed(checkpoints_in(folder)), None)
    models, champion = _models(config, folder)
    state, record = state_of(folder, wrote_metrics=bool(row))
    games, limits = int(row.get("run/games", 0)), (_at(config, "run", "minutes"), _at(config, "run", "games"))
    return RunStatus(
        run=folder.name,
        folder=str(folder),
        state=state,
        pid=holder.pid if holder else None,
        game=str(_at(config, "game", "name") or "unknown"),
        elapsed_s=row.get("run/elapsed_s", 0.0),
        games=games,
        positions_per_s=row.get("run/positions_per_s", 0.0) if holder else 0.0,
        step=int(row.get("learner/step", 0)),
        version=max(int(row.get("learner/version", -1)), models[-1] if models else -1),
        champion=champion,
        candidates=len(models),
        restarts=int(row.get("run/restarts", 0)),
        resident_mb=row.get("run/resident_mb", 0.0) if holder else 0.0,
        metrics_age_s=_age_s(folder / "metrics.jsonl"),
        checkpoint=str(saved) if saved else None,
        checkpoint_age_s=_age_s(saved) if saved else None,
        health=health_of(row) if holder and _has_metrics_since_start(folder) else {},
        actors_asked=_actors_asked(folder),
        keeps_records=_at(config, "replay", "kind") == "redis",
        more=raised_limit(*limits, row.get("run/elapsed_s", 0.0), int(row.get("replay/games_total", games)))
        if state == "finished"
        else None,
        name_free=holder is None and is_left_over(folder),
        page=page_address(folder) if state == "training" else None,
        ended=record,
    )


def state_of(folder: Path, *, wrote_metrics: bool) -> tuple[State, ExitRecord | None]:
    """Return the state of a run and, once that is recorded, how its last session ended."""
    record = read_exit_record(folder)
    if record is None and lock_holder(folder) is not None:
        return "training", None
    if not checkpoints_in(folder):
        return "died" if wrote_metrics or (record and record.lost) else "empty", record
    if record is None or record.lost:
        return "died", record
    return "finished" if record.how == "finished" else "stopped", record


def _models(config: dict[str, Any], folder: Path) -> tuple[list[int], int | None]:
    """Return the versions in the run's registry, and the champion's; none where it cannot be reached."""
    from reversi.model.registry import Registry

    versions, champion = list[int](), None
    with contextlib.suppress(ReversiError):  # none yet, or not reachable from here: the run's log says so
        registry = Registry(registry_url(config, folder))
        versions = [model.version for model in registry.models()]
        champion = registry.gated().version
    return versions, champion


def registry_of(folder: Path) -> str:
    """Return the URL of the registry of the run in `folder`."""
    return registry_url(config_of(folder), folder)


def registry_url(config: dict[str, Any], folder: Path) -> str:
    """Return the URL of the registry of the run in `folder`, whose configuration is `config`."""
    return str(_at(config, "registry", "url") or folder / "registry")


def _has_metrics_since_start(folder: Path) -> bool:
    """Return whether the newest metrics are from the current session, not from an earlier one."""
    metrics, start = folder / "metrics.jsonl", folder / EXIT_RECORD  # which a session writes as it starts
    return metrics.exists() and start.exists() and metrics.stat().st_mtime >= start.stat().st_mtime


def _actors_asked(folder: Path) -> dict[str, int]:
    from scripts.run.control import read_target

    with contextlib.suppress(ReversiError):  # `reversi scale` and the run's log report what is wrong
        return read_target(folder)
    return {}


def health_of(row: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return what a row of newest values says of each role, and of `memory`, by the metric's own name."""
    roles: dict[str, dict[str, float]] = {}
    for name, value in row.items():
        prefix, _, rest = name.partition("/")
        if prefix == "health" and "/" in rest:
            role, _, metric = rest.rpartition("/")
            roles.setdefault(role, {})[metric] = value
    return roles


def config_of(folder: Path) -> dict[str, Any]:
    """Return the configuration of the run in `folder`; RunError if it is none of a run."""
    from scripts.config.compose import saved_values

    try:
        return saved_values(folder / "config.yaml")
    except (ConfigError, UsageError) as error:
        raise RunError(f"expected the folder of a run: {error}") from error


def _at(config: dict[str, Any], group: str, key: str) -> Any:
    values = config.get(group)
    return values.get(key) if isinstance(values, dict) else None


def _age_s(path: Path) -> float | None:
    return max(0.0, time.time() - path.stat().st_mtime) if path.exists() else None
