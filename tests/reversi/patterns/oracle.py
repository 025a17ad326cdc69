"""Pattern tables read slowly: every image of every pattern, square by square."""

import numpy as np

from reversi.games.rules import square_of_action
from reversi.games.symmetry import SYMMETRIES, action_table
from reversi.patterns.shapes import shapes_of
from reversi.patterns.tables import phases_of, tables_of

CROSS = ("a1 b1 c1 d1", "a2 b2 c2 d2", "a1 b2 c3 d4", "b1 a2", "a1 b1 a2")
"""Patterns of 4x4: lines, one that the diagonal maps to itself, and a corner that does too."""


def random_tables(patterns, game, phase_discs, seed):
    """Return tables of random weights, and the weights int16[phases, W]."""
    rng = np.random.default_rng(seed)
    shapes = shapes_of(patterns, game.size)
    phases = phases_of(game.squares, phase_discs)
    weights = rng.integers(-200, 200, (phases, shapes.weights)).astype(np.int16)
    bias = rng.integers(-200, 200, phases).astype(np.int16)
    width, temperature = rng.uniform(1, 5, (2, phases)).astype(np.float32)
    return tables_of(shapes, phase_discs, weights, bias, width, temperature), weights


def states(game, own, opp):
    """Return 0, 1 or 2 for every action's square: empty, own, opposing."""
    squares = [square_of_action(game.id, action) for action in range(game.squares)]
    return [int(own) >> square & 1 | (int(opp) >> square & 1) << 1 for square in squares]


def margin(game, patterns, tables, phase_discs, own, opp):
    """Return the sum of the tables over the different images of every pattern."""
    discs, board = (int(own) | int(opp)).bit_count(), states(game, own, opp)
    phase = min(max(discs - 4, 0) // phase_discs, len(tables.bias) - 1)
    total, offset = int(tables.bias[phase]), 0
    images = action_table(game)
    for pattern in patterns:
        squares = ["abcdefgh".index(name[0]) + game.size * (int(name[1]) - 1) for name in pattern.split()]
        seen = set()
        for symmetry in range(SYMMETRIES):
            image = images[symmetry, squares].tolist()
            if frozenset(image) not in seen:
                seen.add(frozenset(image))
                index = sum(board[square] * 3**i for i, square in enumerate(image))
                total += int(tables.tables[phase, offset + index])
        offset += 3 ** len(squares)
    return total
