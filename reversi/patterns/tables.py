"""`PatternTables`: the weights of a pattern network in the form that kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import popcount
from reversi.kernels.kernel import bare_kernel
from reversi.patterns.index import PatternIndex
from reversi.patterns.shapes import PatternShapes

DISC = 64
"""A disc in the units of tables and values."""

START_DISCS = 4
"""Discs at the start of a game."""


class PatternTables(NamedTuple):
    """One set of tables per phase; values are for the side to move, in 1/64 disc."""

    lookup: PatternIndex
    tables: NDArray[np.int16]  # [phases, R]
    bias: NDArray[np.int32]  # [phases]
    width: NDArray[np.float32]  # [phases]  of the ordered logit, in discs
    temperature: NDArray[np.float32]  # [phases]  of the policy, in discs
    phase_discs: int  # discs placed in a phase


NO_TABLES = PatternTables(
    PatternIndex(np.zeros((0, 0), np.uint16), np.zeros(0, np.int32)),
    np.zeros((0, 0), np.int16),
    np.zeros(0, np.int32),
    np.zeros(0, np.float32),
    np.zeros(0, np.float32),
    1,
)
"""The tables of a network that has none."""


def tables_of(
    shapes: PatternShapes,
    phase_discs: int,
    tables: NDArray[np.int16],
    bias: NDArray[np.int16],
    width: NDArray[np.float32],
    temperature: NDArray[np.float32],
) -> PatternTables:
    """Return the tables of a model's arrays, every raw index with its own copy of the weight that it shares.

    tables             int16[phases, W]
    bias               int16[phases]
    width, temperature  float32[phases]
    """
    return PatternTables(
        shapes.lookup,
        np.take(tables, shapes.canonical, axis=1),
        bias.astype(np.int32),
        width.astype(np.float32),
        temperature.astype(np.float32),
        phase_discs,
    )


def phases_of(squares: int, phase_discs: int) -> int:
    """Return the number of phases of a board."""
    return -(-(squares - START_DISCS) // phase_discs)


@bare_kernel
def has_tables(tables: PatternTables) -> bool:
    """Return whether there are tables."""
    return bool(tables.bias.shape[0] > 0)


@bare_kernel
def phase_of(phase_discs: int, phases: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the phase of a position by its discs, from 0 to `phases` - 1."""
    return min(max((popcount(own | opp) - START_DISCS) // phase_discs, 0), phases - 1)
