"""Rescoring: the late plies of finished games get the solver's exact values and policies as targets.

Players that search little and move at random make game results noisy targets.  Where few squares are empty the solver
is exact: a ply gets the value of perfect play, and its policy target loses the moves that are worse; a ply without a
policy target, because its search was a short one, gets the best moves with equal shares.  The earlier plies learn the
first exact value in place of the game's result.  Leela Chess Zero rescores its games with tablebases in the same way
(https://github.com/LeelaChessZero/lc0/blob/master/src/rescorer).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from actors.games import Games
from reversi.games.bitboard import ONE, ZERO, popcount
from reversi.games.rules import (
    NO_ACTION,
    REVERSI8,
    Game,
    only_reply,
    play,
    squares_of,
)
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.kernels.stack_array import Int64Pointer, pointer_to
from reversi.kernels.threads import Threads
from reversi.record import OPENING, SEARCHED
from reversi.search.exact import MAX_MARGIN, utility
from reversi.search.params import SearchParams
from reversi.solver.last import EVALUATION_COUNT, GENERATION, NODE_COUNT, STOP
from reversi.solver.search import moves_reaching, search
from reversi.solver.table import Table
from reversi.solver.threads import CACHED_TABLE_BITS, SolverThreads
from reversi.solver.variant import variant_of

NODES_A_PLY = 20_000
"""Nodes that the solver may search for a ply's value, and again for its moves: half a millisecond.  Plies are solved
from the last one back, until one takes more: even games are several times as hard as one-sided ones."""


class Rescorer:
    """Gives plies with at most `empties` empty squares exact values and policies; 0 changes nothing."""

    def __init__(self, game: Game, search_params: SearchParams, empties: int, threads: Threads) -> None:
        """`empties` is limited to half the board: on 4x4 the solver would otherwise solve the whole game."""
        self._game, self._search_params = game, search_params
        self.empties = min(empties, game.squares // 2) if game.id <= REVERSI8 else 0
        """Plies with at most this many empty squares are rescored."""
        self._solvers = SolverThreads(threads, CACHED_TABLE_BITS, NODES_A_PLY)

    def rescore(self, games: Games, rows: NDArray[np.int64]) -> None:
        """Write values, policies and `exact_from` of the finished games in `rows`."""
        if self.empties == 0:
            return
        game = self._game

        def work(first: int, last: int, table: Table, counts: NDArray[np.int64]) -> None:
            rescore_games(
                games,
                rows[first:last],
                game_id=game.id,
                search_params=self._search_params,
                start_own=np.uint64(game.start_own),
                start_opp=np.uint64(game.start_opp),
                empties=self.empties,
                table=table,
                counts_array=counts,
            )

        self._solvers.each(work, len(rows))


@kernel
def rescore_games(
    games: Games,
    rows: NDArray[np.int64],
    game_id: int,
    search_params: SearchParams,
    start_own: np.uint64,
    start_opp: np.uint64,
    empties: int,
    table: Table,
    counts_array: NDArray[np.int64],
) -> None:
    """Write exact value and best moves of the plies with at most `empties` empty squares, openings excepted.

    table, counts_array  as for `solve_root`; the last ply is solved first, and a game's plies share the table
    """
    counts = pointer_to(counts_array)
    variant, squares = variant_of(game_id, False), squares_of(game_id)
    most = MAX_MARGIN if search_params.margin_weight > 0 else 1
    own = np.empty(games.actions.shape[1], np.uint64)
    opp = np.empty(games.actions.shape[1], np.uint64)
    for index in range(rows.shape[0]):
        g = rows[index]
        state = games.state[g]
        mine, theirs = start_own, start_opp
        for ply in range(state.plies):
            own[ply], opp[ply] = mine, theirs
            mine, theirs = play(game_id, mine, theirs, games.actions[g, ply])
        counts[GENERATION] += 1
        for ply in range(state.plies - 1, -1, -1):
            if games.kinds[g, ply] == OPENING or squares - popcount(own[ply] | opp[ply]) > empties:
                break
            counts[NODE_COUNT] = counts[EVALUATION_COUNT] = counts[STOP] = 0
            margin = search(variant, own[ply], opp[ply], int(np.int64(-most)), int(np.int64(most)), table, counts)
            if counts[STOP] != 0:
                break
            games.values[g, ply] = utility(game_id, search_params, margin)
            state.exact_from = ply
            if margin > -most and only_reply(game_id, own[ply], opp[ply]) == NO_ACTION:
                least = min(margin, most)
                is_exact = _keep_best(variant, own[ply], opp[ply], least, table, counts, games.policies[g, ply])
                if is_exact and games.kinds[g, ply] != SEARCHED:
                    games.kinds[g, ply] = SEARCHED
                    state.positions += 1


@bare_kernel
def _keep_best(
    variant: int,
    own: np.uint64,
    opp: np.uint64,
    least: int,
    table: Table,
    counts: Int64Pointer,
    policy: NDArray[np.uint8],
) -> bool:
    """Remove the moves that end with less than `least` from a policy target; if none is left, use all the others.

    Return False, with `policy` unchanged, where the limit of nodes stops the solver.

    policy  uint8[A]  visits, read and written; the largest is 255 before and after
    """
    counts[NODE_COUNT] = counts[EVALUATION_COUNT] = 0
    best, largest = moves_reaching(variant, own, opp, least, ZERO, table, counts), 0
    if counts[STOP] != 0:
        return False
    for action in range(policy.shape[0] - 1):
        if best & (ONE << np.uint64(action)) != ZERO:
            largest = max(largest, int(policy[action]))
    for action in range(policy.shape[0] - 1):
        if best & (ONE << np.uint64(action)) == ZERO:
            policy[action] = 0
        elif largest == 0:
            policy[action] = 255
        else:
            policy[action] = (int(policy[action]) * 255 + largest // 2) // largest
    return True
