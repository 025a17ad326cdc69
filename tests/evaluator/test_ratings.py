"""Ratings: known differences, bars that hold the truth, an anchor at 0, and residuals that show what does not fit."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from evaluator import ratings
from evaluator.ratings import ELO, PRIOR_GAMES, Pairing, rate
from evaluator.stats import Z95
from reversi.errors import UsageError

CIRCLE = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]


def pairing(a: str, b: str, *pairs: int) -> Pairing:
    assert len(pairs) == 5
    return Pairing(a=a, b=b, pairs=pairs)


def tournament(truth: dict[str, float], games: int, lopsided: float, rng: np.random.Generator) -> list[Pairing]:
    """Play `games` between all players; a share of the openings, less of it in uneven pairings, is split anyway."""
    found = []
    for a, b in combinations(truth, 2):
        expected = 1 / (1 + 10 ** ((truth[b] - truth[a]) / 400))
        split = lopsided * 4 * expected * (1 - expected)
        win = (expected - split / 2) / (1 - split)
        draw = min(0.1, 2 * win, 2 * (1 - win))
        played = rng.choice([2, 1, 0], (games // 2, 2), p=[win - draw / 2, draw, 1 - win - draw / 2])
        played[rng.random(games // 2) < split] = (2, 0)
        found.append(pairing(a, b, *np.bincount(played.sum(axis=1), minlength=5).tolist()))
    return found


def test_two_players_differ_by_their_score() -> None:
    """74 points of 100 and half a point of the drawn game that is given: 400 log10(74.5 / 26.5)."""
    ratings = rate(["weak", "strong"], [pairing("strong", "weak", 5, 2, 12, 2, 29)], "weak")
    strong, weak = ratings.table
    assert (strong.player, strong.games, strong.score) == ("strong", 100, 0.74)
    assert strong.elo == pytest.approx(400 * np.log10(74.5 / 26.5))
    assert (weak.elo, weak.error, weak.superiority) == (0, 0, None)
    assert ratings.residuals[0].excess == pytest.approx(0.74 - 74.5 / 101)


def test_a_clean_sweep_is_finite_and_its_bar_is_wide() -> None:
    sweep = rate(["a", "b"], [pairing("a", "b", 0, 0, 0, 0, 50)], "b").table[0]
    assert sweep.elo == pytest.approx(400 * np.log10(100.5 / 0.5))
    assert sweep.error > 300
    short = rate(["a", "b"], [pairing("a", "b", 0, 0, 0, 0, 5)], "b").table[0]
    assert (short.elo, short.error) == (pytest.approx(400 * np.log10(10.5 / 0.5)), pytest.approx(440, abs=60))


@pytest.mark.parametrize("pairs", [10**6, 10**8, 2**30])
def test_the_ratings_of_millions_of_games_are_found_in_few_steps(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """There rounding errors exceed the precision asked for."""
    steps, players = 0, [f"p{i}" for i in range(6)]

    def counted(*args: Any) -> Any:
        nonlocal steps
        steps += 1
        assert steps < 200
        return laplacian(*args)

    laplacian = ratings._laplacian
    monkeypatch.setattr(ratings, "_laplacian", counted)
    chain = [pairing(a, b, 0, 0, 0, 0, pairs) for a, b in pairwise(players)]
    by_player = {rating.player: rating.elo for rating in rate(players, chain, "p0").table}
    ends = 2 * pairs / (PRIOR_GAMES * 0.75 / 2)  # the outer players have one opponent, the others two
    assert by_player["p0"] - by_player["p1"] == pytest.approx(400 * math.log10(ends + 1), abs=0.01)


def test_the_bar_of_independent_games_is_the_textbook_one() -> None:
    """400 even games: the score's standard error is 0.025, and a point of score is 4 * 400 / ln 10 Elo."""
    bar = rate(["a", "b"], [pairing("a", "b", 50, 0, 100, 0, 50)], "b").table[0].error
    assert bar == pytest.approx(1.96 * 0.025 * 4 * 400 / np.log(10), rel=0.01)


def test_openings_that_decide_the_games_narrow_the_bar() -> None:
    split = rate(["a", "b"], [pairing("a", "b", 0, 0, 200, 0, 0)], "b").table[0]
    even = rate(["a", "b"], [pairing("a", "b", 50, 0, 100, 0, 50)], "b").table[0]
    assert split.error < 0.2 * even.error


def test_strength_goes_through_third_players() -> None:
    """a beats b 3 to 1 and b beats c 3 to 1: 191 Elo each, and 382 between a and c who never met."""
    chain = [pairing("a", "b", 250, 0, 0, 0, 750), pairing("b", "c", 250, 0, 0, 0, 750)]
    ratings = rate(["b", "a", "c"], chain, "c")
    elo = {rating.player: rating.elo for rating in ratings.table}
    assert [rating.player for rating in ratings.table] == ["a", "b", "c"]
    assert elo["b"] == pytest.approx(190.8, abs=0.5)
    assert elo["a"] == pytest.approx(381.7, abs=1)
    assert [residual.excess for residual in ratings.residuals] == pytest.approx([0, 0], abs=0.001)


