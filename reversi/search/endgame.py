"""The exact solver: what a position of Reversi is worth when both sides play perfectly to the end.

`Solver` answers for one position at a time, with limits; `solve_batch` scores all moves of many positions on several
threads; `solve_small` is the kernel for the leaves of another search.  A score is own - opp at the end for the side to
move; squares that stay empty are nobody's, or the winner's where that is asked for (WTHOR and the FFO positions do).

What is not solved is never guessed: a limit that is hit gives no score.  Every answer starts from an empty table, so
the same question has the same answer after the same number of positions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reversi.errors import UsageError
from reversi.games.bitboard import Masks
from reversi.games.rules import REVERSI8, Game, action_of_square
from reversi.kernel import bare_kernel
from reversi.search.endgame_last import (
    LIMIT,
    NODES,
    ROUND,
    STOP,
    empty_squares,
    final_score,
    last_many,
    odd_quadrants,
    variant_of,
)
from reversi.search.endgame_search import BEST, COUNTS, NO_SCORE, WORST, solve_root, solve_rows
from reversi.search.endgame_table import Table, make_table
from reversi.search.endgame_threads import SolverThreads
from reversi.search.parallel import Threads
from reversi.search.stack import stack_numbers

__all__ = ["NO_SCORE", "Solution", "Solver", "solve_batch", "solve_small"]

UNLIMITED = 1 << 62
"""More positions than anybody can search."""

BATCH_TABLE_BITS = 19
"""Size of a thread's table in `solve_batch`: 12 MB."""


@dataclass(frozen=True)
class Solution:
    """What was found out about one position."""

    score: int | None
    """Own - opp at the end of perfect play, or its sign if only win, draw or loss was asked; None if not solved."""

    best: int | None
    """An action that leads there; None if not solved and if the game is over."""

    moves: dict[int, int]
    """Actions with their exact scores for the side to move: all legal ones, or only the best; if not solved, those that
    were scored before the limit."""

    nodes: int
    """Positions searched; those looked at only to order moves do not count."""

    seconds: float
    """Time it took."""

    solved: bool
    """Whether the limits were enough."""


class Solver:
    """Solves positions of one game, one at a time; a solver must not be used by two threads at once."""

    def __init__(self, game: Game, *, winner_takes_empties: bool = False, table_bits: int = 20) -> None:
        """The table has 2**table_bits slots of 24 bytes; memory is taken as it fills.

        Raises UsageError for a game that is not Reversi.
        """
        if game.id > REVERSI8:
            raise UsageError(f"expected a Reversi board to solve, got {game.name}")
        self.game = game
        self._variant = variant_of(game.id, winner_takes_empties)
        self._table = make_table(table_bits)
        self._counts = np.zeros(COUNTS, np.int64)
        self.solve(game.board_mask, 0)  # compiles or loads the kernels, so that a first time limit is kept, too

    def solve(
        self, own: int, opp: int, *, wdl: bool = False, nodes: int | None = None, seconds: float | None = None
    ) -> Solution:
        """Return the score of a position and a best move.

        wdl      ask only who wins, which is faster: the score is 1, 0 or -1
        nodes    positions to search at most, give or take some thousands
        seconds  time to take at most, kept to within a few milliseconds
        """
        return self._solve(own, opp, False, wdl, nodes, seconds)

    def solve_moves(
        self, own: int, opp: int, *, wdl: bool = False, nodes: int | None = None, seconds: float | None = None
    ) -> Solution:
        """Return like `solve`, with the exact score of every legal move."""
        return self._solve(own, opp, True, wdl, nodes, seconds)

    def stop(self) -> None:
        """End the solution that is under way in another thread, within milliseconds; it is then not solved."""
        self._counts[STOP] = 1

    def _solve(self, own: int, opp: int, every: bool, wdl: bool, nodes: int | None, seconds: float | None) -> Solution:
        start_s, counts, found = time.perf_counter(), self._counts, np.empty(65, np.int8)
        low, high = (-1, 1) if wdl else (WORST, BEST)
        counts[NODES], counts[LIMIT], counts[STOP] = 0, UNLIMITED if nodes is None else nodes, 0
        counts[ROUND] += 1
        with self._stopped_after(seconds):
            square = solve_root(
                self._variant, np.uint64(own), np.uint64(opp), low, high, every, self._table, counts, found
            )
        solved = bool(counts[STOP] == 0)
        scores = np.clip(found, low, high)
        moves = {
            int(action_of_square(self.game.id, int(s))): int(scores[s])
            for s in np.flatnonzero(found != NO_SCORE)
            if solved or every
        }
        best = int(action_of_square(self.game.id, square)) if solved and square >= 0 else None
        score = None if not solved else self._final_score(own, opp, low, high) if best is None else moves[best]
        return Solution(score, best, moves, int(counts[NODES]), time.perf_counter() - start_s, solved)

    def _final_score(self, own: int, opp: int, low: int, high: int) -> int:
        return min(max(int(final_score(self._variant, np.uint64(own), np.uint64(opp))), low), high)

    @contextmanager
    def _stopped_after(self, seconds: float | None) -> Iterator[None]:
        """Set STOP when the time is up; kernels look there and release the GIL."""
        if seconds is None:
            yield
            return
        timer = threading.Timer(max(seconds, 0.0), self.stop)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # one that is just setting STOP must not stop the next solution


def solve_batch(
    game: Game, own: Masks, opp: Masks, *, threads: int = 1, node_limit: int | None = None
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Score all moves of B positions; empty squares are nobody's.

    own, opp    uint64[B]
    node_limit  positions to search at most for each of them

    Returns (scores int8[B, A], solved bool[B]): exact scores for the side to move, NO_SCORE at illegal actions, in
    finished games, and throughout positions that hit the limit.  The result does not depend on the threads.
    """
    scores, solved = np.full((len(own), game.actions), NO_SCORE, np.int8), np.ones(len(own), np.bool_)
    variant, limit = variant_of(game.id, False), UNLIMITED if node_limit is None else node_limit

    def work(start: int, stop: int, table: Table, counts: NDArray[np.int64]) -> None:
        part = slice(start, stop)
        solve_rows(variant, own[part], opp[part], table, counts, scores[part], solved[part])

    SolverThreads(Threads(threads), BATCH_TABLE_BITS, limit).each(work, len(own))
    return scores, solved


@bare_kernel
def solve_small(game_id: int, own: np.uint64, opp: np.uint64, alpha: int, beta: int) -> int:
    """Return the score of any position of Reversi with few empty squares, without a table; for leaves of a search.

    The score is own - opp at the end of perfect play, empty squares nobody's: exact if it lies between alpha and beta,
    an upper bound at or below alpha, a lower bound at or above beta.  With alpha -1 and beta 1 its sign is exact.
    Forced passes and finished games are positions like others.  Any number of threads may call it.
    """
    variant = variant_of(game_id, False)
    empty = empty_squares(variant, own, opp)
    counts = stack_numbers()
    counts[NODES] = 0
    odd = odd_quadrants(variant, empty)
    return last_many(variant, own, opp, empty, odd, int(np.int64(alpha)), int(np.int64(beta)), counts)
