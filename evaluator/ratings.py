"""Ratings: one Elo number per player, fitted to the results of all pairs of players at once.

The model is that of Bradley and Terry (Biometrika 39, 1952) on Elo's scale: a player 400 points above another scores 10
points to 1, draws counted half.  The ratings are the maximum-likelihood estimate, with one anchor at 0.  Four choices
are made here.

* Prior.  Every player is given one drawn game, spread evenly over its opponents; without it 100 wins of 100 would be
  an infinite difference.  With two players at 100-0 the difference is 921.
* Error bars.  They apply to the difference to the anchor and come from the sandwich estimator of H. White (Econometrica
  50, 1982): the inverse information around the observed variance of the pairs of games of one opening.  Pairs whose
  opening decides both games carry less information than two games, and vary less.
* Few results.  That variance is shrunk towards the variance of independent games, as if `PRIOR_VARIANCE` of it had been
  seen already, so that ten wins in ten games do not count as certainty.
* Residuals.  What one number per player cannot explain, such as rock, paper and scissors, is reported for each pair of
  players: observed minus expected score, also in standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluator.match import Pairs
from evaluator.stats import Z95, normal_cdf
from reversi.errors import UsageError

ELO = 400 / math.log(10)
"""Elo points per natural unit of log-odds."""

PRIOR_GAMES = 1.0
"""Drawn games given to every player, over all its opponents together; the prior."""

PRIOR_VARIANCE = 2.0
"""Variance, in points squared, that independent games are assumed to have shown before the first pair was played."""

CLOSE = 1e-10
"""Newton's method ends when no rating changes by more than this, in log-odds, or when only rounding errors are left:
with millions of games they exceed it."""


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """All games between two players."""

    a: str
    """The first player's name."""
    b: str
    """The second player's name."""
    pairs: Pairs
    """Pairs of games of one opening, by the first player's points in them: 0, 1/2, 1, 3/2, 2."""

    @property
    def games(self) -> int:
        """Games played, two per pair."""
        return 2 * sum(self.pairs)

    @property
    def points(self) -> float:
        """The first player's points."""
        return sum(count * half_points for half_points, count in enumerate(self.pairs)) / 2


@dataclass(frozen=True, kw_only=True)
class Rating:
    """One player's place in the table."""

    player: str
    elo: float
    """Elo above the anchor, which has exactly 0."""
    error: float
    """Half the width of the 95 % interval of `elo`; 0 for the anchor."""
    games: int
    score: float
    """Points per game against all opponents."""
    superiority: float | None
    """Probability that it is stronger than the next player in the table; None for the last one."""


@dataclass(frozen=True, kw_only=True)
class Residual:
    """What the ratings do not explain in one pairing."""

    a: str
    b: str
    games: int
    score: float
    """Points per game of `a`."""
    expected: float
    """The score that the ratings predict."""
    z: float
    """`score` minus `expected` in standard errors; slightly too small, since the ratings were fitted to the score."""

    @property
    def excess(self) -> float:
        """Observed minus expected score of `a`."""
        return self.score - self.expected


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """The table, best player first, and the residuals in the order of the pairings."""

    anchor: str
    table: tuple[Rating, ...]
    residuals: tuple[Residual, ...]


def rate(players: Sequence[str], pairings: Sequence[Pairing], anchor: str) -> Ratings:
    """Rate `players` by the games of `pairings`; `anchor` gets 0.

    Raises UsageError if a player is not linked to the anchor by a chain of games.
    """
    index = {name: i for i, name in enumerate(players)}
    assert anchor in index, f"expected the anchor among the players, got {anchor!r}"
    ends = np.array([(index[p.a], index[p.b]) for p in pairings if p.games], np.int64).reshape(-1, 2)
    played = [p for p in pairings if p.games]
    _expect_links(players, ends, index[anchor])
    games = np.array([p.games for p in played], np.float64)
    points = np.array([p.points for p in played], np.float64)
    strength = _strengths(len(players), ends, games, points, index[anchor])
    expected = _expected(strength, ends)
    variance = np.array([_variance(p.pairs, 2 * e, e) for p, e in zip(played, expected.tolist(), strict=True)])
    covariance = _covariance(len(players), ends, games, expected, variance, index[anchor])
    return Ratings(
        anchor=anchor,
        table=_table(players, strength, covariance, ends, games, points),
        residuals=tuple(_residual(p, e) for p, e in zip(played, expected.tolist(), strict=True)),
    )


def _expect_links(players: Sequence[str], ends: NDArray[np.int64], anchor: int) -> None:
    linked = {anchor}
    for _ in players:
        linked |= {int(i) for pair in ends if linked & set(pair.tolist()) for i in pair}
    if lonely := [name for i, name in enumerate(players) if i not in linked]:
        raise UsageError(f"expected games that link every player to {players[anchor]}, but {lonely[0]} has none")


