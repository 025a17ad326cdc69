"""The transposition table of alpha-beta: bounds of a position's value at a depth, and the best move found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.kernels.kernel import bare_kernel
from reversi.solver.table import ABSENT, home_of

SLOT = np.dtype(
    [
        ("own", np.uint64),
        ("opp", np.uint64),
        ("lower", np.int16),  # the value at this depth is at least this, in 1/64 disc
        ("upper", np.int16),  # and at most this
        ("depth", np.int8),
        ("best", np.int8),  # square of the best move found, -1 for none
        ("generation", np.uint16),  # the search that wrote it; 0 for an empty slot
    ],
    align=True,
)
"""24 bytes a position."""

ValueTable = NDArray[Any]
"""SLOT[2**bits]; a position hashes to two adjacent slots and replaces the older one, or the shallower of one age."""

LAST_GENERATION = np.iinfo(np.uint16).max
"""After this one the table must be emptied."""


def make_value_table(bits: int) -> ValueTable:
    """Return an empty table of `2**bits` slots; generations count from 1."""
    return np.zeros(1 << bits, SLOT)


@bare_kernel
def find_value(table: ValueTable, oldest: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the slot of a position stored in generation `oldest` or later, or ABSENT."""
    home = home_of(table, own, opp)
    for i in range(home, home + 2):
        slot = table[i]
        if slot.own == own and slot.opp == opp and slot.generation >= oldest:
            return i
    return ABSENT


@bare_kernel
def store_value(
    table: ValueTable,
    generation: int,
    own: np.uint64,
    opp: np.uint64,
    depth: int,
    lower: int,
    upper: int,
    best: int,
) -> None:
    """Store a position's bounds at a depth and its best move, unless this search has already been deeper there."""
    home = home_of(table, own, opp)
    first, second = table[home], table[home + 1]
    if second.own == own and second.opp == opp:
        slot = second
    elif first.own == own and first.opp == opp:
        slot = first
    elif first.generation != second.generation:
        slot = first if first.generation < second.generation else second
    else:
        slot = first if first.depth <= second.depth else second
    if slot.own == own and slot.opp == opp and slot.generation == generation and slot.depth > depth:
        return
    slot.own, slot.opp = own, opp
    slot.lower, slot.upper = lower, upper
    slot.depth, slot.best = depth, best
    slot.generation = generation
