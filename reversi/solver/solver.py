"""The exact solver: the score of a position of Reversi when both sides play perfectly to the end.

`Solver` solves one position at a time, with limits; `solve_batch` scores all moves of many positions on several
threads; `solve_small` is the kernel for the leaves of another search.  A score is own - opp at the end for the side to
move; squares left empty count for nobody, or optionally for the winner (as in WTHOR and the FFO positions).

Scores are never estimates: a solve that hits a limit returns no score.  Every solve starts from an empty table, so the
same call searches the same number of positions and returns the same result.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reversi.errors import UsageError
from reversi.games.bitboard import Masks
from reversi.games.rules import REVERSI8, Game, action_of_square, game_named
from reversi.kernels.kernel import bare_kernel
from reversi.kernels.stack_array import stack_array
from reversi.kernels.threads import Threads, called_after
from reversi.solver.last import (
    EVALUATION_COUNT,
    GENERATION,
    LIMIT,
    NODE_COUNT,
    STOP,
    by_fastest_first,
    final_score,
    odd_quadrants,
)
from reversi.solver.line import LONGEST, best_line
from reversi.solver.search import BEST, COUNTS, NO_SCORE, WORST, solve_root, solve_rows
from reversi.solver.table import Table, make_table
from reversi.solver.threads import SolverThreads
from reversi.solver.variant import empty_squares, variant_of

UNLIMITED = 1 << 62
"""More positions than any search can visit."""

BATCH_TABLE_BITS = 19
"""Size of a thread's table in `solve_batch`: 12 MB."""


@dataclass(frozen=True)
class Solution:
    """The result of solving one position."""

    score: int | None
    """Own - opp at the end of perfect play, or its sign if only win, draw or loss was requested; None if not solved."""

    best: int | None
    """An action that achieves the score; None if not solved or if the game is over."""

    moves: dict[int, int]
    """Exact scores of actions for the side to move: of all legal ones or of the best one; if not solved, of those that
    were scored before the limit."""

    nodes: int
    """Positions searched, without those of the move ordering."""

    seconds: float
    """Time the solve took."""

    solved: bool
    """Whether the position was solved within the limits."""


