"""Lessons: a finished self-play game up to a point, an off-policy prefix of random moves, then perfect play to the end.

Self-play makes few mistakes, so a network trained on nothing else sees few of the positions that mistakes lead to.  A
lesson follows a finished self-play game up to a point, plays a few uniformly random legal moves, and from there the
solver moves: value, policy, margin and owner targets of every ply are exact.  No network is evaluated, so a lesson
costs a hundredth of its source game.  The plies before the solver's are OPENING and are not trained on.

All randomness comes from the stream of the source game: the same game has the same lessons.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.config import LEAST_EMPTIES
from actors.games import Games, begin_game, make_games, ply_stream, take_ply, take_random_ply
from reversi.games.bitboard import ONE, ZERO, popcount
from reversi.games.rng import random_index, stream
from reversi.games.rules import NO_ACTION, REVERSI8, Game, only_reply, squares_of
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.kernels.stack_array import Int64Pointer, pointer_to
from reversi.kernels.threads import Threads
from reversi.record import OPENING, SEARCHED, UNSEARCHED
from reversi.search.exact import MAX_MARGIN, utility
from reversi.search.params import SearchParams
from reversi.solver.last import EVALUATION_COUNT, GENERATION, NODE_COUNT, STOP
from reversi.solver.search import WORST, moves_reaching, search
from reversi.solver.table import Table
from reversi.solver.threads import CACHED_TABLE_BITS, SolverThreads
from reversi.solver.variant import variant_of

AT_ONCE = 1024
"""Lessons made in one call, by all threads; at least those of one game."""

MOST_ERRORS = 8
"""Most random moves in a lesson's prefix; at least one."""

NODES_A_PLY = 50_000
"""Nodes that the solver may search for a ply: a millisecond.  Where that is not enough, a random move is played and the
solver tries again after it."""

SAFE_SHARE = 85
"""Policy target of a move that keeps the result but loses discs; the best moves have 255."""

_SQUARES = 255
"""Substream of a game that its lessons are drawn from: no game has so many plies."""

_EMPTIES, _ERRORS, _MOVES = 0, 1, 2
"""Draws from a lesson's stream: the empty squares it begins with, the number of random moves, and, from 2 on, moves."""


class LessonParams(NamedTuple):
    """The parameters of lessons that `make_lessons` reads, as scalars."""

    game_id: int
    start_own: np.uint64
    start_opp: np.uint64
    seed: np.uint64
    per_game: int  # lessons made from each game
    empties: int  # most empty squares that a lesson begins with


