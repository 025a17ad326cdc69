"""Tables against a slow oracle, the eight symmetries, passes, ends, and the ordered logit."""

import math

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import game_named
from reversi.games.symmetry import transform_masks
from reversi.kernels.kernel import kernel
from reversi.patterns.evaluate import expected_result, judge_positions, margins_of, value_of
from reversi.patterns.tables import DISC
from tests.reversi.games import oracle as rules
from tests.reversi.patterns.oracle import CROSS, margin, random_tables

WIDE = ("a1 b1 c1 a2 b2 c2 a3 b3 c3 d1 d2 d3", "a1 b1 c1 d1 e1 f1", "b2 c2 d2 e2", "c3 d3")
"""One of them has twelve squares: its indices need 32 bits."""


@kernel
def value(tables, game_id, own, opp):
    """Return the value of one position."""
    return value_of(tables, game_id, own, opp)


def judged(game, tables, own, opp):
    logits, outlook = np.zeros((len(own), game.actions), np.float32), np.zeros((len(own), 2), np.float32)
    judge_positions(tables, game.id, own, opp, logits, outlook)
    return logits, outlook


@pytest.mark.parametrize(("name", "patterns"), [("reversi4", CROSS), ("reversi6", WIDE)])
def test_margins_are_those_of_the_oracle_and_equal_in_all_orientations(name, patterns):
    game = game_named(name)
    tables, _ = random_tables(patterns, game, 3, seed=1)
    own, opp = rules.scattered(game, 300, seed=2)
    out = np.zeros((8, len(own)), np.int64)
    for symmetry in range(8):
        images = (transform_masks(game.id, mask, symmetry) for mask in (own, opp))
        margins_of(tables, *images, out[symmetry])
    expected = [margin(game, patterns, tables, 3, *position) for position in zip(own, opp, strict=True)]
    assert out[0].tolist() == expected
    assert (out == out[0]).all()


def test_a_pass_is_judged_from_the_other_side_and_a_finished_game_exactly():
    game = game_named("reversi4")
    tables, _ = random_tables(CROSS, game, 3, seed=3)
    passes = Position.parse("OXX------------- O")
    assert passes.legal_moves() != []
    swapped = Position.parse("OXX------------- X")
    assert swapped.legal_moves() == ["pass"]
    assert value(tables, game.id, *map(np.uint64, (swapped.own, swapped.opp))) == -value(
        tables, game.id, *map(np.uint64, (passes.own, passes.opp))
    )
    over = Position.parse("XXX------------- O")
    assert value(tables, game.id, *map(np.uint64, (over.own, over.opp))) == -3 * DISC


def test_moves_are_judged_by_the_position_after_them():
    game = game_named("reversi4")
    tables, _ = random_tables(CROSS, game, 3, seed=4)
    start = Position.start(game)
    logits, outlook = judged(game, tables, *start.as_batch())
    after = {name: start.play(name) for name in start.legal_moves()}
    found = {
        name: -value(tables, game.id, np.uint64(position.own), np.uint64(position.opp))
        for name, position in after.items()
    }
    assert len(found) == 4
    for name, worth in found.items():
        action = "abcd".index(name[0]) + 4 * (int(name[1]) - 1)
        assert logits[0, action] == pytest.approx(worth / DISC / tables.temperature[0], rel=1e-5)
    best = max(found.values()) / DISC
    assert outlook[0, 1] == pytest.approx(min(max(best / game.squares, -1), 1), rel=1e-5)
    assert outlook[0, 0] == pytest.approx(expected_result(np.float32(best), tables.width[0]), rel=1e-5)


@pytest.mark.parametrize(("discs", "width"), [(0.0, 3.0), (5.0, 3.0), (-5.0, 3.0), (0.5, 0.1), (-60.0, 2.0)])
def test_the_ordered_logit(discs, width):
    def logistic(x):
        return 1 / (1 + math.exp(-x))

    expected = logistic((discs - 1) / width) - logistic((-discs - 1) / width)
    assert expected_result(np.float32(discs), np.float32(width)) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("count", [0, 1])
def test_no_position_and_one(count):
    game = game_named("reversi4")
    tables, _ = random_tables(CROSS, game, 3, seed=5)
    own, opp = np.full(count, game.start_own, np.uint64), np.full(count, game.start_opp, np.uint64)
    logits, outlook = judged(game, tables, own, opp)
    assert (len(logits), len(outlook)) == (count, count)
