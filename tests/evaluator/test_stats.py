"""Scores, intervals, Elo and superiority: known values, limits, and how often the interval holds the truth."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from math import comb

import numpy as np
import pytest

from evaluator.gate_report import report_of_match
from evaluator.match import MatchResult
from evaluator.stats import elo_difference, normal_cdf, score_interval, score_of, superiority, trinomial_interval
from scripts.run.tracking.metrics import flatten


def result(wins: int, draws: int, losses: int, pairs: tuple[int, int, int, int, int], games: int = 400) -> MatchResult:
    return MatchResult(games=games, black=(wins, draws, losses), white=(0, 0, 0), pairs=pairs)


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.64, 100), (0.76, 200), (0.36, -100), (10 / 11, 400)])
def test_elo_follows_the_logistic_curve(score: float, elo: float) -> None:
    assert elo_difference(score, 400) == pytest.approx(elo, abs=0.5)


def test_elo_of_a_clean_sweep_is_half_a_game_short_of_it() -> None:
    assert elo_difference(1.0, 400) == pytest.approx(400 * np.log10(399.5 / 0.5))
    assert elo_difference(0.0, 400) == pytest.approx(-elo_difference(1.0, 400))
    assert elo_difference(0.9999, 400) == elo_difference(1.0, 400)
    assert elo_difference(0.5, 0) == 0


def test_the_difference_of_a_clean_sweep_is_shown_as_a_bound() -> None:
    assert ", Elo > +338 [" in score_of(result(4, 0, 0, (0, 0, 0, 0, 2))).summary
    assert ", Elo < -338 [" in score_of(result(0, 0, 4, (2, 0, 0, 0, 0))).summary
    assert ", Elo +1161 [" in score_of(result(399, 1, 0, (0, 0, 0, 1, 199))).summary
    assert ", Elo +0 [" in score_of(result(0, 0, 0, (0, 0, 0, 0, 0))).summary


def test_the_score_counts_draws_half() -> None:
    score = score_of(result(200, 100, 100, (0, 0, 200, 0, 0)))
    assert (score.games, score.wins, score.draws, score.losses) == (400, 200, 100, 100)
    assert score.score == 0.625
    assert score.elo == pytest.approx(88.7, abs=0.1)


def test_independent_pairs_give_the_textbook_interval() -> None:
    """200 pairs of two independent even games: the standard error is 0.5 / sqrt(400)."""
    low, high = score_interval(400, 0.5, (50, 0, 100, 0, 50))
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / 20, rel=0.02)
    assert low + high == pytest.approx(1)


def test_openings_that_decide_the_games_narrow_the_interval() -> None:
    split = score_interval(400, 0.5, (0, 0, 200, 0, 0))
    even = score_interval(400, 0.5, (50, 0, 100, 0, 50))
    assert split[1] - split[0] < 0.2 * (even[1] - even[0])


def test_a_clean_sweep_still_has_an_interval() -> None:
    score = score_of(result(400, 0, 0, (0, 0, 0, 0, 200)))
    assert score.score == score.interval[1] == 1.0
    assert 0.97 < score.interval[0] < 0.995
    low, high = score.elo_interval
    assert low is not None
    assert 600 < low < score.elo
    assert high is score.trinomial_elo_interval[1] is None, "no difference is too large"
    assert score.summary.endswith(", +inf]"), "400 wins do not say how much"
    assert "Elo [-inf, " in score_of(result(0, 0, 400, (200, 0, 0, 0, 0))).details


def test_an_open_end_is_left_out_of_the_metrics() -> None:
    metrics = flatten("gate", report_of_match(score_of(result(400, 0, 0, (0, 0, 0, 0, 200))), summary="won"))
    assert "gate/elo_high" not in metrics
    assert 600 < metrics["gate/elo_low"] < metrics["gate/elo"]


def test_no_game_says_nothing() -> None:
    score = score_of(result(0, 0, 0, (0, 0, 0, 0, 0)))
    assert (score.games, score.score, score.interval, score.elo) == (0, 0.5, (0.0, 1.0), 0.0)
    assert score.elo_interval == score.trinomial_elo_interval == (None, None)


def test_one_game_leaves_both_ends_open() -> None:
    score = score_of(result(1, 0, 0, (0, 0, 0, 0, 0)))
    assert (score.elo, score.interval, score.elo_interval) == (0, (0, 1), (None, None))
    assert score.summary == "1-0-0, score 1.000 [0.000, 1.000], Elo > +0 [-inf, +inf]"


def test_an_elo_interval_is_that_of_the_score() -> None:
    """Also within half a game of a clean sweep, where the difference itself is cut."""
    score = score_of(result(3, 0, 1, (0, 0, 1, 0, 1)))
    for interval, elo in (
        (score.interval, score.elo_interval),
        (score.trinomial_interval, score.trinomial_elo_interval),
    ):
        ends = [None if end in (0, 1) else pytest.approx(400 * math.log10(end / (1 - end))) for end in interval]
        assert list(elo) == ends


def test_swapping_the_players_mirrors_everything() -> None:
    one, other = score_of(result(5, 2, 1, (0, 1, 0, 2, 1))), score_of(result(1, 2, 5, (1, 2, 0, 1, 0)))
    assert one.score == pytest.approx(1 - other.score)
    assert one.interval == pytest.approx((1 - other.interval[1], 1 - other.interval[0]))
    low, high = one.elo_interval
    assert low is not None
    assert high is not None
    assert (-high, -low) == pytest.approx(other.elo_interval)


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_holds_the_score_whatever_the_games(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        games = rng.choice([0, 1, 2], (int(rng.integers(1, 30)), 2), p=rng.dirichlet([0.3] * 3))
        finished = rng.random(games.shape) < rng.choice([1.0, 0.5])
        pairs = np.bincount(games.sum(axis=1)[finished.all(axis=1)], minlength=5)
        counts = np.bincount(games[finished], minlength=3)
        score = score_of(result(int(counts[2]), int(counts[1]), int(counts[0]), tuple(pairs.tolist()), games.size))
        assert 0 <= score.interval[0] <= score.score <= score.interval[1] <= 1
        low, high = score.elo_interval
        assert (low is None, high is None) == (score.interval[0] == 0, score.interval[1] == 1)
        assert low is None or low <= score.elo
        assert high is None or score.elo <= high


@pytest.mark.parametrize(("win", "draw", "lopsided"), [(0.5, 0, 0), (0.55, 0.1, 0.5), (0.9, 0.02, 0), (0.97, 0.0, 0.0)])
def test_the_interval_holds_the_truth_19_times_in_20(win: float, draw: float, lopsided: float) -> None:
    """4,000 matches of 50 pairs; a share `lopsided` of the openings is won by the same colour whoever plays it."""
    rng = np.random.default_rng(1)
    truth = (1 - lopsided) * (win + draw / 2) + lopsided / 2
    held = 0
    for _ in range(4000):
        games = rng.choice([2, 1, 0], (50, 2), p=[win, draw, 1 - win - draw])
        games[rng.random(50) < lopsided] = (2, 0)
        pairs = np.bincount(games.sum(axis=1), minlength=5).tolist()
        low, high = score_interval(100, games.mean() / 2, (pairs[0], pairs[1], pairs[2], pairs[3], pairs[4]))
        held += low <= truth <= high
    assert 0.94 < held / 4000 < 0.99


@pytest.mark.parametrize(
    ("elo", "chance"), [(-20, 0.001), (0, 0.026), (20, 0.21), (35, 0.52), (50, 0.82), (70, 0.98), (100, 1.0)]
)
def test_the_chance_of_220_wins_in_400_games(elo: float, chance: float) -> None:
    """The known table of the gate, from the binomial distribution of 400 games at the Elo model's expected score."""
    p = 1 / (1 + 10 ** (-elo / 400))
    assert elo_difference(p, 400) == pytest.approx(elo)
    passes = sum(comb(400, wins) * p**wins * (1 - p) ** (400 - wins) for wins in range(220, 401))
    assert passes == pytest.approx(chance, abs=0.006)


