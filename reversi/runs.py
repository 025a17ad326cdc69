"""The folder `runs`: a run by its name, the newest run, and the newest run with a champion.

A run is as new as its metrics, so that of two the one that trained last is newer; one without metrics is as new as its
folder.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path

from reversi.errors import NoGatedModelError, RunError

log = logging.getLogger(__name__)

RUNS = Path("runs")
"""The folder of runs, where names of runs are looked up."""


def find_run(what: str | None) -> Path:
    """Return the folder of a run: `what` as a path or as a name in `RUNS`; for None the newest run."""
    if what is None:
        runs = _newest_first("config.yaml")
        if not runs:
            raise RunError(f"no run in {RUNS}/; start one with `reversi train` or name a folder")
        return runs[0].absolute()
    for path in (Path(what), RUNS / what):
        if any((path / name).is_file() for name in ("config.yaml", "metrics.jsonl")):
            return path.absolute()
    raise RunError(f"expected a run's folder or its name in {RUNS}/, got {what!r}; see `ls {RUNS}`")


def registry_with_champion() -> str:
    """Return the registry of the newest run with a champion; NoGatedModelError if no run has a registry.

    Only folders `registry` of runs are looked at.  If another run is newer, a line of the log names both.  If no run
    has a champion, it is the registry of the newest run that has one.
    """
    runs = _newest_first("registry/gated.json") or _newest_first("registry")
    if not runs:
        raise NoGatedModelError(
            f"no run in {RUNS}/ has a registry; make one with `reversi train` or name one with --registry"
        )
    newest = _newest_first("config.yaml")[:1]
    if newest and newest[0] != runs[0] and _changed(newest[0]) > _changed(runs[0]):
        _say_which(runs[0], newest[0])
    return str(runs[0] / "registry")


@functools.cache  # said once, however often a command asks for its models
def _say_which(taken: Path, newest: Path) -> None:
    log.warning("models are those of %s: the newest run, %s, has no champion in its folder", taken, newest)


def _newest_first(mark: str) -> list[Path]:
    """Return the folders in `RUNS` that hold a file or folder `mark`, the newest first."""
    folders = (RUNS / path.relative_to(RUNS).parts[0] for path in RUNS.glob(f"*/{mark}"))
    return sorted(folders, key=_changed, reverse=True)


def _changed(run: Path) -> float:
    metrics = run / "metrics.jsonl"
    return (metrics if metrics.exists() else run).stat().st_mtime
