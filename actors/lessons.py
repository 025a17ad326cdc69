"""Lessons: games that leave one of self-play for some random moves, and are then played perfectly to their end.

Self-play hardly errs, so a network that learns from nothing else knows little of what players who do come to.  A lesson
begins as a game of self-play that has just ended, goes astray by a few moves that are any legal ones, and from then on
the solver moves: value, moves, margin and owners of every ply are those of perfect play, and true.  No network is
asked, so a lesson costs a hundredth of the game it comes from.  What was played before is an opening: it teaches
nothing.

All chance comes from the stream of the game that a lesson comes from: the same game has the same lessons.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.config import LEAST_EMPTIES
from actors.games import Games, begin_game, make_games, ply_stream, random_action, take_ply
from actors.solving import TABLE_BITS, moves_reaching
from reversi.games.bitboard import ONE, ZERO, popcount
from reversi.games.rules import (
    NO_ACTION,
    REVERSI8,
    Game,
    action_of_square,
    legal_moves,
    only_reply,
    squares_of,
)
from reversi.kernel import bare_kernel, kernel
from reversi.record import OPENING, SEARCHED, UNSEARCHED
from reversi.search.chance import random_index, stream
from reversi.search.endgame_last import NODE_COUNT, variant_of
from reversi.search.endgame_search import GENERATION, STOP, WORST, search
from reversi.search.endgame_table import Table
from reversi.search.endgame_threads import SolverThreads
from reversi.search.exact import MAX_MARGIN, utility
from reversi.search.parallel import Threads
from reversi.search.params import SearchParams
from reversi.search.stack_array import Int64Pointer, pointer_to

AT_ONCE = 1024
"""Lessons that are made side by side, where there are several threads; those of one game at least."""

MOST_ERRORS = 8
"""Random moves that lead to a lesson; one at least."""

NODES_A_PLY = 50_000
"""Positions that the solver may search for a ply: a millisecond.  What takes more is played by chance, and tried again
a move later."""

SAFE_SHARE = 85
"""Policy target of a move that keeps the result and loses discs; that of the best ones is 255."""

_SQUARES = 255
"""Ply of a game's stream that none reaches: what its lessons are drawn from."""

_EMPTIES, _ERRORS, _MOVES = 0, 1, 2
"""Draws of a lesson's stream: where it begins, after how many random moves, and, from here on, those moves."""