def test_the_summary_and_json_of_a_score() -> None:
    score = score_of(result(220, 10, 170, (30, 5, 120, 5, 40)))
    assert score.summary.startswith("220-10-170, score 0.562 [")
    assert ", Elo +44 [+" in score.summary
    fields = json.loads(json.dumps(asdict(score), allow_nan=False))
    before = ["games", "wins", "draws", "losses", "score", "interval", "elo", "elo_interval"]
    assert list(fields) == [*before, "pairs", "trinomial_interval", "trinomial_elo_interval", "superiority"]
    assert fields["pairs"] == [30, 5, 120, 5, 40]
    assert score.details.startswith("pairs 30-5-120-5-40, superiority 0.99")


def test_the_trinomial_interval_by_hand() -> None:
    """60 wins, 20 draws, 16 losses and two wins and losses more: 100 games with mean 0.72."""
    low, high = trinomial_interval(60, 20, 16)
    assert (low + high) / 2 == pytest.approx(0.72)
    variance = (62 * 0.28**2 + 20 * 0.22**2 + 18 * 0.72**2) / 100
    assert (high - low) / 2 == pytest.approx(1.959964 * (variance / 100) ** 0.5)
    assert trinomial_interval(0, 0, 0) == (0.0, 1.0)


def test_independent_pairs_give_both_intervals_alike_and_split_ones_do_not() -> None:
    even = score_of(result(200, 0, 200, (50, 0, 100, 0, 50)))
    assert even.interval == pytest.approx(even.trinomial_interval, abs=0.001)
    split = score_of(result(200, 0, 200, (0, 0, 200, 0, 0)))
    assert split.trinomial_interval == even.trinomial_interval
    assert split.interval[1] - split.interval[0] < 0.2 * (split.trinomial_interval[1] - split.trinomial_interval[0])
    (single_low, _), (low, high) = split.trinomial_elo_interval, split.elo_interval
    assert single_low is not None
    assert low is not None
    assert high is not None
    assert single_low < low < 0 < high


