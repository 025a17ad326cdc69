"""`reversi rate --truth`: players compared with the exact scores of labelled positions, as a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reversi import json
from scripts.curves import Curve, Panel
from scripts.curves import draw as curves_as_svg
from scripts.rate.report import shortened

if TYPE_CHECKING:
    from evaluator.labels import Labels
    from evaluator.truth import Difference, Truth
    from reversi.players import Player

MOST_CURVES = 5
"""Players in the picture; more lines than that cannot be told apart."""


class Column(NamedTuple):
    """A column of the table."""

    heading: str
    field: str
    """Of `Truth`."""
    factor: int
    decimals: int
    width: int = 12


COLUMNS = (
    Column("outcome kept", "outcome_kept", 100, 1),
    Column("+-", "outcome_kept_error", 100, 1, 4),
    Column("margin kept", "margin_kept", 100, 1),
    Column("regret", "regret_discs", 1, 2),
    Column("+-", "regret_error_discs", 1, 2, 4),
    Column("policy best", "policy_best", 100, 1),
    Column("policy outcome", "policy_outcome", 100, 1, 14),
    Column("value error", "value_error", 1, 3),
    Column("calibration", "calibration_error", 1, 3),
)
"""The columns after the number of positions."""


@dataclass(frozen=True)
class Judged:
    """A player's results."""

    whole: Truth
    """Over all positions."""
    by_empties: dict[int, Truth]
    """Over those with each number of empty squares."""
    less_first: Difference | None
    """Minus the first player's; None for that one itself."""


Found = dict[str, Judged]
"""Every player's results, by its name, in the order of the players."""


def judge(labels: Labels, players: list[Player]) -> Found:
    """Ask every player about all positions."""
    from evaluator.truth import ask, difference_of, truth_by_empties, truth_of

    truths: Found = {}
    first = None
    for player in players:
        answers = ask(player, labels)
        less_first = None if first is None else difference_of(labels, answers, first)
        truths[player.name] = Judged(truth_of(labels, answers), truth_by_empties(labels, answers), less_first)
        first = first or answers
    return truths


def as_text(labels: Labels, path: Path, truths: Found, *, brief: bool) -> str:
    """Return the table: a line per player, then, unless `brief`, for each player a line per number of empty squares."""
    lines = [
        f"{path}: {len(labels)} positions of {labels.game}, {labels.empties.min()}-{labels.empties.max()} empty "
        f"squares, sha256 {labels.hash[:16]}",
        "kept and policy in %, regret in discs, +- one standard error",
        "",
        *_table("player", [(shortened(name), judged.whole) for name, judged in truths.items()]),
    ]
    for name, judged in truths.items() if not brief else ():
        parts = [(str(empties), truth) for empties, truth in judged.by_empties.items()]
        lines += ["", f"{name}, by empty squares", *_table("empty", parts)]
    return "\n".join(lines)


def as_json(labels: Labels, path: Path, truths: Found, *, brief: bool) -> str:
    """Return everything as one JSON object; if `brief`, without the results by empty squares."""
    players: list[dict[str, Any]] = []
    for name, judged in truths.items():
        less_first = None if judged.less_first is None else asdict(judged.less_first)
        player = {"player": name, "all": asdict(judged.whole), "less_first": less_first}
        if not brief:
            player["empties"] = {str(empties): asdict(part) for empties, part in judged.by_empties.items()}
        players.append(player)
    about = {"file": str(path), "game": labels.game, "positions": len(labels), "sha256": labels.hash}
    return json.dumps({**about, "players": players})


def draw(truths: Found, labels: Labels) -> str:
    """Return an SVG picture: the share of moves that keep the result, by empty squares, of at most five players."""
    curves = [
        Curve(
            f"{shortened(name)}: {100 * judged.whole.outcome_kept:.1f} %",
            list(judged.by_empties),
            [100 * part.outcome_kept for part in judged.by_empties.values()],
            dots=True,
        )
        for name, judged in _furthest_apart(truths).items()
    ]
    low = min((share // 10 * 10 for curve in curves for share in curve.y), default=0.0)
    panel = Panel("moves that keep the result, %", curves, 300, low=min(low, 90.0), high=100.0, names_at_ends=True)
    return curves_as_svg(f"{labels.game}, exact labels", "empty squares", [panel], x_low=float(labels.empties.min()))


def _furthest_apart(truths: Found) -> Found:
    """Return at most `MOST_CURVES` players in their order: the best and the worst, then always the one whose share of
    results kept is furthest from all shares chosen before."""
    kept = {name: judged.whole.outcome_kept for name, judged in truths.items()}
    chosen = list(dict.fromkeys((max(kept, key=kept.__getitem__), min(kept, key=kept.__getitem__)))) if kept else []
    while len(chosen) < min(MOST_CURVES, len(kept)):
        others = [name for name in kept if name not in chosen]
        chosen.append(max(others, key=lambda name: min(abs(kept[name] - kept[each]) for each in chosen)))
    return {name: judged for name, judged in truths.items() if name in chosen}


def _table(first: str, truths: list[tuple[str, Truth]]) -> list[str]:
    """Return a heading and a row per truth, each with its name."""
    width = max(len(first), *(len(name) for name, _ in truths))
    headings = "".join(f"  {column.heading:>{column.width}}" for column in COLUMNS)
    rows = [f"{first:<{width}}  positions{headings}"]
    for name, truth in truths:
        cells = "".join(f"  {_cell(truth, column):>{column.width}}" for column in COLUMNS)
        rows.append(f"{name:<{width}}  {truth.positions:>9}{cells}")
    return rows


def _cell(truth: Truth, column: Column) -> str:
    value = getattr(truth, column.field)
    return "-" if value is None else f"{column.factor * value:.{column.decimals}f}"
