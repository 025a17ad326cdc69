"""The exact solver's line: perfect play from a position whose score is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, flips, reachable
from reversi.kernels.kernel import kernel
from reversi.kernels.stack_array import pointer_to, stack_array
from reversi.solver.last import GENERATION, NODE_COUNT, STOP
from reversi.solver.order import order_moves
from reversi.solver.search import search, table_part
from reversi.solver.table import ABSENT, Table, find
from reversi.solver.variant import empty_squares

LONGEST = 128
"""Most plies of a line: a move on every empty square and a pass before each."""


@kernel
def best_line(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    own_least: int,
    opp_least: int,
    solved_empties: int,
    table: Table,
    counts_array: NDArray[np.int64],
    line: NDArray[np.int8],
) -> int:
    """Write moves of both sides that keep the score, to the end of the game, and return their number.

    own_least       a score that the side to move can reach: it plays the first move that is found to reach it
    opp_least       the same for the other side
    solved_empties  empty squares of the position whose solve has left its bounds in `table`, in this GENERATION
    counts_array    as for `solve_root`; once stopped, the line ends
    line            int8[LONGEST]  written by square, 64 for a pass

    A move is tried by a null window; those that the solve has searched cost a look at the table.
    """
    counts = pointer_to(counts_array)
    table = table_part(table, solved_empties)
    length = 0
    while True:
        empty = empty_squares(variant, own, opp)
        legal = reachable(own, opp) & empty
        square = -1
        if legal == ZERO:
            if (reachable(opp, own) & empty) == ZERO:
                return length
            square, turned, disc = 64, ZERO, ZERO
        else:
            known, keys = find(table, counts[GENERATION], own, opp), stack_array()
            hint = -1 if known == ABSENT else int(table[known].best)
            count = order_moves(variant, own, opp, empty, legal, hint, keys, counts)
            for i in range(count):
                tried = keys[i] & 63
                turned, disc = flips(own, opp, tried), ONE << np.uint64(tried)
                counts[NODE_COUNT] += 1
                least = -search(variant, opp ^ turned, own | turned | disc, -own_least, 1 - own_least, table, counts)
                if counts[STOP] != 0:
                    return length
                if least >= own_least:
                    square = tried
                    break
        if square < 0:  # neither score was reachable: the caller's fault
            return length
        line[length] = square
        length += 1
        own, opp = opp ^ turned, own | turned | disc
        own_least, opp_least = opp_least, own_least
