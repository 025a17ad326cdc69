"""The exact solver's transposition table: score bounds and the best move of positions already searched."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.kernels.kernel import bare_kernel

SLOT = np.dtype(
    [
        ("own", np.uint64),
        ("opp", np.uint64),
        ("lower", np.int8),  # the score is at least this
        ("upper", np.int8),  # and at most this
        ("best", np.int8),  # square of the best move found, -1 for none
        ("effort", np.uint8),  # bit length of the number of positions searched for it
        ("generation", np.uint32),  # last 32 bits of the solve that wrote it; slots of other generations are free
    ],
    align=True,
)
"""24 bytes a position."""

Table = NDArray[Any]
"""SLOT[2**bits]; a position hashes to two adjacent slots and replaces the one that cost less effort."""

ABSENT = -1

_GENERATION_BITS = (1 << 32) - 1
"""Generations that differ by a multiple of 2**32 are taken for one; bounds that have survived so many solves are still
true."""

_MIX_OWN = np.uint64(0x9E3779B97F4A7C15)
_MIX_OPP = np.uint64(0xC2B2AE3D27D4EB4F)
_MIX = np.uint64(0xD6E8FEB86659FD93)


def make_table(bits: int) -> Table:
    """Return an empty table of `2**bits` slots; generations count from 1."""
    return np.zeros(1 << bits, SLOT)


@bare_kernel
def home_of(table: Table, own: np.uint64, opp: np.uint64) -> int:
    """Return the first of the position's two slots in a table of a power of two of them."""
    mixed = own * _MIX_OWN + opp * _MIX_OPP
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _MIX
    mixed ^= mixed >> np.uint64(29)
    return int(mixed & np.uint64(table.shape[0] - 2))


@bare_kernel
def find(table: Table, generation: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the slot of a position stored in this `generation`, or ABSENT."""
    home, stamp = home_of(table, own, opp), generation & _GENERATION_BITS
    for i in range(home, home + 2):
        slot = table[i]
        if slot.own == own and slot.opp == opp and slot.generation == stamp:
            return i
    return ABSENT


@bare_kernel
def store(
    table: Table, generation: int, own: np.uint64, opp: np.uint64, lower: int, upper: int, best: int, positions: int
) -> None:
    """Store a position's bounds and best move in this `generation`; `positions` were searched to find them.

    What earlier generations left has no influence: a slot of theirs is free, even if it holds the same position.
    """
    effort = 0
    while positions != 0:
        positions >>= 1
        effort += 1
    home, known, stamp = home_of(table, own, opp), find(table, generation, own, opp), generation & _GENERATION_BITS
    first, second = table[home], table[home + 1]
    if known != ABSENT:
        slot = table[known]
    elif first.generation != stamp:
        slot = first
    elif second.generation != stamp:
        slot = second
    else:
        slot = first if first.effort < second.effort else second
    slot.own, slot.opp = own, opp
    slot.lower, slot.upper, slot.best = lower, upper, best
    slot.effort = effort
    slot.generation = stamp
