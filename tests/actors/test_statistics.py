"""What is said of games and searches is what they are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from actors.statistics import REMEMBERED, SAMPLE, GameStatistics
from reversi.games.rules import GAMES
from reversi.model.weights import Weights
from reversi.record import OPENING, SEARCHED, Records
from tests.actors.workers import SEARCHING, Sink, Source, weights, worker
from tests.configs import search_config
from tests.random_games import random_records

GAME = GAMES["reversi6"]


def records(count: int, seed: int = 0) -> Records:
    return random_records(GAME.name, count, seed)


def test_sums_are_those_of_the_games() -> None:
    some = records(SAMPLE)
    sums = GameStatistics(GAME, margins=False).of(some)
    assert (sums.sampled, sums.lessons) == (SAMPLE, 0)
    assert sums.black_wins == (some.margin > 0).sum()
    assert sums.white_wins == (some.margin < 0).sum()
    assert sums.plies == some.plies.sum()
    assert sums.lead == np.abs(some.margin.astype(int)).sum()


def test_white_may_move_first() -> None:
    some = records(SAMPLE)
    turned = dataclasses.replace(some, black_first=np.zeros_like(some.black_first))
    one, other = GameStatistics(GAME, margins=False).of(some), GameStatistics(GAME, margins=False).of(turned)
    assert (one.black_wins, one.white_wins) == (other.white_wins, other.black_wins)


def test_a_round_of_many_games_is_sampled() -> None:
    assert GameStatistics(GAME, margins=False).of(records(5 * SAMPLE)).sampled == SAMPLE
    assert GameStatistics(GAME, margins=False).of(records(5)).sampled == 5


def test_games_that_the_solver_gave_every_value_of_are_lessons() -> None:
    some = records(10)
    exact = some.exact_from.copy()
    exact[:4] = 0
    sums = GameStatistics(GAME, margins=False).of(dataclasses.replace(some, exact_from=exact))
    assert (sums.sampled, sums.lessons) == (6, 4)
    assert sums.plies == some.plies[4:].sum()


def test_an_opening_is_new_once() -> None:
    statistics, some = GameStatistics(GAME, margins=False), records(40)
    assert 30 < statistics.of(some).new_openings <= 40
    assert statistics.of(some).new_openings == 0
    for seed in range(1, 2 + REMEMBERED // SAMPLE * 2):
        statistics.of(records(SAMPLE, seed))
    assert statistics.of(some).new_openings > 0


def test_values_are_compared_with_the_result_as_their_side_sees_it() -> None:
    some = records(20)
    _, ply = some.game_and_ply()
    game, _ = some.game_and_ply()
    result = np.sign(some.margin.astype(float))[game] * np.where(ply % 2, -1, 1)
    for wrong, expected in ((0.0, 0.0), (0.5, 0.25)):
        value = (result * (1 - wrong)).astype(np.float16)
        sums = GameStatistics(GAME, margins=False).of(dataclasses.replace(some, value=value))
        drawn = (result[some.ply_kind == SEARCHED] == 0).sum()
        assert sums.valued == (some.ply_kind == SEARCHED).sum()
        assert sums.value_squares == pytest.approx(expected * (sums.valued - drawn))


def test_values_of_tables_are_compared_with_the_margin() -> None:
    """Of every move but passes and the opening; the solver's own are left out."""
    some = records(20)
    game, ply = some.game_and_ply()
    share = (some.margin / GAME.squares)[game] * np.where(ply % 2, -1, 1)
    moves = (some.ply_kind != OPENING) & (some.actions != GAME.pass_action) & (ply < some.exact_from[game])
    for wrong in (0.0, 0.25):
        value = (share + wrong).astype(np.float16)
        sums = GameStatistics(GAME, margins=True).of(dataclasses.replace(some, value=value))
        assert sums.valued == moves.sum()
        assert sums.value_squares == pytest.approx(wrong**2 * sums.valued, rel=1e-2, abs=1e-3)


def test_a_network_without_opinion_has_the_entropy_of_a_free_choice() -> None:
    """Against equal priors the divergence is what the search's entropy lacks of the network's."""
    source = Source()
    model = Weights.from_bytes(weights(0), "test")
    source.data = dataclasses.replace(model, arrays={name: 0 * each for name, each in model.arrays.items()}).to_bytes()
    player = worker(source, Sink(), SEARCHING)
    reports = [player.round(0.0) for _ in range(4)]
    searches = sum(report.searches for report in reports)
    of_network, of_search, divergence = (
        sum(getattr(report, name) for report in reports) / searches
        for name in ("policy_entropy", "visit_entropy", "divergence")
    )
    assert searches > 50
    assert 0.5 < of_network < np.log(12)
    assert of_search + divergence == pytest.approx(of_network, rel=1e-4)
    assert divergence > 0


def test_one_simulation_is_one_ply_deep() -> None:
    source = Source()
    source.data = weights(0)
    one = dataclasses.replace(search_config(simulations=1, fast_simulations=1), full_share=1.0, solve_empties=0)
    report = worker(source, Sink(), SEARCHING, search=one).round(0.0)
    assert report.searches > 0
    assert report.depth / report.searches == pytest.approx(0.5)  # the root's own evaluation has no depth