class Lessons:
    """Makes `count` lessons from every finished game; none in tic-tac-toe, which has no solver."""

    def __init__(
        self, game: Game, search_params: SearchParams, *, seed: int, count: int, empties: int, threads: Threads
    ) -> None:
        """A lesson begins with up to `empties` empty squares, at most half a board."""
        self._game, self._search_params, self._seed = game, search_params, np.uint64(seed)
        self._empties = min(empties, game.squares // 2)
        self._count = count if game.id <= REVERSI8 else 0
        self._sources = max(1, AT_ONCE // max(1, self._count))  # games whose lessons are made in one call
        self._lessons = make_games(game, self._count * self._sources)
        self._solvers = SolverThreads(threads, CACHED_TABLE_BITS, NODES_A_PLY)

    @property
    def room(self) -> int:
        """Lessons made in one call."""
        return len(self._lessons.state)

    def of(self, games: Games, rows: NDArray[np.int64]) -> Iterator[tuple[Games, NDArray[np.int64]]]:
        """Yield the lessons of the finished games in `rows`, game by game, as (games, rows of them that are lessons).

        Each yield overwrites the last one.  Positions with a policy target are added to the source games' counts.
        """
        game, each = self._game, self._count
        start_own, start_opp = np.uint64(game.start_own), np.uint64(game.start_opp)
        params = LessonParams(game.id, start_own, start_opp, self._seed, each, self._empties)

        def work(first: int, last: int, table: Table, counts: NDArray[np.int64]) -> None:
            make_lessons(
                games,
                some,
                lessons=self._lessons,
                made=made[first:last],
                search_params=self._search_params,
                params=params,
                table=table,
                counts_array=counts,
            )

        for start in range(0, len(rows) if each else 0, self._sources):
            some = rows[start : start + self._sources]
            made = np.arange(len(some) * each)
            self._solvers.each(work, len(made))
            games.state["positions"][some] += self._lessons.state["positions"][made].reshape(-1, each).sum(axis=1)
            yield self._lessons, made


@kernel
def make_lessons(
    games: Games,
    rows: NDArray[np.int64],
    lessons: Games,
    made: NDArray[np.int64],
    search_params: SearchParams,
    params: LessonParams,
    table: Table,
    counts_array: NDArray[np.int64],
) -> None:
    """Play the lessons numbered `made`, in those rows of `lessons`: `per_game` for each of the finished games `rows`.

    table, counts_array  as for `solve_root`
    """
    counts = pointer_to(counts_array)
    game_id, each, empties = params.game_id, params.per_game, params.empties
    squares = squares_of(game_id)
    for k in made:
        row = rows[k // each]
        source = games.state[row]
        draws = stream(ply_stream(params.seed, source.number, _SQUARES), k % each)
        begins = LEAST_EMPTIES + random_index(draws, _EMPTIES, empties - LEAST_EMPTIES + 1)
        prefix = begins + 1 + random_index(draws, _ERRORS, MOST_ERRORS)  # empty squares when they begin
        begin_game(lessons.state[k], source.number, params.start_own, params.start_opp)
        state = lessons.state[k]
        ply = 0
        while ply < source.plies and squares - popcount(state.own | state.opp) > prefix:
            take_ply(lessons, game_id, k, int(games.actions[row, ply]), OPENING)
            ply += 1
        while not state.over and squares - popcount(state.own | state.opp) > begins:
            take_random_ply(lessons, game_id, k, draws, _MOVES + state.plies)
        counts[GENERATION] += 1
        state.positions = _play_perfectly(lessons, game_id, search_params, k, draws, table, counts)


@bare_kernel
def _play_perfectly(
    lessons: Games,
    game_id: int,
    search_params: SearchParams,
    k: int,
    draws: np.uint64,
    table: Table,
    counts: Int64Pointer,
) -> int:
    """Let the solver play to the end and store its targets; return how many plies have a policy target."""
    state, variant = lessons.state[k], variant_of(game_id, False)
    taught, known, margin, exact_from = 0, False, 0, 0
    while not state.over:
        ply, kind, action = state.plies, UNSEARCHED, only_reply(game_id, state.own, state.opp)
        counts[NODE_COUNT] = counts[EVALUATION_COUNT] = counts[STOP] = 0
        if not known:
            margin = search(
                variant, state.own, state.opp, int(np.int64(-MAX_MARGIN)), int(np.int64(MAX_MARGIN)), table, counts
            )
            known, exact_from = counts[STOP] == 0, ply
        if known and action == NO_ACTION:
            kind = SEARCHED
            action = _best_moves(variant, state, margin, draws, table, counts, lessons.policies[k, ply])
        if counts[STOP] != 0:
            _make_opening(lessons, k)
            taught, known = 0, False
            take_random_ply(lessons, game_id, k, draws, _MOVES + state.plies)
            continue
        taught += kind == SEARCHED
        take_ply(lessons, game_id, k, action, kind)
        lessons.values[k, ply] = utility(game_id, search_params, margin)
        margin = -margin
    if known:
        state.exact_from = exact_from
    return taught


@bare_kernel
def _make_opening(lessons: Games, k: int) -> None:
    """Turn all plies so far into OPENING, since the next move is not exact."""
    for ply in range(lessons.state[k].plies):
        lessons.kinds[k, ply] = OPENING
        lessons.values[k, ply] = 0
        lessons.policies[k, ply] = 0


@bare_kernel
def _best_moves(
    variant: int,
    state: Any,
    margin: int,
    draws: np.uint64,
    table: Table,
    counts: Int64Pointer,
    policy: NDArray[np.uint8],
) -> int:
    """Write the policy target and return one of the best moves, chosen uniformly; NO_ACTION if the limit was reached.

    margin  under perfect play, for the side to move
    policy  uint8[A]  written: 255 for the best moves, `SAFE_SHARE` for others with the same result
    """
    result = WORST if margin < 0 else int(margin > 0)
    best = moves_reaching(variant, state.own, state.opp, margin, ZERO, table, counts)
    safe = moves_reaching(variant, state.own, state.opp, result, best, table, counts)
    if counts[STOP] != 0:
        return NO_ACTION
    policy[:] = 0
    for action in range(policy.shape[0] - 1):
        bit = ONE << np.uint64(action)
        policy[action] = 255 if best & bit != ZERO else SAFE_SHARE if safe & bit != ZERO else 0
    left, action = random_index(draws, _MOVES + state.plies, popcount(best)), 0
    while policy[action] < 255 or left > 0:
        left -= policy[action] == 255
        action += 1
    return action
