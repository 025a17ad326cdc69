"""The learning curves of a run, drawn from its metrics; the help of `reversi picture` says what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reversi.errors import RunError
from scripts.curves import Curve, Panel, draw
from scripts.run.tracking.jsonl import Row, rows_of

PICTURE = "learning.svg"
"""Name of the picture in the run's folder."""

SHOWN = ("gate/champion_elo", "learner/losses/", "learner/validation/", "play/")
"""Names, and beginnings of names, of the metrics in the pictures."""


def picture_of(folder: Path, target: Path) -> Path:
    """Draw the run in `folder` into `target` and return that; a run without metrics is a RunError."""
    from reversi.files import write_output

    rows = rows_of(folder, *SHOWN)
    panels = panels_of(rows)
    if not panels:
        raise RunError(f"expected metrics of training in {folder / 'metrics.jsonl'}, but it has none yet")
    by_games = any("play/wins" in row for row in rows)
    write_output(target, draw(folder.name, "games" if by_games else "minutes of training", panels).encode())
    return target


def picture_of_several(folders: Sequence[Path], target: Path) -> Path:
    """Draw the curves of several runs into the same panels, those that all of them have, each named by its run."""
    from reversi.files import write_output

    found = [{panel.title: panel for panel in panels_of(rows_of(folder, *SHOWN))} for folder in folders]
    titles = [title for title in found[0] if all(title in panels for panels in found)]
    if not titles:
        raise RunError(f"expected runs with metrics of the same kind, got {', '.join(map(str, folders))}")
    panels = []
    for title in titles:
        curves = [
            replace(curve, name=f"{folder.name}: {curve.name}" if len(each[title].curves) > 1 else folder.name)
            for folder, each in zip(folders, found, strict=True)
            for curve in each[title].curves
        ]
        panels.append(replace(found[0][title], curves=curves))
    write_output(target, draw(f"{len(folders)} runs", "minutes of training", panels).encode())
    return target


def panels_of(rows: list[Row]) -> list[Panel]:
    """Return what these metrics can show; empty panels are left out."""

    def curve(metric: str, name: str, step: bool = False) -> Curve:
        held = [row for row in rows if metric in row]
        return Curve(name, [row["elapsed_s"] / 60 for row in held], [row[metric] for row in held], step)

    metrics = set().union(*rows)
    champion = Panel(
        "Elo above the first model, sum of the matches", [curve("gate/champion_elo", "champion", True)], 220
    )
    if "play/wins" in metrics:
        panels = [_results(rows)]
    elif "learner/losses/accuracy" in metrics:
        accuracy = [curve("learner/losses/accuracy", "training"), curve("learner/validation/top1", "validation")]
        loss = [curve("learner/losses/policy", "training"), curve("learner/validation/loss", "validation")]
        panels = [Panel("policy accuracy (top-1)", accuracy, 220), Panel("cross-entropy, nats", loss)]
    elif "learner/losses/q" in metrics:
        values = [curve("learner/losses/q", "of the moves taken"), curve("learner/losses/target", "target")]
        panels = [champion, Panel("loss", [curve("learner/losses/total", "loss")]), Panel("mean action value", values)]
    else:
        losses = [curve(f"learner/losses/{part}", part) for part in ("policy", "value")]
        panels = [champion, Panel("loss", losses)]
    return [panel for panel in panels if any(len(curve.x) for curve in panel.curves)]


def _results(rows: list[Row]) -> Panel:
    """Return won, drawn and lost games of the side that learns, as shares of the games since the row before."""
    played = [row for row in rows if "play/wins" in row]
    x = [row["play/games"] for row in played]
    names = {"wins": "won", "draws": "drawn", "losses": "lost"}
    of = [sum(row[f"play/{name}"] for name in names) for row in played]
    curves = [
        Curve(text, x, [row[f"play/{name}"] / n for row, n in zip(played, of, strict=True)])
        for name, text in names.items()
    ]
    return Panel("results of the side that learns, share of every hundred games or so", curves, 260, 0.0, 1.0)
