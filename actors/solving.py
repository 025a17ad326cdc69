"""What rescoring and lessons ask of the solver: tables that stay in caches, and the moves that reach a margin."""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, lowest_square
from reversi.games.rules import action_of_square, legal_moves, play
from reversi.kernel import bare_kernel
from reversi.search.endgame_search import STOP, WORST, search
from reversi.search.endgame_table import Table
from reversi.search.stack_array import Int64Pointer

TABLE_BITS = 17
"""Size of a thread's table: 3 MB, which stays in the caches."""


@bare_kernel
def moves_reaching(
    game_id: int,
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    least: int,
    known: np.uint64,
    table: Table,
    counts: Int64Pointer,
) -> np.uint64:
    """Return the actions, a bit each, after which perfect play ends with a margin of `least` or more.

    known  actions of which that is known, and which are not searched

    There is a legal square.  Where the limit stops the search, which STOP tells, the answer means nothing.
    """
    legal, found = legal_moves(game_id, own, opp), known
    while legal != ZERO and counts[STOP] == 0:
        action = action_of_square(game_id, lowest_square(legal))
        legal &= legal - ONE
        bit = ONE << np.uint64(action)
        most = WORST  # that the other side can still get
        if least > WORST and known & bit == ZERO:
            own_next, opp_next = play(game_id, own, opp, action)
            most = search(variant, own_next, opp_next, int(np.int64(-least)), int(np.int64(1 - least)), table, counts)
        if most <= -least:
            found |= bit
    return found