def test_the_likelihood_of_superiority_by_hand() -> None:
    """26-24 in 25 pairs plus the two pseudo-pairs: 11 of 27 are decided, z = 0.302."""
    counts = {0.0: 4 + 1, 0.5: 16, 1.0: 5 + 1}
    mean = sum(n * x for x, n in counts.items()) / 27
    variance = sum(n * (x - mean) ** 2 for x, n in counts.items()) / 27
    z = (mean - 0.5) / (variance / 27) ** 0.5
    assert superiority(50, 26 / 50, (4, 0, 16, 0, 5)) == pytest.approx(normal_cdf(z))
    assert normal_cdf(z) == pytest.approx(0.619, abs=0.001)
    assert superiority(0, 0.5, (0, 0, 0, 0, 0)) == superiority(400, 0.5, (0, 0, 200, 0, 0)) == 0.5


@pytest.mark.parametrize(("z", "share"), [(0.0, 0.5), (1.0, 0.841345), (-1.959964, 0.025), (3.0, 0.998650)])
def test_the_normal_distribution(z: float, share: float) -> None:
    assert normal_cdf(z) == pytest.approx(share, abs=1e-6)


def test_superiority_says_97_5_percent_where_the_interval_leaves_one_half() -> None:
    for lead in range(100):
        pairs = (20, 10, 70 - lead // 2, 10, 20 + lead - lead // 2)
        games = 2 * sum(pairs)
        score = sum(n * points for points, n in enumerate(pairs)) / (2 * games)
        outside = score_interval(games, score, pairs)[0] > 0.5
        assert outside == (superiority(games, score, pairs) > 0.975)


def test_superiority_is_as_often_right_as_it_says() -> None:
    """The strength of 4,000 players is uniform around even; of those with about 80 %, about 80 % are stronger."""
    rng = np.random.default_rng(2)
    stronger = []
    for _ in range(4000):
        truth = rng.uniform(0.35, 0.65)
        games = (rng.random((40, 2)) < truth).astype(int) * 2
        pairs = tuple(np.bincount(games.sum(axis=1), minlength=5).tolist())
        if 0.7 < superiority(80, games.mean() / 2, pairs) < 0.9:
            stronger.append(truth > 0.5)
    assert len(stronger) > 300
    assert 0.75 < np.mean(stronger) < 0.85


def test_games_of_unfinished_pairs_narrow_the_interval_too() -> None:
    (low, high), (lower, higher) = (score_interval(games, 0.5, (2, 0, 6, 0, 2)) for games in (20, 40))
    assert (higher - lower) / (high - low) == pytest.approx(math.sqrt(12 / 22))
