"""Ratings as a picture: one row per player, its Elo with the 95 % error bar, plain SVG."""

from __future__ import annotations

from html import escape

from evaluator.ratings import Ratings
from reversi.games.rules import Game
from scripts.rate.report import shortened

ROW = 24
"""Height of a player's row, in pixels, like all sizes below."""

PLOT = 480
"""Width of the Elo axis."""

TOP, BOTTOM, RIGHT = 40, 36, 60
"""Margins for the title, the axis and the last number."""

LETTER = 7.2
"""Width reserved per letter of a name."""


def draw(ratings: Ratings, game: Game) -> str:
    """Return the picture as SVG text, best player on top."""
    table = ratings.table
    names = [shortened(rating.player) for rating in table]
    left = round(16 + LETTER * max(map(len, names)))
    low = min(rating.elo - rating.error for rating in table)
    high = max(rating.elo + rating.error for rating in table)
    step = _step(high - low)
    first, last = int(low // step), max(int(-(-high // step)), int(low // step) + 1)

    def x(elo: float) -> float:
        return round(left + PLOT * (elo / step - first) / (last - first), 1)

    bottom = TOP + ROW * len(table)
    parts = [
        f'<text x="{left}" y="20" font-weight="bold">{escape(game.name)}: Elo above {escape(ratings.anchor)}</text>'
    ]
    for tick in range(first, last + 1):
        at = x(tick * step)
        parts.append(f'<path d="M{at} {TOP - 6}V{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{at}" y="{bottom + 18}" text-anchor="middle">{tick * step}</text>')
    for row, (name, rating) in enumerate(zip(names, table, strict=True)):
        y = TOP + ROW * row + ROW // 2
        parts += [
            f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(name)}</text>',
            f'<path d="M{x(rating.elo - rating.error)} {y}H{x(rating.elo + rating.error)}" stroke="#1b7837" '
            'stroke-width="2"/>',
            f'<circle cx="{x(rating.elo)}" cy="{y}" r="4" fill="#1b7837"><title>{escape(rating.player)}: '
            f"{rating.elo:.0f} +- {rating.error:.0f}</title></circle>",
            f'<text x="{left + PLOT + 10}" y="{y + 4}">{rating.elo:.0f}</text>',
        ]
    width, height = left + PLOT + RIGHT, bottom + BOTTOM
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def _step(span: float) -> int:
    """Return the distance between two ticks: `span` has at most ten of them."""
    return next((step for step in (10, 20, 50, 100, 200, 500, 1000) if span <= 10 * step), 2000)