def _strengths(
    players: int, ends: NDArray[np.int64], games: NDArray[np.float64], points: NDArray[np.float64], anchor: int
) -> NDArray[np.float64]:
    """Return float64[players], the maximum-likelihood log-odds above the anchor, given the results and the prior."""
    prior = _prior_games(players, ends)
    won, lost = points + prior / 2, games - points + prior / 2
    free = np.arange(players) != anchor

    def loss(strength: NDArray[np.float64]) -> float:
        lead = strength[ends[:, 0]] - strength[ends[:, 1]]
        return float(won @ np.logaddexp(0, -lead) + lost @ np.logaddexp(0, lead))

    strength = np.zeros(players)
    while True:
        expected = _expected(strength, ends)
        gradient = np.zeros(players)
        np.add.at(gradient, ends[:, 0], won - (won + lost) * expected)
        np.add.at(gradient, ends[:, 1], (won + lost) * expected - won)
        information = _laplacian(players, ends, (won + lost) * expected * (1 - expected))
        step = np.zeros(players)
        step[free] = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        before = loss(strength)
        while (after := loss(strength + step)) > before and np.abs(step).max() > CLOSE:
            step /= 2  # Newton's method can overshoot; the loss is convex, so a small enough step reduces it
        strength += step
        if after >= before or np.abs(step).max() <= CLOSE:
            return strength


def _expected(strength: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return float64[pairings], the score per game that the ratings predict for each pairing's first player."""
    return np.asarray(1 / (1 + np.exp(strength[ends[:, 1]] - strength[ends[:, 0]])), np.float64)


def _prior_games(players: int, ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the drawn games given to each pairing: the mean of both players' shares, since a game counts for both."""
    opponents = np.bincount(ends.ravel(), minlength=players)
    return PRIOR_GAMES * (1 / opponents[ends[:, 0]] + 1 / opponents[ends[:, 1]]) / 2


def _laplacian(players: int, ends: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[players, players], the sum over pairings of weight * (e_a - e_b)(e_a - e_b)^T."""
    sums = np.zeros((players, players))
    a, b = ends[:, 0], ends[:, 1]
    for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
        np.add.at(sums, (i, j), sign * weight)
    return sums


def _variance(pairs: Pairs, centre: float, expected: float) -> float:
    """Return the variance of the first player's total points in all games, in points squared.

    centre    its points per pair, around which the pairs vary
    expected  its expected score per game

    The variance of independent games is scaled by the dispersion: the observed variance of the pairs over that of
    independent games, with the prior added to both.
    """
    seen = sum(count * (half_points / 2 - centre) ** 2 for half_points, count in enumerate(pairs))
    independent = 2 * sum(pairs) * expected * (1 - expected)
    return independent * (seen + PRIOR_VARIANCE) / (independent + PRIOR_VARIANCE)


def _covariance(
    players: int,
    ends: NDArray[np.int64],
    games: NDArray[np.float64],
    expected: NDArray[np.float64],
    variance: NDArray[np.float64],
    anchor: int,
) -> NDArray[np.float64]:
    """Return float64[players, players], the covariance of the log-odds above the anchor; the anchor's row is 0."""
    free = np.ix_(*[np.arange(players) != anchor] * 2)
    weight = (games + _prior_games(players, ends)) * expected * (1 - expected)
    bread = np.linalg.inv(_laplacian(players, ends, weight)[free])
    covariance = np.zeros((players, players))
    covariance[free] = bread @ _laplacian(players, ends, variance)[free] @ bread
    return covariance


def _table(
    players: Sequence[str],
    strength: NDArray[np.float64],
    covariance: NDArray[np.float64],
    ends: NDArray[np.int64],
    games: NDArray[np.float64],
    points: NDArray[np.float64],
) -> tuple[Rating, ...]:
    """Return the players' ratings, best first."""
    played, scored = np.zeros(len(players)), np.zeros(len(players))
    for side, own in ((0, points), (1, games - points)):
        np.add.at(played, ends[:, side], games)
        np.add.at(scored, ends[:, side], own)
    order = np.argsort(-strength, kind="stable").tolist()
    table = []
    for i, after in zip(order, [*order[1:], None], strict=True):
        likelihood = None
        if after is not None:
            spread = covariance[i, i] + covariance[after, after] - 2 * covariance[i, after]
            likelihood = normal_cdf((strength[i] - strength[after]) / math.sqrt(spread))
        table.append(
            Rating(
                player=players[i],
                elo=ELO * float(strength[i]),
                error=ELO * Z95 * math.sqrt(covariance[i, i]),
                games=int(played[i]),
                score=float(scored[i] / played[i]) if played[i] else 0.5,
                superiority=likelihood,
            )
        )
    return tuple(table)


def _residual(pairing: Pairing, expected: float) -> Residual:
    score = pairing.points / pairing.games
    error = math.sqrt(_variance(pairing.pairs, 2 * score, expected)) / pairing.games
    return Residual(
        a=pairing.a,
        b=pairing.b,
        games=pairing.games,
        score=score,
        expected=expected,
        z=(score - expected) / error,
    )
