"""The folder `runs`: a run by its name, the newest run, and the runs with a registry.

A run is as new as its metrics, so that of two the one that trained last is newer; one without metrics is as new as its
folder.
"""

from __future__ import annotations

from pathlib import Path

from reversi.errors import RunError, closest, did_you_mean

RUNS = Path("runs")
"""The folder of runs, where names of runs are looked up."""

PLAYED = RUNS / "played.ggf"
"""The games that people played in the terminal, oldest first."""


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
    question = did_you_mean(closest(what, [run.name for run in _newest_first("config.yaml")]))
    raise RunError(f"expected a run's folder or its name in {RUNS}/, got {what!r}{question} see `ls {RUNS}`")


def runs_with_registry() -> list[Path]:
    """Return the runs in `RUNS` with models, the newest first; if none has any, those with a folder `registry`."""
    return _newest_first("registry/models") or _newest_first("registry")


def newer_run(run: Path) -> Path | None:
    """Return the newest run in `RUNS` if it is newer than `run`, else None."""
    newest = _newest_first("config.yaml")[:1]
    return newest[0] if newest and newest[0] != run and _changed(newest[0]) > _changed(run) else None


def _newest_first(mark: str) -> list[Path]:
    """Return the folders in `RUNS` that hold a file or folder `mark`, the newest first."""
    folders = (RUNS / path.relative_to(RUNS).parts[0] for path in RUNS.glob(f"*/{mark}"))
    return sorted(folders, key=_changed, reverse=True)


def _changed(run: Path) -> float:
    metrics = run / "metrics.jsonl"
    return (metrics if metrics.exists() else run).stat().st_mtime