def test_the_ratings_are_the_likeliest() -> None:
    """At the maximum every player's points are those expected of it, the prior's drawn game included."""
    truth = {"a": 0, "b": 150, "c": 400, "d": 1200}
    pairings = tournament(truth, 60, 0.3, np.random.default_rng(3))
    elo = {rating.player: rating.elo for rating in rate(list(truth), pairings, "a").table}
    for player in truth:
        excess = 0.0
        for p in pairings:
            expected = 1 / (1 + 10 ** ((elo[p.b] - elo[p.a]) / 400))
            if player in (p.a, p.b):
                excess += (1 if player == p.a else -1) * (p.points - p.games * expected + (0.5 - expected) / 3)
        assert excess == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("truth", "games", "lopsided"),
    [
        ({"a": 0, "b": 100, "c": 300, "d": 350, "e": 900, "f": 1200}, 100, 0.3),
        ({"a": 0, "b": 20, "c": 40, "d": 60}, 40, 0.8),
        ({"a": 0, "b": 400}, 40, 0.0),
        ({"a": 0, "b": 600, "c": 1300}, 100, 0.2),
    ],
)
def test_the_bars_hold_the_truth_19_times_in_20(truth: dict[str, float], games: int, lopsided: float) -> None:
    rng, held, away = np.random.default_rng(4), [], []
    for _ in range(200):
        for rating in rate(list(truth), tournament(truth, games, lopsided, rng), "a").table:
            if rating.player != "a":
                held.append(abs(rating.elo - truth[rating.player]) <= rating.error)
                away.append(rating.elo - truth[rating.player])
    assert 0.93 < np.mean(held) < 0.99
    assert abs(np.mean(away)) < 30


def test_the_order_of_players_and_the_sides_of_a_pairing_do_not_matter() -> None:
    truth = {"a": 0, "b": 150, "c": 400}
    pairings = tournament(truth, 60, 0.3, np.random.default_rng(5))
    turned = [pairing(p.b, p.a, *reversed(p.pairs)) for p in reversed(pairings)]
    one, other = rate(list(truth), pairings, "b"), rate(list(truth)[::-1], turned, "b")
    assert [r.elo for r in one.table] == pytest.approx([r.elo for r in other.table])
    assert [r.error for r in one.table] == pytest.approx([r.error for r in other.table])
    assert [r.excess for r in one.residuals] == pytest.approx([-r.excess for r in reversed(other.residuals)])


def test_the_anchor_moves_all_ratings_by_the_same() -> None:
    truth = {"a": 0, "b": 150, "c": 400}
    pairings = tournament(truth, 60, 0.3, np.random.default_rng(6))
    by_a, by_c = ({r.player: r for r in rate(list(truth), pairings, anchor).table} for anchor in ("a", "c"))
    assert (by_a["a"].elo, by_a["a"].error, by_c["c"].elo, by_c["c"].error) == (0, 0, 0, 0)
    assert {name: r.elo + by_a["c"].elo for name, r in by_c.items()} == pytest.approx(
        {name: r.elo for name, r in by_a.items()}
    )
    assert by_a["c"].error == pytest.approx(by_c["a"].error)
    assert [r.superiority for r in by_a.values()][:2] == pytest.approx([r.superiority for r in by_c.values()][:2])


def test_superiority_over_the_next_uses_both_players_uncertainty() -> None:
    close = [pairing("a", "x", 0, 0, 50, 0, 0), pairing("b", "x", 0, 0, 50, 0, 0), pairing("a", "b", 22, 0, 0, 0, 28)]
    first, *_ = rate(["x", "a", "b"], close, "x").table
    assert first.player == "a"
    assert first.superiority is not None
    assert 0.5 < first.superiority < 0.99
    clear = [pairing("a", "x", 0, 0, 50, 0, 0), pairing("b", "x", 40, 0, 10, 0, 0)]
    level, above, _ = (rating.superiority for rating in rate(["x", "a", "b"], clear, "x").table)
    assert level == pytest.approx(0.5)
    assert above is not None
    assert above > 0.999


def test_rock_paper_scissors_shows_in_the_residuals() -> None:
    """Each beats the next 80 to 20; their ratings are equal, and the residuals say +0.3 around the circle."""
    won = (4, 3, 5, 5, 33)
    ratings = rate(["rock", "paper", "scissors"], [pairing(a, b, *won) for a, b in CIRCLE], "rock")
    assert [rating.elo for rating in ratings.table] == pytest.approx([0, 0, 0], abs=1e-6)
    assert [residual.excess for residual in ratings.residuals] == pytest.approx([0.3] * 3)
    assert min(residual.z for residual in ratings.residuals) > 5


def test_results_that_fit_leave_small_residuals() -> None:
    truth = {name: 90.0 * i for i, name in enumerate("abcdefgh")}
    pairings = tournament(truth, 100, 0.3, np.random.default_rng(8))
    scores = np.array([residual.z for residual in rate(list(truth), pairings, "a").residuals])
    assert 0.6 < scores.std() < 1.1
    assert abs(scores).max() < 3


def test_pairings_without_games_are_passed_over_and_lonely_players_are_refused() -> None:
    none = pairing("a", "c", 0, 0, 0, 0, 0)
    with_games = pairing("a", "b", 1, 0, 2, 0, 1)
    assert len(rate(["a", "b"], [with_games, pairing("a", "b", 0, 0, 0, 0, 0)], "a").residuals) == 1
    with pytest.raises(UsageError, match="expected games that link every player to a, but c has none"):
        rate(["a", "b", "c"], [with_games, none], "a")


def test_one_player_alone_is_the_anchor() -> None:
    alone = rate(["a"], [], "a").table[0]
    assert (alone.elo, alone.error, alone.games, alone.superiority) == (0, 0, 0, None)


def test_bars_are_those_of_the_expected_results() -> None:
    found = rate(["rock", "paper", "scissors"], [pairing(a, b, 4, 3, 5, 5, 33) for a, b in CIRCLE], "rock")
    variance = 25 * (39 + 2) / (25 + 2)  # around the expected 1/2, not the observed 0.8
    bar = ELO * Z95 * math.sqrt(variance * 2 / 3) / (100.5 / 4)
    assert pytest.approx(bar) in (found.table[-1].error, found.table[0].error)
