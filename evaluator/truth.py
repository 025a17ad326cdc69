"""Exact quality of play: moves, values and policies compared with the exact scores of labelled positions.

Elo says who beats whom; on positions labelled by the solver (`evaluator.labels`) a move is right or wrong, whoever the
opponent is.  All values are from the view of the side to move; margins are in discs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluator.labels import Labels
from reversi.players import Player
from reversi.players.model import SearchPlayer
from reversi.solver.search import NO_SCORE

CALIBRATION_BINS = 10
"""Number of equal parts into which the range of values, -1 to 1, is divided."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The positions with a predicted value in one part of the range."""

    positions: int
    """Number of positions."""
    predicted: float
    """Their mean predicted value."""
    actual: float
    """The mean of their exact results: 1 for won, 0 for drawn, -1 for lost."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A player's results on some labelled positions; fields that only models have are None for other players.

    Standard errors are of the mean over the positions, as a sample of all such positions: None for a single position,
    and 0 where all results are the same, which a larger set may not confirm.
    """

    positions: int
    """Positions judged."""
    outcome_kept: float
    """Share of moves after which the exact result (won, drawn or lost) is still that of the best move."""
    outcome_kept_error: float | None = None
    """Standard error of that share."""
    margin_kept: float
    """Share of moves that keep the exact best margin."""
    regret_discs: float
    """Mean of the best margin minus that of the move played."""
    regret_error_discs: float | None = None
    """Standard error of that mean."""
    policy_best: float | None = None
    """Mean share of the network's own policy on moves with the best margin."""
    policy_outcome: float | None = None
    """Mean share of the network's own policy on moves that keep the result."""
    value_error: float | None = None
    """Mean absolute difference between the search's value and the exact result."""
    calibration_error: float | None = None
    """Mean absolute difference between the predicted and actual values of the bins, weighted by their positions: the
    expected calibration error (Guo et al., ICML 2017, equation 3)."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One player's results minus another's on the same positions.

    What makes a position hard for both cancels, so the errors are smaller than those of the two players suggest.
    """

    outcome_kept: float
    """Difference of the shares of moves that keep the exact result."""
    outcome_kept_error: float | None
    """Its standard error; None for a single position."""
    regret_discs: float
    """Difference of the mean regrets."""
    regret_error_discs: float | None
    """Its standard error; None for a single position."""


@dataclass(frozen=True)
class Answers:
    """A player's answers in labelled positions."""

    action: NDArray[np.int32]  # [B]
    prior: NDArray[np.float32] | None = None  # [B, A]  the network's policy over the legal actions; 0 where not asked
    value: NDArray[np.float32] | None = None  # [B]  the result that the search expects, -1 to 1


def ask(player: Player, labels: Labels, rows: slice = slice(None)) -> Answers:
    """Return the moves of `player` in the positions `rows`, by default all; for a model also its policy and values."""
    own, opp = labels.own[rows], labels.opp[rows]
    if isinstance(player, SearchPlayer):
        answers = player.judge(own, opp)
        return Answers(answers.action, answers.prior, answers.value)
    return Answers(player.choose(own, opp))


def joined(parts: Sequence[Answers]) -> Answers:
    """Return one player's answers to consecutive positions as one."""
    priors = [part.prior for part in parts if part.prior is not None]
    values = [part.value for part in parts if part.value is not None]
    return Answers(
        np.concatenate([part.action for part in parts]),
        np.concatenate(priors) if priors else None,
        np.concatenate(values) if values else None,
    )


def truth_of(labels: Labels, answers: Answers, rows: NDArray[np.bool_] | None = None) -> Truth:
    """Return the quality of the answers over the positions marked by `rows` (bool[B]), or over all of them."""
    kept = np.ones(len(labels.own), np.bool_) if rows is None else rows
    scores = labels.scores[kept].astype(np.int64)
    count = len(scores)
    assert count > 0, "expected at least one position to judge"
    safely, regret = _judged(scores, answers.action[kept])
    best = scores.max(axis=1)
    outcome = np.sign(best)
    right = (scores == best[:, None]) & (scores != NO_SCORE)
    safe = (np.sign(scores) == outcome[:, None]) & (scores != NO_SCORE)
    truth = Truth(
        positions=count,
        outcome_kept=float(safely.mean()),
        outcome_kept_error=_standard_error(safely),
        margin_kept=float((regret == 0).mean()),
        regret_discs=float(regret.mean()),
        regret_error_discs=_standard_error(regret),
    )
    if answers.prior is not None and (asked := answers.prior[kept].any(axis=1)).any():
        prior = answers.prior[kept]
        on_best, on_safe = (float((prior * moves).sum(axis=1)[asked].mean()) for moves in (right, safe))
        truth = replace(truth, policy_best=on_best, policy_outcome=on_safe)
    if answers.value is not None:
        value = answers.value[kept]
        off = sum(part.positions * abs(part.predicted - part.actual) for part in calibration(value, outcome))
        error = float(np.abs(value - outcome).mean())
        truth = replace(truth, value_error=error, calibration_error=off / count)
    return truth


def difference_of(labels: Labels, answers: Answers, others: Answers) -> Difference:
    """Return the results of `answers` minus those of `others` over all positions."""
    scores = labels.scores.astype(np.int64)
    (safely, regret), (safely_other, regret_other) = (_judged(scores, each.action) for each in (answers, others))
    safer, worse = safely.astype(np.int64) - safely_other, regret - regret_other
    return Difference(
        outcome_kept=float(safer.mean()),
        outcome_kept_error=_standard_error(safer),
        regret_discs=float(worse.mean()),
        regret_error_discs=_standard_error(worse),
    )


def calibration(value: NDArray[np.float32], outcome: NDArray[np.int64]) -> list[Calibration]:
    """Return the parts of the value range that contain positions, lowest first.

    value    float[B]  predicted, -1 to 1
    outcome  int[B]    exact: 1, 0 or -1
    """
    number = np.clip(((value + 1) / 2 * CALIBRATION_BINS).astype(int), 0, CALIBRATION_BINS - 1)
    return [
        Calibration(
            positions=int((number == part).sum()),
            predicted=float(value[number == part].mean()),
            actual=float(outcome[number == part].mean()),
        )
        for part in np.unique(number)
    ]


def truth_by_empties(labels: Labels, answers: Answers) -> dict[int, Truth]:
    """Return the results on the positions with each number of empty squares."""
    return {int(count): truth_of(labels, answers, labels.empties == count) for count in np.unique(labels.empties)}


def _judged(scores: NDArray[np.int64], action: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return whether each action keeps the exact result (bool[B]), and the discs that it loses (int64[B]).

    scores  int64[B, A]  exact margin after every action, NO_SCORE for illegal ones
    """
    best, played = scores.max(axis=1), scores[np.arange(len(scores)), action]
    assert (played != NO_SCORE).all(), "expected legal moves"
    return np.sign(played) == np.sign(best), best - played


def _standard_error(each: NDArray[np.bool_] | NDArray[np.int64]) -> float | None:
    """Return the standard error of the mean of a sample, None for a sample of one."""
    return float(each.std(ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else None
