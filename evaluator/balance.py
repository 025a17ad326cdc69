"""Near-balanced openings: random ones that a judge finds about even, so that players decide and not sides.

The idea is that of XOT: 8-move openings that two strong programs found about even, from which one is drawn for a game
(https://berg.earthlingz.de/xot/aboutxot.php).  The judge here is a model's search; the openings are the same for the
same judge, seed and plies, and a longer list begins with the shorter one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evaluator.openings import Openings, random_openings
from reversi.errors import ConfigError
from reversi.games.bitboard import Masks
from reversi.games.rules import Game
from reversi.games.symmetry import canonical_key

Judge = Callable[[Masks, Masks], NDArray[np.float32]]
"""Returns P(win) - P(loss) of the side to move in each of B positions."""

PLIES = 8
"""Random plies where their number is left open, as in XOT: fewer give openings that are few and alike."""

DRAWN = 32
"""Openings that are drawn and judged at a time."""

PATIENCE = 20
"""Draws of `DRAWN` openings in a row without a new one, after which there are taken to be no more."""

TRIED = 100
"""Openings judged at most per opening that is wanted."""


def balanced_openings(game: Game, count: int, plies: int | None, seed: int, judge: Judge, bound: float) -> Openings:
    """Return `count` openings of random plies, distinct up to symmetry, whose value is at most `bound` from 0.

    plies  None takes `PLIES`

    Raises ConfigError if the judge finds too few among all there are, or among `TRIED` times as many as are wanted.
    """
    plies = PLIES if plies is None else plies
    seen: set[tuple[int, int]] = set()
    found: list[Openings] = []
    have, fruitless, draw = 0, 0, 0
    while not found or (have < count and fruitless < PATIENCE and len(seen) < TRIED * count):
        drawn = random_openings(game, DRAWN, plies, (seed, draw))
        images = [canonical_key(game, own, opp) for own, opp in zip(drawn.own, drawn.opp, strict=True)]
        fresh = [b for b, image in enumerate(images) if image not in seen]
        seen |= set(images)
        fruitless, draw = 0 if fresh else fruitless + 1, draw + 1
        new = drawn.take(np.array(fresh, np.int64))
        even = new.take(np.flatnonzero(np.abs(judge(new.own, new.opp)) <= bound)) if fresh else new
        found.append(even)
        have += len(even)
    if have < count:
        raise ConfigError(
            f"expected {count} openings of {plies} plies in {game.name} with a value within {bound:g} of 0, but only "
            f"{have} of {len(seen)} tried are; allow a larger bound, more opening plies or fewer games"
        )
    return _joined(found).take(np.arange(count))


def most_even(openings: Openings, count: int, judge: Judge) -> Openings:
    """Return, in their order, the `count` openings of those given whose value is nearest to 0."""
    nearest = np.argsort(np.abs(judge(openings.own, openings.opp)), kind="stable")[:count]
    return openings.take(np.sort(nearest))


def _joined(parts: list[Openings]) -> Openings:
    return Openings(
        np.concatenate([part.own for part in parts]),
        np.concatenate([part.opp for part in parts]),
        np.concatenate([part.black_to_move for part in parts]),
        np.concatenate([part.actions for part in parts]),
    )
