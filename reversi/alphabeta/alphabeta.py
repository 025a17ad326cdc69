"""`AlphaBeta`: a strong alpha-beta over the margins of pattern tables, limited by depth, positions or time.

It deepens ply by ply, with a table that it keeps between the moves of a game and selective cut-offs; where the exact
solver can be expected to finish, it comes first.  A time limit is kept within milliseconds: kernels release the GIL and
look at a flag that a timer sets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reversi.alphabeta.cuts import widths_of
from reversi.alphabeta.search import COUNTS, CUT_DEPTH, OLDEST, SOLVED_EMPTIES, Context, search_root
from reversi.alphabeta.table import LAST_GENERATION, find_value, make_value_table
from reversi.games.position import Position
from reversi.games.rules import Game, action_of_square, square_of_action
from reversi.kernels.threads import called_after
from reversi.patterns.evaluate import utility_of
from reversi.patterns.tables import DISC, PatternTables
from reversi.solver.last import GENERATION, LIMIT, NODE_COUNT, STOP
from reversi.solver.solver import UNLIMITED, Solver
from reversi.solver.table import ABSENT

MAX_DEPTH = 60
"""Every empty square of the largest board."""

TABLE_BITS = 20
"""log2 of the slots of the table, of 24 bytes each; memory is used only as it fills."""

SOLVED_PER_PLY, MOST_SOLVED = 2, 20
"""A search of a fixed depth solves a position with up to SOLVED_PER_PLY empty squares for each ply, at most
MOST_SOLVED, which take 0.2 s on 8x8."""

SOLVED_IN_1S, SOLVED_GROWTH = 20, 1.9
"""In a second the solver is tried first up to SOLVED_IN_1S empty squares, with half of the time; it takes SOLVED_GROWTH
times as long for each further one.  On 8x8 it solves 20 in 0.23 s (median of 12 positions, at most 0.46)."""

NODES_PER_S = 6_000_000
"""Positions that alpha-beta searches in a second, and the solver in an eighth of it (one core of an EPYC)."""

SOLVER_NODES = 4
"""Positions that the solver may search for each one of a limit: half of the limit's time."""


@dataclass(frozen=True)
class Found:
    """What a search found out about the moves of an unfinished position."""

    actions: tuple[int, ...]
    """The legal ones, the best first."""
    values: tuple[int, ...]
    """For the side to move, in 1/64 disc; a bound except for the first, unless every move was searched."""
    nodes_after: tuple[int, ...]
    """Positions searched after each move."""
    depth: int
    """Depth of the last complete search; the rest of the game if `exact`."""
    exact: bool
    """Whether the first value is that of perfect play."""
    nodes: int
    seconds: float

    def before_pass(self, action: int) -> Found:
        """Return the same for the side that passes before it, with the action of the pass."""
        return replace(self, actions=(action,), values=(-self.values[0],), nodes_after=(self.nodes,))


