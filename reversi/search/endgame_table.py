"""The exact solver's memory: for positions it has met, bounds of their score and the best move found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.kernel import bare_kernel

SLOT = np.dtype(
    [
        ("own", np.uint64),
        ("opp", np.uint64),
        ("lower", np.int8),  # the score is at least this
        ("upper", np.int8),  # and at most this
        ("best", np.int8),  # square of the best move found, -1 for none
        ("effort", np.uint8),  # bit length of the positions it took
        ("round", np.uint32),  # solution it belongs to; slots of others are free
    ],
    align=True,
)
"""24 bytes a position."""

Table = NDArray[Any]
"""SLOT[2**bits]; a position's home is two neighbours, of which it takes that which was cheaper to find out."""

ABSENT = -1

_MIX_OWN = np.uint64(0x9E3779B97F4A7C15)
_MIX_OPP = np.uint64(0xC2B2AE3D27D4EB4F)
_MIX = np.uint64(0xD6E8FEB86659FD93)


def make_table(bits: int) -> Table:
    """Return an empty table of `2**bits` slots, of which the rounds count from 1."""
    return np.zeros(1 << bits, SLOT)


@bare_kernel
def _home(table: Table, own: np.uint64, opp: np.uint64) -> int:
    """Return the first of the position's two slots."""
    mixed = own * _MIX_OWN + opp * _MIX_OPP
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _MIX
    mixed ^= mixed >> np.uint64(29)
    return int(mixed & np.uint64(table.shape[0] - 2))


@bare_kernel
def find(table: Table, number: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the slot of a position met in round `number`, or ABSENT."""
    home = _home(table, own, opp)
    for i in range(home, home + 2):
        slot = table[i]
        if slot.own == own and slot.opp == opp and slot.round == number:
            return i
    return ABSENT


@bare_kernel
def keep(
    table: Table, number: int, own: np.uint64, opp: np.uint64, lower: int, upper: int, best: int, positions: int
) -> None:
    """Store what was found out about a position in round `number` by looking at so many `positions`."""
    effort = 0
    while positions != 0:
        positions >>= 1
        effort += 1
    home = _home(table, own, opp)
    first, second = table[home], table[home + 1]
    if first.own == own and first.opp == opp:
        slot = first
    elif second.own == own and second.opp == opp:
        slot = second
    elif first.round != number:
        slot = first
    elif second.round != number:
        slot = second
    else:
        slot = first if first.effort < second.effort else second
    slot.own, slot.opp = own, opp
    slot.lower, slot.upper, slot.best = lower, upper, best
    slot.effort = effort
    slot.round = number
