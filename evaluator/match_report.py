"""`MatchReport`: what a match says besides its score: results by colour, disc margin, time per move."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluator.match import Counts, Match
from evaluator.stats import Z95

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class MatchReport:
    """The finished games of a match from A's view, as `reversi match --json` prints it after the score."""

    as_black: Counts
    """A's wins, draws and losses with Black."""
    as_white: Counts
    """A's wins, draws and losses with White."""
    margin: float | None
    """A's discs minus B's at the end of a game, on average; games that were given up do not count.  None if no game was
    played to its end, and in tic-tac-toe."""
    margin_interval: Interval | None
    """95 % interval of `margin`, by pairs of games; None if all games have the same opening."""
    seconds_per_move: tuple[float | None, float | None]
    """Time per move of A and of B, as `Match.seconds_per_move` measures it."""

    def __str__(self) -> str:
        """Return one line: `as Black 20-0-0, as White 19-0-1; margin +8.6 [+5.8, +11.3] discs a game; ...`."""
        parts = [f"as Black {'-'.join(map(str, self.as_black))}, as White {'-'.join(map(str, self.as_white))}"]
        if self.margin is not None:
            interval = "" if self.margin_interval is None else " [{:+.1f}, {:+.1f}]".format(*self.margin_interval)
            parts.append(f"margin {self.margin:+.1f}{interval} discs a game")
        if any(self.seconds_per_move):
            parts.append("{} against {} a move".format(*map(_duration, self.seconds_per_move)))
        return "; ".join(parts)


def report_of(match: Match) -> MatchReport:
    """Return the report of a match, finished or not."""
    result = match.result()
    margin, interval = mean_margin(match.margins()) if match.game.counts_discs else (None, None)
    return MatchReport(
        as_black=result.black,
        as_white=result.white,
        margin=margin,
        margin_interval=interval,
        seconds_per_move=match.seconds_per_move(),
    )


def mean_margin(margins: NDArray[np.float64]) -> tuple[float | None, Interval | None]:
    """Return the mean of the known margins and its 95 % interval; None without a margin, or of a single opening.

    margins  float64[P, 2]  of both games of every opening, NaN where there is none (`Match.margins`)

    As for the score, the unit of the variance is the opening: the estimate is that of a mean over clusters, whose
    games, one or two, are not independent.
    """
    known = ~np.isnan(margins)
    games, openings = int(known.sum()), int(known.any(axis=1).sum())
    if not games:
        return None, None
    mean = float(margins[known].mean())
    if openings < 2:
        return mean, None
    excess = np.where(known, margins - mean, 0.0).sum(axis=1)
    reach = Z95 * math.sqrt(openings / (openings - 1) * float((excess**2).sum())) / games
    return mean, (mean - reach, mean + reach)


def _duration(seconds: float | None) -> str:
    """Return 12.3 s, 123 ms or 4.2 ms; the limits are those of rounding, as 999.6 ms would read 1000 ms."""
    if seconds is None:
        return "unknown"
    if seconds >= 0.9995:
        return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"
    milliseconds = 1000 * seconds
    return f"{milliseconds:.2g} ms" if milliseconds < 99.5 else f"{milliseconds:.0f} ms"