class Solver:
    """Solves positions of one game, one at a time; not thread-safe, `stop` excepted."""

    def __init__(self, game: Game | str, *, winner_takes_empties: bool = False, table_bits: int = 20) -> None:
        """The table has 2**table_bits slots of 24 bytes; memory is used only as it fills.

        Raises UsageError for a game that is not Reversi.
        """
        game = game_named(game)
        if game.id > REVERSI8:
            raise UsageError(f"expected a Reversi board to solve, got {game.name}")
        self.game = game
        self._variant = variant_of(game.id, winner_takes_empties)
        self._table = make_table(table_bits)
        self._counts = np.zeros(COUNTS, np.int64)
        self.solve(
            game.board_mask, 0
        )  # these compile or load the kernels, so that the first solve keeps its time limit
        self.line(game.board_mask, 0, game.squares)

    def solve(
        self, own: int, opp: int, *, wdl: bool = False, nodes: int | None = None, seconds: float | None = None
    ) -> Solution:
        """Return the score of a position and a best move.

        wdl      solve only for win, draw or loss, which is faster: the score is 1, 0 or -1
        nodes    most positions to search; up to 41,000 more were measured, since a search of few empty squares runs to
                 its end.  The move ordering evaluates about as many besides (`order.DEEPEST`)
        seconds  time limit, accurate to a few milliseconds
        """
        return self._solve(own, opp, False, wdl, nodes, seconds)

    def solve_moves(
        self, own: int, opp: int, *, wdl: bool = False, nodes: int | None = None, seconds: float | None = None
    ) -> Solution:
        """Like `solve`, but with the exact score of every legal move."""
        return self._solve(own, opp, True, wdl, nodes, seconds)

    def line(
        self,
        own: int,
        opp: int,
        score: int,
        *,
        wdl: bool = False,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> tuple[int, ...]:
        """Return perfect play of both sides from a position with this score to the end, as far as the limits allow.

        wdl             the score is only 1, 0 or -1, and the line keeps that result
        nodes, seconds  as for `solve`

        It is fast after the position itself or one a few plies before it was solved, whose table it uses.
        """
        counts, line = self._counts, np.empty(LONGEST, np.int8)
        sides = (np.uint64(own), np.uint64(opp))
        mine, theirs = (WORST if wdl and least < 0 else least for least in (score, -score))  # a loser may play any move
        counts[LIMIT] = UNLIMITED if nodes is None else nodes
        counts[NODE_COUNT] = counts[EVALUATION_COUNT] = counts[STOP] = 0
        with called_after(seconds, self.stop):
            length = best_line(self._variant, *sides, mine, theirs, self._solved_empties, self._table, counts, line)
        return tuple(int(action_of_square(self.game.id, int(square))) for square in line[:length])

    def stop(self) -> None:
        """End the solve running in another thread, within milliseconds; its position is then not solved."""
        self._counts[STOP] = 1

    def _solve(self, own: int, opp: int, every: bool, wdl: bool, nodes: int | None, seconds: float | None) -> Solution:
        start_s, counts, margins = time.perf_counter(), self._counts, np.empty(65, np.int8)
        low, high = (-1, 1) if wdl else (WORST, BEST)
        counts[LIMIT] = UNLIMITED if nodes is None else nodes
        counts[NODE_COUNT] = counts[EVALUATION_COUNT] = counts[STOP] = 0
        counts[GENERATION] += 1
        self._solved_empties = self.game.squares - (own | opp).bit_count()
        with called_after(seconds, self.stop):
            square = solve_root(
                self._variant, np.uint64(own), np.uint64(opp), low, high, every, self._table, counts, margins
            )
        solved = bool(counts[STOP] == 0)
        scores = np.clip(margins, low, high)
        moves = {
            int(action_of_square(self.game.id, int(s))): int(scores[s])
            for s in np.flatnonzero(margins != NO_SCORE)
            if solved or every
        }
        best = int(action_of_square(self.game.id, square)) if solved and square >= 0 else None
        score = None if not solved else self._final_score(own, opp, low, high) if best is None else moves[best]
        return Solution(score, best, moves, int(counts[NODE_COUNT]), time.perf_counter() - start_s, solved)

    def _final_score(self, own: int, opp: int, low: int, high: int) -> int:
        return min(max(int(final_score(self._variant, np.uint64(own), np.uint64(opp))), low), high)


def solve_batch(game: Game | str, own: Masks, opp: Masks, *, threads: int = 1) -> NDArray[np.int8]:
    """Score all moves of B positions, however long it takes; squares left empty count for nobody.

    own, opp  uint64[B]

    Returns int8[B, A]: exact scores for the side to move; NO_SCORE at illegal actions and in finished games.  They do
    not depend on the number of threads.
    """
    game = game_named(game)
    scores = np.empty((len(own), game.actions), np.int8)
    variant = variant_of(game.id, False)

    def work(start: int, stop: int, table: Table, counts: NDArray[np.int64]) -> None:
        part = slice(start, stop)
        solve_rows(variant, own[part], opp[part], table, counts, scores[part])
        assert counts[STOP] == 0, "a position without a limit was not solved"

    SolverThreads(Threads(threads), BATCH_TABLE_BITS, UNLIMITED).each(work, len(own))
    return scores


@bare_kernel
def solve_small(game_id: int, own: np.uint64, opp: np.uint64, alpha: int, beta: int) -> int:
    """Return the score of any position of Reversi with few empty squares, without a table; for leaves of a search.

    The score is own - opp at the end of perfect play, squares left empty counting for nobody.  It is exact between
    alpha and beta, an upper bound at or below alpha, a lower bound at or above beta; with alpha -1 and beta 1 its sign
    is exact.  Forced passes and finished games are allowed.  Thread-safe.
    """
    variant = variant_of(game_id, False)
    empty = empty_squares(variant, own, opp)
    counts = stack_array()
    counts[NODE_COUNT] = 0
    odd = odd_quadrants(variant, empty)
    return by_fastest_first(variant, own, opp, empty, odd, int(np.int64(alpha)), int(np.int64(beta)), counts)