class AlphaBeta:
    """Searches positions of one game with one network, one at a time; not thread-safe, `stop` excepted."""

    def __init__(self, game: Game, tables: PatternTables, *, widths: NDArray[np.int32] | None = None) -> None:
        """`widths` are those of selective cut-offs; None estimates them, in a third of a second on 8x8."""
        self.game = game
        counts = np.zeros(COUNTS, np.int64)
        counts[OLDEST] = 1
        widths = widths_of(game, tables) if widths is None else widths
        self._context = Context(tables, widths, make_value_table(TABLE_BITS), counts)
        self._solver = Solver(game)
        self.run(game.start_own, game.start_opp, depth=2)  # compiles or loads the kernels, as the solver has done

    def run(
        self,
        own: int,
        opp: int,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        every: bool = False,
        actions: Sequence[int] | None = None,
        fresh: bool = False,
    ) -> Found:
        """Search an unfinished position until the first limit is reached or `stop` is called.

        depth    in discs placed
        nodes    positions to search, exceeded by a few hundred at most
        every    find the value of every move; the solver is then not used
        actions  the moves to search, some of the legal ones; None for all
        fresh    forget what other positions have left in the table, so that the result depends on this one alone unless
                 time or `stop` ends the search
        """
        begin_s, counts = time.perf_counter(), self._context.counts
        actions = Position(self.game, own, opp).legal_actions() if actions is None else list(actions)
        assert actions, "expected an unfinished position"
        if actions == [self.game.pass_action]:
            after = self.run(opp, own, depth=depth, nodes=nodes, seconds=seconds, every=every, fresh=fresh)
            return after.before_pass(actions[0])
        counts[NODE_COUNT] = counts[STOP] = 0
        counts[LIMIT] = UNLIMITED if nodes is None else nodes
        self._begin_generation(fresh)
        with called_after(seconds, self.stop):
            empties = self.game.squares - (own | opp).bit_count()
            if not every and empties <= _solvable(depth, nodes, seconds):
                limit_s = None if seconds is None else seconds / 2
                limit = None if nodes is None else SOLVER_NODES * nodes
                if found := self._solved(own, opp, actions, begin_s, nodes=limit, seconds=limit_s):
                    return found
            found = self._deepened(own, opp, actions, begin_s, min(depth or MAX_DEPTH, empties), every)
            left_s = 0.0 if seconds is None else seconds - found.seconds
            if left_s > 0 and not every and not found.exact and depth is None and not counts[STOP]:
                found = self._solved(own, opp, actions, begin_s, nodes=None, seconds=left_s) or found
        return found

    def expected_result(self, own: int, opp: int, value: int) -> float:
        """Return P(win) - P(loss) of an unfinished position whose value (1/64 disc) is not exact."""
        masks = np.uint64(own), np.uint64(opp)
        return float(utility_of(self._context.tables, self.game.id, *masks, value, np.float32(0)))

    def stop(self) -> None:
        """End the search running in another thread, within milliseconds; it returns what it has found."""
        self._context.counts[STOP] = 1
        self._solver.stop()

    def line(self, own: int, opp: int, action: int) -> tuple[int, ...]:
        """Return the principal variation of a position that was searched, beginning with `action`."""
        position, line = Position(self.game, own, opp).play(action), [action]
        table, oldest = self._context.table, int(self._context.counts[OLDEST])
        while len(line) < MAX_DEPTH and (legal := position.legal_actions()):
            slot = find_value(table, oldest, np.uint64(position.own), np.uint64(position.opp))
            best = -1 if slot == ABSENT else int(action_of_square(self.game.id, int(table[slot]["best"])))
            if legal == [self.game.pass_action]:
                best = legal[0]
            if best not in legal:
                break
            line.append(best)
            position = position.play(best)
        return tuple(line)

    def _begin_generation(self, fresh: bool) -> None:
        counts = self._context.counts
        if counts[GENERATION] == LAST_GENERATION:
            self._context.table[:] = 0
            counts[GENERATION], counts[OLDEST] = 0, 1
        counts[GENERATION] += 1
        if fresh:
            counts[OLDEST] = counts[GENERATION]

    def _solved(
        self, own: int, opp: int, actions: list[int], begin_s: float, *, nodes: int | None, seconds: float | None
    ) -> Found | None:
        """Return the solver's best move, None if it did not finish."""
        solution = self._solver.solve(own, opp, nodes=nodes, seconds=seconds)
        if solution.best is None or solution.score is None:
            return None
        order = sorted(actions, key=lambda action: action != solution.best)
        empties, spent_s = self.game.squares - (own | opp).bit_count(), time.perf_counter() - begin_s
        values = (DISC * solution.score,) * len(order)
        return Found(tuple(order), values, (solution.nodes,) * len(order), empties, True, solution.nodes, spent_s)

    def _deepened(self, own: int, opp: int, actions: list[int], begin_s: float, deepest: int, every: bool) -> Found:
        """Search ever deeper, up to `deepest`, until stopped."""
        context, counts = self._context, self._context.counts
        squares = np.array([square_of_action(self.game.id, action) for action in actions], np.int64)
        values, nodes_after = np.zeros((2, len(squares)), np.int64)
        end = max(1, self.game.squares - (own | opp).bit_count() - SOLVED_EMPTIES)
        masks, reached = (np.uint64(own), np.uint64(opp)), 0
        for depth in range(1, min(deepest, end) + 1):
            done = search_root(context, self.game.id, *masks, depth, every, squares, values, nodes_after)
            if done < len(squares):
                break
            reached = depth
            if counts[STOP] or counts[NODE_COUNT] >= counts[LIMIT]:
                break
        order = np.argsort(-values, kind="stable") if every else np.arange(len(squares))
        return Found(
            actions=tuple(int(action_of_square(self.game.id, int(square))) for square in squares[order]),
            values=tuple(values[order].tolist()),
            nodes_after=tuple(nodes_after[order].tolist()),
            depth=reached,
            exact=reached >= end and (reached <= CUT_DEPTH or not context.widths.size),
            nodes=int(counts[NODE_COUNT]),
            seconds=time.perf_counter() - begin_s,
        )


def _solvable(depth: int | None, nodes: int | None, seconds: float | None) -> int:
    """Return the empty squares up to which the solver is tried before a search with these limits."""
    if nodes is not None:
        seconds = min(nodes / NODES_PER_S, math.inf if seconds is None else seconds)
    if seconds is None:
        return max(depth or MAX_DEPTH, min(SOLVED_PER_PLY * (depth or MAX_DEPTH), MOST_SOLVED))
    return int(SOLVED_IN_1S + math.log(max(seconds, 1e-6)) / math.log(SOLVED_GROWTH))
