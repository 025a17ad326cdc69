"""Match statistics: score, 95 % intervals by pairs and single games, Elo differences, likelihood of superiority.

The two games of one opening are not independent (a lopsided opening is won by whoever gets the better side), so the
unit of the statistics is the pair: its five possible results, 0 to 2 points in halves, are the "pentanomial" counts
that Stockfish's fishtest uses (https://official-stockfish.github.io/docs/fishtest-wiki/Fishtest-Mathematics.html).
On lopsided openings a pair's result varies far less than two independent games, and the interval is correspondingly
narrower.  The "trinomial" interval treats the games as independent; it allows a comparison with the interval by pairs,
and with results of matches whose games were not paired.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evaluator.match import MatchResult, Pairs

Z95 = 1.959964
"""Standard errors on each side of a 95 % interval of a normal estimate."""

PSEUDO_PAIRS = 2
"""One pair won and one lost 2-0 are added before the interval is taken: Agresti and Coull's "plus four" (The American
Statistician 52, 1998), in pairs.  Without it 400 wins in 400 games would have an interval of zero width."""


EloInterval = tuple[float | None, float | None]
"""Lower and upper end of an interval of an Elo difference; an open end is None: no difference is too large."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """A match from the first player's view, as `reversi match --json` prints it."""

    games: int
    """Games finished."""
    wins: int
    """Games that the first player won."""
    draws: int
    """Games drawn."""
    losses: int
    """Games that the first player lost."""
    score: float
    """Points per game, a draw counting half; 0.5 if no game was played."""
    interval: tuple[float, float]
    """95 % interval of the score, by pairs of games (pentanomial)."""
    elo: float
    """Elo difference that would give this score; positive if the first player is stronger.  If one side won all games,
    their number alone decides it (`elo_difference`), and the interval is open."""
    elo_interval: EloInterval
    """95 % interval of the Elo difference, by pairs of games."""
    pairs: Pairs
    """Openings with both games finished, by the first player's points in them: 0, 1/2, 1, 3/2, 2."""
    trinomial_interval: tuple[float, float]
    """95 % interval of the score as if all games were independent of each other."""
    trinomial_elo_interval: EloInterval
    """95 % interval of the Elo difference as if all games were independent of each other."""
    superiority: float
    """Likelihood of superiority: probability that the first player is the stronger one, given these results."""

    @property
    def summary(self) -> str:
        """One line: `220-10-170, score 0.562 [0.514, 0.611], Elo +43 [+10, +78]`; `Elo > +338 [...]` if all is won."""
        low, high = self.interval
        return (
            f"{self.wins}-{self.draws}-{self.losses}, score {self.score:.3f} [{low:.3f}, {high:.3f}], "
            f"Elo {self._bound}{self.elo:+.0f} {_elo_range(self.elo_interval)}"
        )

    @property
    def _bound(self) -> str:
        """The sign before an Elo difference that only says how many games there were, since one side won them all."""
        if not self.games:
            return ""
        return {self.wins: "> ", self.losses: "< "}.get(self.games, "")

    @property
    def details(self) -> str:
        """One line: `pairs 12-3-150-5-30, superiority 0.998; as independent games score [..., ...], Elo [..., ...]`."""
        low, high = self.trinomial_interval
        return (
            f"pairs {'-'.join(map(str, self.pairs))}, superiority {self.superiority:.3f}; as independent games "
            f"score [{low:.3f}, {high:.3f}], Elo {_elo_range(self.trinomial_elo_interval)}"
        )


def _elo_range(elo: EloInterval) -> str:
    """Format an Elo interval; an open end is infinite."""
    low, high = elo
    return f"[{'-inf' if low is None else f'{low:+.0f}'}, {'+inf' if high is None else f'{high:+.0f}'}]"


