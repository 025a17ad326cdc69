"""Ratings as a picture: one row per player, its Elo with the 95 % error bar, plain SVG."""

from __future__ import annotations

from html import escape

from evaluator.ratings import Ratings
from reversi.games.rules import Game
from scripts.curves import Scale, svg
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
    x = Scale(low, max(high, low + 1), left, left + PLOT, least_step=1)
    bottom = TOP + ROW * len(table)
    parts = [
        f'<text x="{left}" y="20" font-weight="bold">{escape(game.name)}: Elo above {escape(ratings.anchor)}</text>'
    ]
    for at, text in x.ticks:
        parts.append(f'<path d="M{at} {TOP - 6}V{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{at}" y="{bottom + 18}" text-anchor="middle">{text}</text>')
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
    return svg(left + PLOT + RIGHT, bottom + BOTTOM, parts)
