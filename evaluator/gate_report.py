"""`GateReport`: the gate's report after every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaluator.stats import Score
from evaluator.strength import StrengthReport
from evaluator.truth import Truth
from reversi.model.info import Verdict


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """The gate after a round; results are the candidate's, in the running match or else the last one."""

    verdict: Verdict | None = None
    """Verdict of this round, if any."""
    summary: str
    """One line for people."""
    champion_version: int = -1
    """Version of the champion; -1 while no candidate was promoted."""
    candidate_version: int = -1
    """Version of the candidate of that match; -1 before the first."""
    opponent_version: int = -1
    """Version of its opponent; -1 before the first match."""
    wins: int = 0
    """Games it won."""
    draws: int = 0
    """Games drawn."""
    losses: int = 0
    """Games it lost."""
    score: float = 0.5
    """Points per game, a draw counting half."""
    score_low: float = 0.0
    """Lower end of its 95 % interval."""
    score_high: float = 1.0
    """Upper end of its 95 % interval."""
    elo: float = 0.0
    """Elo difference to the opponent."""
    elo_low: float | None = None
    """Lower end of its 95 % interval, if it has one."""
    elo_high: float | None = None
    """Upper end of its 95 % interval, if it has one."""
    champion_elo: float = 0.0
    """The champion's Elo above the baseline, the first model: the sum of the differences of all promotions."""
    promotions: int = 0
    """Candidates promoted so far."""
    rejections: int = 0
    """Candidates rejected so far."""
    superseded: int = 0
    """Candidates dropped because a newer one arrived before their match began."""
    match_s: float = 0.0
    """Seconds spent on that match."""
    truth: Truth | None = None
    """That candidate's results on solved positions with few empty squares, searching without the solver."""
    games: str = ""
    """With a verdict the games of its match, as GGF."""
    strength: tuple[StrengthReport, ...] = ()
    """Matches against fixed opponents and older champions that ended in this round."""


def report_of_match(score: Score, **standing: Any) -> GateReport:
    """Return a report with the statistics of a match; `standing` holds the other fields."""
    return GateReport(
        wins=score.wins,
        draws=score.draws,
        losses=score.losses,
        score=score.score,
        score_low=score.interval[0],
        score_high=score.interval[1],
        elo=score.elo,
        elo_low=score.elo_interval[0],
        elo_high=score.elo_interval[1],
        **standing,
    )


def report_from(fields: dict[str, Any]) -> GateReport:
    """Return the report from its `asdict` form."""
    truth = fields.get("truth")
    return GateReport(**(fields | {"truth": Truth(**truth) if truth else None, "strength": ()}))