class Lessons:
    """Makes `count` lessons of every game that has ended; none without a solver, in tic-tac-toe."""

    def __init__(self, game: Game, rule: SearchParams, seed: int, count: int, empties: int, threads: Threads) -> None:
        """A lesson begins with up to `empties` empty squares, at most half a board."""
        self._game, self._rule, self._seed = game, rule, np.uint64(seed)
        self._empties = min(empties, game.squares // 2)
        self._count = count if game.id <= REVERSI8 else 0
        self._sources = max(1, AT_ONCE // max(1, self._count))  # games whose lessons are made side by side
        self._lessons = make_games(game, self._count * self._sources)
        self._solvers = SolverThreads(threads, TABLE_BITS, NODES_A_PLY)

    @property
    def room(self) -> int:
        """Lessons made side by side."""
        return len(self._lessons.now)

    def of(self, games: Games, rows: NDArray[np.int64]) -> Iterator[tuple[Games, NDArray[np.int64]]]:
        """Yield the lessons of the finished games in `rows`, a game's in a row: games, and which of them are lessons.

        What was yielded is written over by the next.  The games' counts of positions that teach grow.
        """
        game, each = self._game, self._count
        shared = game.id, self._rule, np.uint64(game.start_own), np.uint64(game.start_opp), self._seed, self._empties

        def work(first: int, last: int, table: Table, counts: NDArray[np.int64]) -> None:
            make_lessons(games, some, each, self._lessons, made[first:last], *shared, table, counts)

        for start in range(0, len(rows) if each else 0, self._sources):
            some = rows[start : start + self._sources]
            made = np.arange(len(some) * each)
            self._solvers.each(work, len(made))
            games.now["positions"][some] += self._lessons.now["positions"][made].reshape(-1, each).sum(axis=1)
            yield self._lessons, made


@kernel
def make_lessons(
    games: Games,
    rows: NDArray[np.int64],
    each: int,
    lessons: Games,
    made: NDArray[np.int64],
    game_id: int,
    rule: SearchParams,
    start_own: np.uint64,
    start_opp: np.uint64,
    seed: np.uint64,
    empties: int,
    table: Table,
    counts_array: NDArray[np.int64],
) -> None:
    """Play lessons number `made`, in those rows of `lessons`; each finished game in `rows` of `games` has `each`.

    table, counts_array  as for `solve_root`
    """
    counts = pointer_to(counts_array)
    squares = squares_of(game_id)
    for k in made:
        row = rows[k // each]
        source = games.now[row]
        draws = stream(ply_stream(seed, source.number, _SQUARES), k % each)
        begins = LEAST_EMPTIES + random_index(draws, _EMPTIES, empties - LEAST_EMPTIES + 1)
        astray = begins + 1 + random_index(draws, _ERRORS, MOST_ERRORS)
        begin_game(lessons.now[k], source.number, start_own, start_opp)
        now = lessons.now[k]
        ply = 0
        while ply < source.plies and squares - popcount(now.own | now.opp) > astray:
            take_ply(lessons, game_id, k, int(games.actions[row, ply]), OPENING)
            ply += 1
        while not now.over and squares - popcount(now.own | now.opp) > begins:
            _err(lessons, game_id, k, draws)
        counts[GENERATION] += 1
        now.positions = _play_perfectly(lessons, game_id, rule, k, draws, table, counts)


@bare_kernel
def _err(lessons: Games, game_id: int, k: int, draws: np.uint64) -> None:
    """Play any legal move, which teaches nothing."""
    now = lessons.now[k]
    legal, action = legal_moves(game_id, now.own, now.opp), action_of_square(game_id, 64)
    if legal != ZERO:
        action = random_action(game_id, legal, draws, _MOVES + now.plies)
    take_ply(lessons, game_id, k, action, OPENING)


@bare_kernel
def _play_perfectly(
    lessons: Games, game_id: int, rule: SearchParams, k: int, draws: np.uint64, table: Table, counts: Int64Pointer
) -> int:
    """Let the solver play to the end and write down what it teaches; return how many plies teach a move."""
    now, variant = lessons.now[k], variant_of(game_id, False)
    taught, known, margin, exact_from = 0, False, 0, 0
    while not now.over:
        ply, kind, action = now.plies, UNSEARCHED, only_reply(game_id, now.own, now.opp)
        counts[NODE_COUNT] = counts[STOP] = 0
        if not known:
            margin = search(
                variant, now.own, now.opp, int(np.int64(-MAX_MARGIN)), int(np.int64(MAX_MARGIN)), table, counts
            )
            known, exact_from = counts[STOP] == 0, ply
        if known and action == NO_ACTION:
            kind = SEARCHED
            action = _best_moves(game_id, variant, now, margin, draws, table, counts, lessons.policies[k, ply])
        if counts[STOP] != 0:
            _forget(lessons, k)
            taught, known = 0, False
            _err(lessons, game_id, k, draws)
            continue
        if kind == SEARCHED:
            taught += 1
            lessons.values[k, ply] = utility(game_id, rule, margin)
            take_ply(lessons, game_id, k, action, SEARCHED)
        else:
            take_ply(lessons, game_id, k, action, UNSEARCHED)
            lessons.values[k, ply] = utility(game_id, rule, margin)
        margin = -margin
    if known:
        now.exact_from = exact_from
    return taught


@bare_kernel
def _forget(lessons: Games, k: int) -> None:
    """Make an opening of all that was played: what follows is not perfect."""
    for ply in range(lessons.now[k].plies):
        lessons.kinds[k, ply] = OPENING
        lessons.values[k, ply] = 0
        lessons.policies[k, ply] = 0


@bare_kernel
def _best_moves(
    game_id: int,
    variant: int,
    now: Any,
    margin: int,
    draws: np.uint64,
    table: Table,
    counts: Int64Pointer,
    policy: NDArray[np.uint8],
) -> int:
    """Write the policy target, and return one of the best moves, each with the same chance.

    margin  of perfect play for the side to move
    policy  uint8[A]  written: 255 for the best moves, `SAFE_SHARE` for others with the same result
    """
    result = WORST if margin < 0 else int(margin > 0)
    best = moves_reaching(game_id, variant, now.own, now.opp, margin, ZERO, table, counts)
    safe = moves_reaching(game_id, variant, now.own, now.opp, result, best, table, counts)
    if counts[STOP] != 0:
        return NO_ACTION
    policy[:] = 0
    for action in range(policy.shape[0] - 1):
        bit = ONE << np.uint64(action)
        policy[action] = 255 if best & bit != ZERO else SAFE_SHARE if safe & bit != ZERO else 0
    left, action = random_index(draws, _MOVES + now.plies, popcount(best)), 0
    while policy[action] < 255 or left > 0:
        left -= policy[action] == 255
        action += 1
    return action
