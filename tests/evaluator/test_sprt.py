"""The SPRT: known ratios, mirror images, and error rates that are kept in simulated matches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluator.match import Pairs
from evaluator.sprt import POINTS, Sprt, expected_score, likeliest
from reversi.errors import UsageError


@pytest.mark.parametrize("score", [0.05, 0.5, 0.5288, 0.7, 0.95])
@pytest.mark.parametrize("counts", [[30.0, 5, 120, 5, 40], [1e-3, 1e-3, 1e-3, 1e-3, 60], [1, 1, 1, 1, 1]])
def test_the_likeliest_distribution_sums_to_one_and_has_the_score(counts: list[float], score: float) -> None:
    shares = likeliest(counts, score)
    assert sum(shares) == pytest.approx(1, abs=1e-6)
    assert sum(p * points for p, points in zip(shares, POINTS, strict=True)) == pytest.approx(score, abs=1e-6)


def test_the_likeliest_distribution_beats_every_other_with_that_score() -> None:
    counts, score = [12.0, 3, 20, 9, 6], 0.55
    best = sum(n * math.log(p) for n, p in zip(counts, likeliest(counts, score), strict=True))
    rng = np.random.default_rng(0)
    away = np.array(POINTS) - score
    for _ in range(2000):
        tried = np.array(likeliest(counts, score)) + 0.01 * rng.normal(size=5)
        tried -= away * (tried @ away) / (away @ away)  # back to the score ...
        flat = np.ones(5) - away * (away.sum() / (away @ away))
        tried += flat * (1 - tried.sum()) / flat.sum()  # ... and to a sum of 1, without leaving it
        assert tried.sum() == pytest.approx(1)
        assert tried @ np.array(POINTS) == pytest.approx(score)
        if (tried > 0).all():
            assert np.array(counts) @ np.log(tried) <= best + 1e-9


def test_at_its_own_score_the_likeliest_distribution_is_the_observed_one() -> None:
    assert likeliest([10, 0.1, 20, 0.1, 10], 0.5) == pytest.approx([n / 40.2 for n in (10, 0.1, 20, 0.1, 10)])


def test_decided_pairs_give_the_ratio_of_the_binomial_test() -> None:
    """Pairs that only end 2-0 or 0-2 are coin tosses: the ratio is that of Wald's test of two probabilities."""
    test = Sprt(elo0=0, elo1=50)
    score = expected_score(50)
    by_hand = 70 * math.log(score / 0.5) + 40 * math.log((1 - score) / 0.5)
    assert test.ratio((40, 0, 0, 0, 70)) == pytest.approx(by_hand, abs=0.01)


def test_the_bounds_are_walds() -> None:
    assert Sprt(elo0=0, elo1=20).bounds == pytest.approx((-2.9444, 2.9444), abs=1e-4)
    assert Sprt(elo0=0, elo1=20, alpha=0.05, beta=0.1).bounds == pytest.approx((-2.2513, 2.8904), abs=1e-4)


def test_swapping_players_and_hypotheses_mirrors_the_ratio() -> None:
    one, other = Sprt(elo0=-10, elo1=30), Sprt(elo0=-30, elo1=10)
    assert one.ratio((3, 4, 50, 10, 20)) == pytest.approx(-other.ratio((20, 10, 50, 4, 3)), abs=1e-6)
    assert one.ratio((0, 0, 0, 0, 0)) == 0


def test_a_verdict_is_said_in_words() -> None:
    test = Sprt(elo0=0, elo1=20)
    assert (test.verdict((0, 0, 0, 0, 60)), test.verdict((60, 0, 0, 0, 0))) == ("H1", "H0")
    assert test.verdict((30, 5, 120, 5, 40)) is None
    assert test.summary((0, 0, 0, 0, 60)).startswith("SPRT of Elo 0 against 20: H1 accepted, Elo 20 (ratio 3.")
    assert "H0 accepted, Elo 0 (ratio -" in test.summary((60, 0, 0, 0, 0))
    assert test.summary((0, 0, 1, 0, 0)).endswith("bounds -2.94 and 2.94, 1 pairs)")


@pytest.mark.parametrize(
    "wrong",
    [
        {"elo0": 20, "elo1": 0},
        {"elo0": 5, "elo1": 5},
        {"elo0": 0, "elo1": 5000},
        {"elo0": 0, "elo1": 20, "alpha": 0},
        {"elo0": 0, "elo1": 20, "beta": 0.5},
        {"elo0": float("nan"), "elo1": 20},
    ],
)
def test_a_test_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="expected"):
        Sprt(**wrong)


def accepted(test: Sprt, elo: float, lopsided: float, rng: np.random.Generator) -> tuple[str | None, int]:
    """Play pairs at that Elo difference until the verdict; a share `lopsided` is split whoever plays."""
    win = (expected_score(elo) - lopsided / 2) / (1 - lopsided)
    counts = np.zeros(5, np.int64)
    for _ in range(400):
        games = rng.choice([0, 1, 2], (5, 2), p=[0.95 - win, 0.1, win - 0.05])
        games[rng.random(5) < lopsided] = (2, 0)
        counts += np.bincount(games.sum(axis=1), minlength=5)
        pairs: Pairs = tuple(counts.tolist())
        if verdict := test.verdict(pairs):
            return verdict, int(counts.sum())
    return None, int(counts.sum())


@pytest.mark.parametrize("lopsided", [0.0, 0.6])
def test_the_error_rates_are_kept(lopsided: float) -> None:
    """400 matches each at the two hypotheses: 5 % wrong verdicts are allowed, 3.2 % more are three standard errors."""
    test, rng = Sprt(elo0=-20, elo1=40), np.random.default_rng(5)
    under0 = [accepted(test, -20, lopsided, rng) for _ in range(400)]
    under1 = [accepted(test, 40, lopsided, rng) for _ in range(400)]
    assert sum(verdict == "H1" for verdict, _ in under0) <= 400 * 0.082
    assert sum(verdict == "H0" for verdict, _ in under1) <= 400 * 0.082
    assert sum(verdict is None for verdict, _ in under0 + under1) == 0
    assert np.mean([pairs for _, pairs in under0 + under1]) < 110


def test_lopsided_openings_need_fewer_pairs() -> None:
    """They decide some games whoever plays, so that pairs vary less, and the pentanomial test knows it."""
    test, rng = Sprt(elo0=-20, elo1=20), np.random.default_rng(6)
    mean = [np.mean([accepted(test, -20, share, rng)[1] for _ in range(60)]) for share in (0.0, 0.7)]
    assert mean[1] < 0.6 * mean[0]
