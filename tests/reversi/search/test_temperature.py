"""Temperature: how visits become the action played."""

from __future__ import annotations

import numpy as np

from reversi.search.temperature import choose_actions

VISITS = np.array([[0, 30, 10, 0, 60]], np.int32)


def shares(temperature: float) -> np.ndarray:
    rows = np.repeat(VISITS, 40_000, axis=0)
    chosen = choose_actions(rows, np.full(len(rows), temperature), np.random.default_rng(0))
    return np.bincount(chosen, minlength=5) / len(rows)


def test_temperature_one_draws_in_proportion_to_visits() -> None:
    np.testing.assert_allclose(shares(1.0), [0, 0.3, 0.1, 0, 0.6], atol=0.01)


def test_half_the_temperature_squares_the_odds() -> None:
    np.testing.assert_allclose(shares(0.5), [0, 9 / 46, 1 / 46, 0, 36 / 46], atol=0.01)


def test_temperature_zero_takes_the_most_visited_and_the_first_of_equals() -> None:
    visits = np.array([[0, 3, 5, 5], [7, 0, 0, 1]])
    assert choose_actions(visits, np.zeros(2), np.random.default_rng(0)).tolist() == [2, 0]


def test_a_tiny_temperature_is_greedy_without_overflow() -> None:
    with np.errstate(all="raise", under="ignore"):
        assert shares(1e-9).tolist() == [0, 0, 0, 0, 1]


def test_actions_without_weight_are_never_drawn_even_at_the_ends_of_the_draw() -> None:
    class Ends:
        """The smallest and the largest number that `random` can return."""

        def random(self, size: int) -> np.ndarray:
            return np.array([0, 1 - 2**-53])[:size]

    visits = np.array([[0, 1, 2, 0], [0, 1, 2, 0]])
    assert sorted(choose_actions(visits, np.ones(2), Ends()).tolist()) == [1, 2]  # type: ignore[arg-type]


def test_a_game_draws_the_same_whatever_the_temperatures_of_the_others() -> None:
    visits = np.random.default_rng(1).integers(1, 50, (20, 10))
    alone = choose_actions(visits, np.where(np.arange(20) == 7, 1.0, 0.0), np.random.default_rng(2))
    crowd = choose_actions(visits, np.ones(20), np.random.default_rng(2))
    assert alone[7] == crowd[7]


def test_no_positions_choose_nothing() -> None:
    assert choose_actions(np.empty((0, 5), np.int32), np.empty(0), np.random.default_rng(0)).shape == (0,)