def score_of(result: MatchResult) -> Score:
    """Return the statistics of a match, finished or not.

    For a match stopped because its verdict was certain only the games played count; on average its score is then
    slightly further from 0.5 than that of the full match.
    """
    wins, draws, losses = result.wins, result.draws, result.losses
    games = wins + draws + losses
    score = (wins + draws / 2) / games if games else 0.5
    interval, single = score_interval(games, score, result.pairs), trinomial_interval(wins, draws, losses)
    return Score(
        games=games,
        wins=wins,
        draws=draws,
        losses=losses,
        score=score,
        interval=interval,
        elo=elo_difference(score, games),
        elo_interval=elo_interval(*interval),
        pairs=result.pairs,
        trinomial_interval=single,
        trinomial_elo_interval=elo_interval(*single),
        superiority=superiority(games, score, result.pairs),
    )


def score_interval(games: int, score: float, pairs: Pairs) -> tuple[float, float]:
    """Return the 95 % interval of `score` over `games`; it contains the score and is within [0, 1].

    pairs  complete pairs with 0, 1/2, 1, 3/2 and 2 points; they give the variance, all games give the mean
    """
    return _interval(score, *_estimate(games, score, pairs))


def trinomial_interval(wins: int, draws: int, losses: int) -> tuple[float, float]:
    """Return the 95 % interval of the score of independent games, with two wins and two losses added ("plus four")."""
    games = wins + draws + losses
    if not games:
        return 0.0, 1.0
    weight = games + 2 * PSEUDO_PAIRS
    centre = (wins + draws / 2 + PSEUDO_PAIRS) / weight
    points = ((wins + PSEUDO_PAIRS, 1.0), (draws, 0.5), (losses + PSEUDO_PAIRS, 0.0))
    variance = sum(count * (point - centre) ** 2 for count, point in points) / weight
    return _interval((wins + draws / 2) / games, centre, math.sqrt(variance / weight))


def superiority(games: int, score: float, pairs: Pairs) -> float:
    """Return the probability that a player with this score is the stronger one, without prior knowledge of either.

    It uses the normal distribution of the interval by pairs: 0.975 if that interval starts at 0.5.
    """
    centre, error = _estimate(games, score, pairs)
    return normal_cdf((centre - 0.5) / error)


def normal_cdf(z: float) -> float:
    """Return the share of the standard normal distribution below `z`."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _estimate(games: int, score: float, pairs: Pairs) -> tuple[float, float]:
    """Return (centre, standard error) of the score by pairs, including the pseudo-pairs."""
    counts = [pairs[0] + PSEUDO_PAIRS / 2, *pairs[1:4], pairs[4] + PSEUDO_PAIRS / 2]
    weight = sum(counts)
    mean = sum(count * points / 4 for points, count in enumerate(counts)) / weight
    variance = sum(count * (points / 4 - mean) ** 2 for points, count in enumerate(counts)) / weight
    effective = games / 2 + PSEUDO_PAIRS
    return (score * games / 2 + PSEUDO_PAIRS / 2) / effective, math.sqrt(variance / effective)


def _interval(score: float, centre: float, error: float) -> tuple[float, float]:
    """Return the 95 % interval around `centre`, extended to contain `score` and clipped to [0, 1]."""
    reach = Z95 * error
    return max(0.0, min(score, centre - reach)), min(1.0, max(score, centre + reach))


def elo_difference(score: float, games: int) -> float:
    """Return 400 log10(score / (1 - score)), the difference at which the Elo model predicts `score`.

    0 and 1 have no finite difference: the score is first clipped to half a game from both, so 400 wins of 400 count as
    399.5 (Elo +1161), to be read as "at least about that".
    """
    margin = 0.5 / max(games, 1)
    return _elo(min(max(score, margin), 1 - margin))


def elo_interval(low: float, high: float) -> EloInterval:
    """Return the Elo differences at both ends of an interval of the score; open where the score may be 0 or 1."""
    return None if low <= 0 else _elo(low), None if high >= 1 else _elo(high)


def _elo(score: float) -> float:
    return 400 * math.log10(score / (1 - score))
