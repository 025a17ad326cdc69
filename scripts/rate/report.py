"""Ratings as text and as JSON: the table, the residuals, and notes on both."""

from __future__ import annotations

from typing import Any

from evaluator.ladder import Ladder
from evaluator.ratings import Ratings
from reversi import json

WORTH_NOTING = 3.0
"""Smallest residual, in standard errors, that is listed below the table."""

LONGEST = 40
"""Most letters of a name shown in a table; an external program's command can be long."""

KIND = 12
"""Letters shown of the beginning of a longer name."""


def as_text(ladder: Ladder, ratings: Ratings, forfeits: dict[str, int]) -> str:
    """Return the table, the matrix of residuals, and lines on large residuals and forfeits."""
    width = max(len(shortened(rating.player)) for rating in ratings.table)
    lines = [
        f"{ladder.game.name}, {ladder.games} games a pair, 95 % error bars, {ratings.anchor} at 0",
        "",
        f"  # {'player':<{width}}    Elo    +-  games  score  over next",
    ]
    for rank, rating in enumerate(ratings.table, start=1):
        over = "" if rating.superiority is None else f"{rating.superiority:.3f}"
        lines.append(
            f"{rank:>3} {shortened(rating.player):<{width}} {rating.elo:>6.0f} {rating.error:>5.0f} {rating.games:>6} "
            f"{rating.score:>6.3f}  {over:>9}".rstrip()
        )
    lines += [
        "",
        "residuals: observed less expected points in 100 games, of the row's player",
        *_matrix(ratings, width),
    ]
    lines += [
        f"{r.a} against {r.b}: {100 * r.score:.1f} points of 100, {100 * r.expected:.1f} expected "
        f"({r.z:+.1f} standard errors)"
        for r in sorted(ratings.residuals, key=lambda r: -abs(r.z))
        if abs(r.z) >= WORTH_NOTING
    ]
    lines += [f"{name} forfeited {games} games, counted as lost" for name, games in forfeits.items() if games]
    return "\n".join(lines)


def as_json(ladder: Ladder, ratings: Ratings, forfeits: dict[str, int]) -> str:
    """Return everything as one JSON object."""
    models = {entrant.name: entrant.digest for entrant in ladder.entrants}
    pairs = {(pairing.a, pairing.b): pairing.pairs for pairing in ladder.pairings()}
    players: list[dict[str, Any]] = [
        {
            "rank": rank,
            "player": rating.player,
            "model": models[rating.player],
            "elo": rating.elo,
            "error": rating.error,
            "games": rating.games,
            "score": rating.score,
            "superiority": rating.superiority,
            "forfeits": forfeits[rating.player],
        }
        for rank, rating in enumerate(ratings.table, start=1)
    ]
    met: list[dict[str, Any]] = [
        {
            "a": residual.a,
            "b": residual.b,
            "games": residual.games,
            "pairs": pairs[residual.a, residual.b],
            "score": residual.score,
            "expected": residual.expected,
            "z": residual.z,
        }
        for residual in ratings.residuals
    ]
    about = {"game": ladder.game.name, "size": ladder.game.size, "games": ladder.games, "seed": ladder.seed}
    return json.dumps({**about, "anchor": ratings.anchor, "players": players, "pairs": met})


def shortened(name: str) -> str:
    """Return the name, shortened to fit a table or picture: its kind, and its end, which has the options."""
    return name if len(name) <= LONGEST else name[:KIND] + "..." + name[KIND + 3 - LONGEST :]


def _matrix(ratings: Ratings, width: int) -> list[str]:
    """Return one row per player, best first, and one column per rank."""
    excess = {(r.a, r.b): r.excess for r in ratings.residuals}
    excess |= {(b, a): -points for (a, b), points in excess.items()}
    names = [rating.player for rating in ratings.table]
    lines = [" " * (width + 4) + "".join(f"{rank:>6}" for rank in range(1, len(names) + 1))]
    for rank, a in enumerate(names, start=1):
        cells = (f"{100 * excess[a, b]:>+6.1f}" if (a, b) in excess else f"{'.':>6}" for b in names)
        lines.append(f"{rank:>3} {shortened(a):<{width}}" + "".join(cells))
    return lines
