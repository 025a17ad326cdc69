"""Patterns of a board: the weights they share, and what is refused."""

import numpy as np
import pytest

from reversi.errors import ConfigError
from reversi.patterns.shapes import shapes_of
from tests.reversi.patterns.oracle import CROSS

ROWS4 = ("a1 b1 c1 d1", "a2 b2 c2 d2")


def test_a_row_of_4x4_shares_the_weights_of_its_mirror_image():
    shapes = shapes_of(ROWS4, 4)
    assert len(shapes.lookup.offset) == 8  # four edges, four inner lines
    assert shapes.lookup.offset.tolist() == [0] * 4 + [81] * 4
    assert shapes.weights == 2 * 45  # of 81 arrangements 9 are their own mirror image: (81 + 9) / 2
    one_way, other_way = 1 * 1 + 2 * 3, 2 * 9 + 1 * 27  # own disc on a1, opposing on b1; their images on d1 and c1
    assert shapes.canonical[one_way] == shapes.canonical[other_way]
    assert shapes.canonical[one_way] != shapes.canonical[2 * 1 + 1 * 3]
    assert shapes.canonical[81:].min() == 45


def test_a_shape_without_a_symmetry_of_its_own_shares_nothing_within_an_instance():
    shapes = shapes_of((*ROWS4, "a1 b1 b2 c2"), 4)
    assert len(shapes.lookup.offset) == 8 + 8
    assert shapes.weights == 90 + 81


def test_every_weight_is_used():
    shapes = shapes_of(CROSS, 4)
    assert np.unique(shapes.canonical).tolist() == list(range(shapes.weights))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a1 b1 e1", "'a1 b1 e1': expected squares from a1 to d4, got e1"),
        ("a1 b1 a1", "'a1 b1 a1': expected every square once, got a1 again"),
        ("", "'': expected 1 to 12 squares, got 0"),
        ("a1 b1 c1 d1 a2 b2 c2 d2 a3 b3 c3 d3 a4", "expected 1 to 12 squares, got 13"),
    ],
)
def test_a_faulty_pattern_is_named(pattern, message):
    with pytest.raises(ConfigError) as caught:
        shapes_of((*ROWS4, pattern), 4)
    assert message in str(caught.value)


def test_uncovered_squares_are_named():
    with pytest.raises(ConfigError, match="must cover every square of 4x4, got none with b2, c2, b3, c3"):
        shapes_of(("a1 b1 c1 d1",), 4)
