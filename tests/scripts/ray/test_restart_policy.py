"""When a role is started again and when the run gives up, on a clock of the test's own."""

from __future__ import annotations

from itertools import pairwise

import pytest

from scripts.ray.restart_policy import CALM_S, FIRST_PAUSE_S, LONGEST_PAUSE_S, WITHIN_S, RestartPolicy


def test_a_role_that_lived_for_a_while_is_started_again_at_once() -> None:
    policy = RestartPolicy(most=10)
    for hour in range(10):
        policy.started(100.0 * hour)
        assert policy.died(100.0 * hour + CALM_S) == 0.0


def test_pauses_double_up_to_a_bound_and_a_long_life_ends_them() -> None:
    policy, now, pauses = RestartPolicy(most=100), 0.0, []
    for _ in range(9):
        policy.started(now)
        now += 1.0
        pause = policy.died(now)
        assert pause is not None
        pauses.append(pause)
    assert pauses[0] == FIRST_PAUSE_S
    assert pauses[-1] == LONGEST_PAUSE_S
    assert all(after == min(2 * before, LONGEST_PAUSE_S) for before, after in pairwise(pauses))
    policy.started(now)
    assert policy.died(now + CALM_S) == 0.0
    policy.started(now + CALM_S)
    assert policy.died(now + CALM_S + 1.0) == FIRST_PAUSE_S


@pytest.mark.parametrize("most", [0, 1, 3])
def test_one_death_too_many_within_an_hour_is_the_end(most: int) -> None:
    policy = RestartPolicy(most)
    assert [policy.died(float(second)) is None for second in range(most + 1)] == [False] * most + [True]
    assert policy.deaths == most + 1


def test_deaths_of_more_than_an_hour_ago_are_forgiven() -> None:
    policy = RestartPolicy(most=1)
    for death in range(20):
        policy.started(death * (WITHIN_S + 1) - CALM_S)
        assert policy.died(death * (WITHIN_S + 1)) == 0.0
        assert policy.deaths == 1
