from __future__ import annotations

import random

import pytest

from reversi.frontends.clocks import MARGIN_S, RESERVE_S, Clocks
from reversi.games.position import Position


def test_without_settings_there_is_no_limit() -> None:
    clocks = Clocks()
    clocks.spend(True, 100)
    assert clocks.share_s(True, 60) is None


def test_a_period_without_stones_means_no_limit() -> None:
    clocks = Clocks()
    clocks.set(300, 0, 0)
    clocks.set(0, 10, 0)
    assert clocks.share_s(True, 60) is None


def test_main_time_is_divided_among_the_moves_to_come() -> None:
    clocks = Clocks()
    clocks.set(320, 0, 0)
    assert clocks.share_s(True, 60) == pytest.approx(10 - MARGIN_S)
    assert clocks.share_s(True, 1) == pytest.approx(320 / 3 - MARGIN_S)
    clocks.spend(True, 160 - MARGIN_S)
    assert clocks.share_s(True, 60) == pytest.approx(5 - MARGIN_S)
    assert clocks.share_s(False, 60) == pytest.approx(10 - MARGIN_S)


@pytest.mark.parametrize("main_s", [0.5, 5, 60, 600])
@pytest.mark.parametrize("empties", [4, 12, 32, 60])
def test_a_game_never_runs_out_of_main_time(main_s: float, empties: int) -> None:
    clocks, spent_s = Clocks(), 0.0
    clocks.set(main_s, 0, 0)
    while empties > 0:
        share_s = clocks.share_s(True, empties)
        assert share_s is not None
        clocks.spend(True, share_s + 0.01)  # a bit late every time
        spent_s += share_s + 0.01
        empties -= 2
    assert spent_s < main_s + 0.2
    assert spent_s > 0.4 * main_s - 1


def test_a_period_is_divided_among_its_stones_and_begins_anew() -> None:
    clocks = Clocks()
    clocks.set(0, 30, 3)
    assert clocks.share_s(True, 50) == pytest.approx((30 - RESERVE_S) / 3 - MARGIN_S)
    clocks.spend(True, 14 - MARGIN_S)
    assert clocks.share_s(True, 48) == pytest.approx((16 - RESERVE_S) / 2 - MARGIN_S)
    clocks.spend(True, 8 - MARGIN_S)
    clocks.spend(True, 8 - MARGIN_S)
    assert clocks.share_s(True, 46) == pytest.approx((30 - RESERVE_S) / 3 - MARGIN_S)


def test_a_move_that_takes_far_too_long_at_the_end_of_a_period_is_paid_from_the_reserve() -> None:
    clocks, spent_s = Clocks(), 0.0
    clocks.set(0, 1, 10)
    for stone in range(10):
        share_s = clocks.share_s(True, 50)
        assert share_s is not None
        stalled_s = 0.4 if stone == 9 else 0.0
        clocks.spend(True, share_s + stalled_s)
        spent_s += share_s + stalled_s
    assert 0.8 < spent_s < 1


def test_what_is_left_of_a_period_counts_where_the_controller_says_so() -> None:
    clocks = Clocks()
    clocks.set(0, 30, 3)
    clocks.spend(True, 4)
    assert clocks.share_s(True, 48) == pytest.approx((30 - RESERVE_S) / 3 - MARGIN_S), "its period may begin later"
    clocks.tell(True, 26, 2)
    assert clocks.share_s(True, 48) == pytest.approx((26 - RESERVE_S) / 2 - MARGIN_S)


def test_main_time_runs_over_into_the_first_period() -> None:
    clocks = Clocks()
    clocks.set(6, 30, 3)
    assert clocks.share_s(True, 50) == pytest.approx((30 - RESERVE_S) / 3 - MARGIN_S)
    clocks.spend(True, 18 - MARGIN_S)  # 6 of the main time, 12 of the period, one of its stones
    assert clocks.share_s(True, 48) == pytest.approx((18 - RESERVE_S) / 2 - MARGIN_S)


def test_what_is_told_replaces_what_was_counted() -> None:
    clocks = Clocks()
    clocks.set(320, 30, 3)
    clocks.tell(True, 32, 0)
    assert clocks.share_s(True, 60) == pytest.approx((30 - RESERVE_S) / 3 - MARGIN_S)  # a third of the period to come
    clocks.tell(True, 5, 1)
    assert clocks.share_s(True, 60) == pytest.approx(5 - RESERVE_S - MARGIN_S)
    assert clocks.share_s(False, 60) == pytest.approx(10 - MARGIN_S)


def test_no_time_left_is_no_time() -> None:
    clocks = Clocks()
    clocks.set(0, 0, 0)
    assert clocks.share_s(True, 60) == 0
    clocks.tell(True, 0, 0)
    assert clocks.share_s(True, 2) == 0


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("stones", [0, 1, 5])
def test_no_clock_is_overrun_in_a_thousand_games(stones: int, told: bool) -> None:
    """Random games, passes among them, in which every move is late by up to MARGIN_S."""
    rng = random.Random(stones)
    for _ in range(1000):
        main_s = 10 ** rng.uniform(-1 if stones else 0.2, 3)
        period_s = stones * 10 ** rng.uniform(-1, 1.5)
        clocks, position = Clocks(), Position.start(rng.choice(["reversi6", "reversi8"]))
        clocks.set(main_s, period_s, stones)
        left_s, left_stones = main_s, 0
        while not position.is_over:
            legal = position.legal_actions()
            if position.black_to_move and len(legal) > 1:
                share_s = clocks.share_s(True, position.empties)
                assert share_s is not None
                clocks.spend(True, share_s)
                left_s -= share_s + rng.uniform(0, MARGIN_S)
                if left_s < 0 and stones and not left_stones:
                    left_s, left_stones = left_s + period_s, stones
                assert left_s >= 0, (main_s, period_s, stones, position.empties)
                if left_stones:
                    left_stones -= 1
                    if not left_stones:
                        left_s, left_stones = period_s, stones
                if told:
                    clocks.tell(True, left_s, left_stones)
            position = position.play(rng.choice(legal))
