"""Exact moves for rescoring and lessons: the moves that reach a margin, and a table size that fits the caches."""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, ZERO, lowest_square
from reversi.games.rules import action_of_square, legal_moves, play
from reversi.kernel import bare_kernel
from reversi.search.endgame_last import STOP
from reversi.search.endgame_search import WORST, search
from reversi.search.endgame_table import Table
from reversi.search.stack_array import Int64Pointer

TABLE_BITS = 17
"""Size of a thread's table: 3 MB, which fits the caches."""


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
    """Return the actions, as bits, after which perfect play ends with a margin of `least` or more.

    known  actions already known to reach it; they are included without a search

    There must be a legal square.  If `counts[STOP]` is set on return, a limit stopped the search and the result is
    meaningless.
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
