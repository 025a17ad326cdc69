"""Near-balanced openings: random openings that a judge evaluates as about even, so that strength decides, not colour.

The idea follows XOT: a list of 8-move openings that two strong programs evaluated as about even, one of which is drawn
per game (https://berg.earthlingz.de/xot/aboutxot.php).  Here the judge is a model's search.  The same judge, bound,
seed and plies give the same openings, and a longer list starts with the shorter one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evaluator.openings import Openings, random_openings
from reversi.errors import ConfigError
from reversi.games.bitboard import Masks
from reversi.games.rules import Game, game_named
from reversi.games.symmetry import canonical_key

Judge = Callable[[Masks, Masks], NDArray[np.float32]]
"""Returns P(win) - P(loss) of the side to move in each of B positions."""

PLIES = 8
"""Default number of random plies, as in XOT; with fewer plies the openings are few and similar."""

DRAWN = 32
"""Openings drawn and judged at a time."""

PATIENCE = 20
"""Consecutive draws of `DRAWN` openings without a new one after which the openings count as exhausted."""

TRIED = 100
"""Most openings judged per opening requested."""


def balanced_openings(
    game: Game | str, count: int, plies: int | None, seed: int, judge: Judge, bound: float
) -> Openings:
    """Return `count` openings of random plies, distinct up to symmetry, with values at most `bound` from 0.

    plies  None means `PLIES`

    Raises ConfigError if the judge finds too few among all there are, or among `TRIED` times as many as requested.
    """
    game = game_named(game)
    plies = PLIES if plies is None else plies
    seen: set[tuple[int, int]] = set()
    parts: list[Openings] = []
    have, fruitless, draw = 0, 0, 0
    while not parts or (have < count and fruitless < PATIENCE and len(seen) < TRIED * count):
        drawn = random_openings(game, DRAWN, plies, (seed, draw), least=1)
        images = [canonical_key(game, own, opp) for own, opp in zip(drawn.own, drawn.opp, strict=True)]
        fresh = [b for b, image in enumerate(images) if image not in seen]
        seen |= set(images)
        fruitless, draw = 0 if fresh else fruitless + 1, draw + 1
        new = drawn.take(np.array(fresh, np.int64))
        even = new.take(np.flatnonzero(np.abs(judge(new.own, new.opp)) <= bound)) if fresh else new
        parts.append(even)
        have += len(even)
    if have < count:
        raise ConfigError(
            f"expected {count} openings of {plies} plies in {game.name} with a value within {bound:g} of 0, but only "
            f"{have} of {len(seen)} tried are; allow a larger bound, more opening plies or fewer games"
        )
    return Openings.concatenate(parts).take(np.arange(count))


def most_even(openings: Openings, count: int, values: NDArray[np.float32]) -> Openings:
    """Return the `count` openings with the `values` (float[B]) nearest to 0, in their original order."""
    nearest = np.argsort(np.abs(values), kind="stable")[:count]
    return openings.take(np.sort(nearest))
