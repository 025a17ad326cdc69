"""Draws follow their distributions, and a draw depends on its stream and number alone."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.games.rng import random_gamma, random_gumbel, random_index, random_square, random_uniform, stream

DRAWS = 20_000


def starts(count: int, seed: int = 5) -> list[np.uint64]:
    return [np.uint64(stream(np.uint64(seed), number)) for number in range(count)]


def test_uniform_draws_fill_the_unit_interval() -> None:
    start = starts(1)[0]
    draws = np.array([random_uniform(start, draw) for draw in range(DRAWS)])
    assert 0 < draws.min() < 0.001 < 0.999 < draws.max() < 1
    assert abs(draws.mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / DRAWS)


def test_gumbel_draws_have_the_distribution_that_makes_their_maximum_a_softmax() -> None:
    """P(argmax(logit + gumbel) = a) is softmax(logit): the Gumbel-max trick that the root's sampling rests on."""
    start, logits = starts(1)[0], np.array([0.0, 1.0, 2.0])
    drawn = [np.argmax([logits[a] + random_gumbel(start, 3 * draw + a) for a in range(3)]) for draw in range(DRAWS)]
    expected = np.exp(logits) / np.exp(logits).sum()
    shares = np.bincount(drawn, minlength=3) / DRAWS
    assert np.abs(shares - expected).max() < 4.5 * np.sqrt(0.25 / DRAWS)


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 10.0])
def test_gamma_draws_have_mean_and_variance_equal_to_their_shape(shape: float) -> None:
    draws = np.array([random_gamma(start, shape) for start in starts(DRAWS)])
    assert (draws > 0).all()
    assert abs(draws.mean() - shape) < 4.5 * np.sqrt(shape / DRAWS)
    fourth = 3 * shape**2 + 6 * shape  # central moment
    assert abs(draws.var() - shape) < 4.5 * np.sqrt((fourth - shape**2) / DRAWS)


@pytest.mark.parametrize("squares", [1, 2, 3, 7, 33])
def test_every_square_of_a_mask_is_drawn_equally_often(squares: int) -> None:
    rng = np.random.default_rng(squares)
    chosen = np.sort(rng.choice(64, squares, replace=False))
    mask = np.uint64(sum(1 << int(square) for square in chosen))
    draws = 4000 * squares
    streams = starts(draws // 50, 9)
    counts = np.bincount([random_square(mask, one, draw) for one in streams for draw in range(50)], minlength=64)
    assert counts[np.setdiff1d(np.arange(64), chosen)].sum() == 0
    sigma = np.sqrt(4000 * (1 - 1 / squares))
    assert np.abs(counts[chosen] - 4000).max() <= 4.5 * sigma


def test_neighbouring_seeds_streams_and_draws_are_unrelated() -> None:
    streams = [starts(64, seed) for seed in (1, 2)]
    bits = np.array([[random_index(one, draw, 2) for one in row for draw in range(64)] for row in streams])
    for one, other in ((bits[0], bits[1]), (bits[0, 1:], bits[0, :-1]), (bits[0, 64:], bits[0, :-64])):
        agree = (one == other).mean()
        assert abs(agree - 0.5) < 4.5 / 2 / np.sqrt(len(one))
