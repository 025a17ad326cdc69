"""SPRT: a match that runs until it is clear whether the Elo difference is `elo0` or `elo1`.

The sequential probability ratio test of A. Wald (Annals of Mathematical Statistics 16, 1945) tracks the log-likelihood
ratio of the two hypotheses and stops when it leaves the interval between log(beta / (1 - alpha)) and
log((1 - beta) / alpha).  How often pairs are split or drawn is unknown, so each hypothesis uses the likeliest
distribution of a pair's five results with its expected score: the generalised test of X. Li, J. Liu and Z. Ying
(Sequential Analysis 33, 2014), as worked out by M. Van den Bergh for Stockfish's fishtest
(https://official-stockfish.github.io/docs/fishtest-wiki/Fishtest-Mathematics.html).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from evaluator.match import Pairs
from reversi.errors import UsageError

POINTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Score of each of the five results of a pair."""

UNSEEN = 1e-3
"""Pairs counted for a result not seen yet, so that every expected score can be reached; fishtest's value."""

LARGEST_ELO = 1000.0
"""Largest Elo difference that can be tested; at this difference 997 of 1,000 games are won."""


@dataclass(frozen=True, kw_only=True)
class Sprt:
    """A test of Elo difference `elo0` (H0) against `elo1` (H1), for the first player of a match."""

    elo0: float
    """Elo difference under H0, the lower one."""
    elo1: float
    """Elo difference under H1.  Closer to `elo0` needs more games: four times as many for half the distance."""
    alpha: float = 0.05
    """Probability of accepting H1 although the difference is `elo0`."""
    beta: float = 0.05
    """Probability of accepting H0 although the difference is `elo1`."""

    def __post_init__(self) -> None:
        if not -LARGEST_ELO <= self.elo0 < self.elo1 <= LARGEST_ELO:
            raise UsageError(
                f"expected two Elo differences from {-LARGEST_ELO:.0f} to {LARGEST_ELO:.0f}, the lower one first, "
                f"got {self.elo0:g} and {self.elo1:g}"
            )
        for name, rate in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < rate < 0.5:
                raise UsageError(f"expected an error rate {name} between 0 and 0.5, got {rate:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """H0 is accepted at or below the first log-likelihood ratio, H1 at or above the second."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def ratio(self, pairs: Pairs) -> float:
        """Return the log-likelihood ratio of H1 to H0: positive values favour H1; 0 without pairs."""
        if not any(pairs):
            return 0.0
        counts = [max(count, UNSEEN) for count in pairs]
        under0, under1 = (likeliest(counts, expected_score(elo)) for elo in (self.elo0, self.elo1))
        return sum(n * math.log(p1 / p0) for n, p0, p1 in zip(counts, under0, under1, strict=True))

    def verdict(self, pairs: Pairs) -> Literal["H0", "H1"] | None:
        """Return the accepted hypothesis, or None while the match should go on."""
        ratio, (lower, upper) = self.ratio(pairs), self.bounds
        return "H1" if ratio >= upper else "H0" if ratio <= lower else None

    def summary(self, pairs: Pairs) -> str:
        """One line: `SPRT of Elo 0 against 20: H1 accepted, Elo 20 (ratio 2.97, bounds -2.94 and 2.94, 130 pairs)`."""
        verdict = self.verdict(pairs)
        accepted = {"H0": f"H0 accepted, Elo {self.elo0:g}", "H1": f"H1 accepted, Elo {self.elo1:g}"}
        outcome = accepted[verdict] if verdict else "no verdict, more games are needed"
        lower, upper = self.bounds
        return (
            f"SPRT of Elo {self.elo0:g} against {self.elo1:g}: {outcome} "
            f"(ratio {self.ratio(pairs):.2f}, bounds {lower:.2f} and {upper:.2f}, {sum(pairs)} pairs)"
        )


def expected_score(elo: float) -> float:
    """Return the points per game that the Elo model predicts at a difference of `elo`."""
    return 1 / (1 + 10 ** (-elo / 400))


def likeliest(counts: list[float], score: float) -> list[float]:
    """Return the distribution of a pair's five results that makes `counts` likeliest among those with mean `score`.

    By Lagrange's method it is p_i = f_i / (1 + x (a_i - score)), with f_i the observed shares, a_i the results' scores
    and x the root of sum f_i (a_i - score) / (1 + x (a_i - score)).  That sum falls from infinity to minus infinity
    where all denominators are positive, so the root is found by bisection.  All counts must be positive.
    """
    total = sum(counts)
    shares = [(count / total, points - score) for count, points in zip(counts, POINTS, strict=True)]
    low, high = -1 / (1 - score), 1 / score
    for _ in range(60):
        middle = (low + high) / 2
        if sum(share * away / (1 + middle * away) for share, away in shares) > 0:
            low = middle
        else:
            high = middle
    return [share / (1 + low * away) for share, away in shares]
