"""`reversi rate --truth`: players compared with the exact scores of labelled positions, as a table."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.curves import Curve, Panel
from scripts.curves import draw as curves_as_svg
from scripts.rate.report import shortened

if TYPE_CHECKING:
    from evaluator.labels import Labels
    from evaluator.truth import Truth
    from reversi.players import Player

Found = dict[str, tuple["Truth", dict[int, "Truth"]]]
"""Each player's results over all positions, and by the number of empty squares."""

COLUMNS = {
    "outcome kept": ("outcome_kept", 100, "{:.1f}"),
    "margin kept": ("margin_kept", 100, "{:.1f}"),
    "regret": ("regret_discs", 1, "{:.2f}"),
    "policy best": ("policy_best", 100, "{:.1f}"),
    "policy outcome": ("policy_outcome", 100, "{:.1f}"),
    "value error": ("value_error", 1, "{:.3f}"),
    "calibration": ("calibration_error", 1, "{:.3f}"),
}
"""Heading, field, factor and format of every column after the number of positions."""


def judge(labels: Labels, players: list[Player]) -> Found:
    """Ask every player about all positions."""
    from evaluator.truth import ask, truth_by_empties, truth_of

    found: Found = {}
    for player in players:
        answers = ask(player, labels)
        found[player.name] = truth_of(labels, answers), truth_by_empties(labels, answers)
    return found


def as_text(labels: Labels, path: Path, found: Found) -> str:
    """Return the table: a line per player, then for each player a line per number of empty squares."""
    lines = [
        f"{path}: {len(labels)} positions of {labels.game}, {labels.empties.min()}-{labels.empties.max()} empty "
        f"squares, sha256 {labels.hash[:16]}",
        "kept and policy in %, regret in discs",
        "",
        *_table("player", [(shortened(name), truth) for name, (truth, _) in found.items()]),
    ]
    for name, (_, by_empties) in found.items():
        parts = [(str(empties), truth) for empties, truth in by_empties.items()]
        lines += ["", f"{name}, by empty squares", *_table("empty", parts)]
    return "\n".join(lines)


def as_json(labels: Labels, path: Path, found: Found) -> str:
    """Return everything as one JSON object."""
    players: list[dict[str, Any]] = [
        {
            "player": name,
            "all": asdict(truth),
            "empties": {str(empties): asdict(part) for empties, part in by_empties.items()},
        }
        for name, (truth, by_empties) in found.items()
    ]
    about = {"file": str(path), "game": labels.game, "positions": len(labels), "sha256": labels.hash}
    return json.dumps({**about, "players": players})


def draw(found: Found, labels: Labels) -> str:
    """Return an SVG picture: the share of moves that keep the result, by empty squares, a curve per player."""
    curves = [
        Curve(
            f"{shortened(name)}: {100 * truth.outcome_kept:.1f} %",
            list(by_empties),
            [100 * part.outcome_kept for part in by_empties.values()],
            dots=True,
        )
        for name, (truth, by_empties) in found.items()
    ]
    low = min((share // 10 * 10 for curve in curves for share in curve.y), default=0.0)
    panel = Panel("moves that keep the result, %", curves, 300, low=min(low, 90.0), high=100.0)
    return curves_as_svg(f"{labels.game}, exact labels", "empty squares", [panel], x_low=float(labels.empties.min()))


def _table(first: str, truths: list[tuple[str, Truth]]) -> list[str]:
    """Return a heading and a row per truth, each with its name."""
    width = max(len(first), *(len(name) for name, _ in truths))
    rows = [f"{first:<{width}}  positions  " + "  ".join(f"{heading:>12}" for heading in COLUMNS)]
    for name, truth in truths:
        cells = []
        for field, factor, form in COLUMNS.values():
            value = getattr(truth, field)
            cells.append(f"{'-' if value is None else form.format(factor * value):>14}")
        rows.append(f"{name:<{width}}  {truth.positions:>9}" + "".join(cells))
    return rows
