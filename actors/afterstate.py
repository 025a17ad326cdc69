"""Play by the value after the move: no tree, no network call, thousands of games a second with pattern tables.

The mover takes the move after which the other side's expected margin is smallest, or, to explore, a random one; with
`depth` above 1 a small alpha-beta looks further.  Games begin with random plies, few in most and many in some, and end
by the exact solver: so the values to learn from are true near the end and spread from there.  A ply's value is that of
the best move, also where another one was played, as a share of the board; from `exact_from` on it is the margin of
perfect play, and the moves keep it.

Source: Sutton and Barto, "Reinforcement Learning" (2018), section 6.8 (afterstates); Szubert and Jaskowski 2014,
"Temporal difference learning of n-tuple networks for the game 2048".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.config import AfterstateActorConfig
from actors.games import (
    Games,
    begin_game,
    make_games,
    ply_stream,
    random_action,
    records_of,
    take_ply,
    take_random_ply,
)
from actors.source import ActorCounts
from reversi.errors import ConfigError
from reversi.games.bitboard import ONE, ZERO, lowest_square, popcount
from reversi.games.rng import random_index, random_uniform
from reversi.games.rules import (
    UNFINISHED,
    Game,
    action_of_square,
    legal_moves,
    outcome,
    pass_of,
    play,
    squares_of,
)
from reversi.kernels.kernel import bare_kernel, kernel, recursive_kernel
from reversi.kernels.stack_array import Int64Pointer, stack_array
from reversi.kernels.threads import Threads
from reversi.model.evaluate import Evaluator
from reversi.patterns.evaluate import value_of
from reversi.patterns.tables import DISC, START_DISCS, PatternTables, has_tables
from reversi.record import EXPLORED, OPENING, UNSEARCHED, Records
from reversi.search.exact import MAX_MARGIN
from reversi.solver.last import add_key
from reversi.solver.solver import solve_small

_EXPLORES, _MOVE = 0, 1
"""Draws from a ply's stream: whether the move is random, and which."""

_LENGTH, _IS_LONG = 0, 1
"""Draws from a game's opening stream."""

_OPENING_STREAM = 254
"""Substream that an opening's length is drawn from: no game has so many plies."""

LEAST_OPENING = 2
"""Fewest random plies that a game begins with."""

_FULL_GAME = 60
"""Moves of a full game on the 8x8 board, which `opening_plies` is for; smaller boards have openings in proportion."""

_INFINITE = 1 << 30
"""Beyond every value in 1/64 disc."""

_SQUARE = 63
"""Low bits of a move's key, 64 * value + 63 - square: the largest key is the first of the best moves."""


class AfterstateParams(NamedTuple):
    """The parameters of play that the kernel reads, as scalars."""

    game_id: int
    seed: np.uint64
    depth: int
    explore: float
    opening_plies: int
    long_share: float
    exact_empties: int


class AfterstatePlay:
    """Plays games from the start to the end, some thousands a round.  A `GameSource`."""

    finished = False
    """It never runs out of games."""

    def __init__(self, game: Game, config: AfterstateActorConfig, network: Evaluator, seed: int) -> None:
        """All randomness comes from `seed` (64 bits); raises ConfigError for a network that has no tables."""
        if not has_tables(network.tables):
            raise ConfigError(f"network must be patterns for actors.kind=afterstate, got {network.network}")
        self.game, self.config, self.seed = game, config, seed
        self._network, self._threads = network, Threads(config.threads)
        self._games = make_games(game, config.round_games)
        self._begun = self._positions = self._asked = 0

    @property
    def counts(self) -> ActorCounts:
        """Counts over all games so far."""
        return ActorCounts(positions=self._positions, asked=self._asked)

    def round(self, progress: float, version: int) -> Records | None:
        """Play `round_games` games."""
        config, first, tables = self.config, self._begun, self._network.tables
        params = AfterstateParams(
            game_id=self.game.id,
            seed=np.uint64(self.seed),
            depth=config.depth if progress >= config.depth_from else 1,
            explore=config.explore,
            opening_plies=config.opening_plies * (self.game.squares - START_DISCS) // _FULL_GAME,
            long_share=config.long_openings,
            exact_empties=min(config.exact_empties, self.game.squares // 2),
        )
        start = np.uint64(self.game.start_own), np.uint64(self.game.start_opp)
        self._games.state["asked"] = 0

        def work(begin: int, end: int) -> None:
            play_games(self._games, begin, end, first, *start, params, tables)

        self._threads.each(work, config.round_games)
        self._begun += config.round_games
        records = records_of(self.game, self._games, config.round_games, version, self.seed)
        self._positions += int(((records.ply_kind != OPENING) & (records.actions != self.game.pass_action)).sum())
        self._asked += int(self._games.state["asked"].sum())
        return records

    def clear_cache(self) -> None:
        """Do nothing: nothing is cached."""

    def arrays(self, *, cache: bool = True) -> dict[str, NDArray[Any]]:
        """Return the number of games begun: between two rounds no game is in progress."""
        return {"begun": np.array([self._begun])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on with the next game."""
        self._begun = int(arrays["begun"][0])


@kernel
def play_games(
    games: Games,
    begin: int,
    end: int,
    first_number: int,
    start_own: np.uint64,
    start_opp: np.uint64,
    params: AfterstateParams,
    tables: PatternTables,
) -> None:
    """Play the games in rows `begin` to `end` - 1 from start to end; row g has the number `first_number` + g.

    Cost: 0.11 ms a game (8x8, ten empty squares exact, one core of an EPYC), of which 0.06 is the exact ending; with
    random weights, whose games are closer, 0.2.
    """
    game_id = params.game_id
    squares = squares_of(game_id)
    for g in range(begin, end):
        state = games.state[g]
        opening = _opening_length(params, squares, first_number + g)
        begin_game(state, first_number + g, start_own, start_opp)
        margin, known, exact_from = 0, False, -1
        while not state.over:
            ply = state.plies
            draws = ply_stream(params.seed, state.number, ply)
            if ply < opening:
                take_random_ply(games, game_id, g, draws, _MOVE)
                if state.over:  # begin anew, without an opening
                    opening = 0
                    begin_game(state, first_number + g, start_own, start_opp)
            elif legal_moves(game_id, state.own, state.opp) == ZERO:
                take_ply(games, game_id, g, pass_of(game_id), UNSEARCHED)
                if known:
                    games.values[g, ply] = np.float32(margin) / np.float32(squares)
                margin = -margin
            elif squares - popcount(state.own | state.opp) <= params.exact_empties:
                action, margin = exact_move(tables, game_id, state.own, state.opp, margin, known)
                if not known:
                    known, exact_from = True, ply
                take_ply(games, game_id, g, action, UNSEARCHED)
                games.values[g, ply] = np.float32(margin) / np.float32(squares)
                margin = -margin
            else:
                _take_greedy_ply(games, g, params, tables, draws)
        if known:
            state.exact_from = exact_from


@bare_kernel
def _opening_length(params: AfterstateParams, squares: int, number: int) -> int:
    """Return the random plies of a game: from 2 to `opening_plies`, in a long one from a sixth to three quarters of the
    game."""
    draws = ply_stream(params.seed, number, _OPENING_STREAM)
    if random_uniform(draws, _IS_LONG) < params.long_share:
        least = (squares - START_DISCS) // 6
        return least + random_index(draws, _LENGTH, 3 * (squares - START_DISCS) // 4 - least + 1)
    return LEAST_OPENING + random_index(draws, _LENGTH, max(1, params.opening_plies - LEAST_OPENING + 1))


@bare_kernel
def _take_greedy_ply(games: Games, g: int, params: AfterstateParams, tables: PatternTables, draws: np.uint64) -> None:
    """Play the move with the best value after it, or a random one; the value stored is the best one's."""
    state, game_id = games.state[g], params.game_id
    evaluated = stack_array()
    evaluated[0] = 0
    # a kernel that calls itself and was called with literal numbers crashes when it comes from the disk cache
    low, high = int(np.int64(-_INFINITE)), int(np.int64(_INFINITE))
    found = best_move(tables, game_id, state.own, state.opp, params.depth, low, high, evaluated)
    state.asked += evaluated[0]
    best = action_of_square(game_id, _SQUARE - (found & _SQUARE))
    action, kind, ply = best, UNSEARCHED, state.plies
    if random_uniform(draws, _EXPLORES) < params.explore:
        action = random_action(game_id, legal_moves(game_id, state.own, state.opp), draws, _MOVE)
        kind = UNSEARCHED if action == best else EXPLORED
    take_ply(games, game_id, g, action, kind)
    share = np.float32(found >> 6) / np.float32(DISC * squares_of(game_id))
    games.values[g, ply] = min(max(share, np.float32(-1)), np.float32(1))


@recursive_kernel
def best_move(
    tables: PatternTables,
    game_id: int,
    own: np.uint64,
    opp: np.uint64,
    depth: int,
    alpha: int,
    beta: int,
    evaluated: Int64Pointer,
) -> int:
    """Return the best move of a position in which the side to move can move, as 64 * value + 63 - square.

    depth      moves that alpha-beta looks ahead, at least 1; a pass is none
    alpha      the value, in 1/64 disc for the side to move, is exact between alpha and beta, and else a bound of it
    evaluated  [0] is raised by the positions that the tables are asked for
    """
    if depth == 1:
        return _best_after(tables, game_id, own, opp, beta, evaluated)
    moves = stack_array()
    count = _by_value(tables, game_id, own, opp, moves)
    evaluated[0] += count
    best, best_value = 0, -_INFINITE
    for i in range(count):
        square = _SQUARE - (moves[i] & _SQUARE)
        next_own, next_opp = play(game_id, own, opp, action_of_square(game_id, square))
        low = max(alpha, best_value)
        if legal_moves(game_id, next_own, next_opp) != ZERO:
            value = -(best_move(tables, game_id, next_own, next_opp, depth - 1, -beta, -low, evaluated) >> 6)
        elif outcome(game_id, next_own, next_opp) == UNFINISHED:
            value = best_move(tables, game_id, next_opp, next_own, depth - 1, low, beta, evaluated) >> 6
        else:
            value = -DISC * outcome(game_id, next_own, next_opp)
        if value > best_value:
            best, best_value = square, value
            if value >= beta:
                break
    return 64 * best_value + _SQUARE - best


@bare_kernel
def exact_move(
    tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64, margin: int, known: bool
) -> tuple[int, int]:
    """Return a best action of a position in which the side to move can move, and the margin of perfect play.

    margin  that of perfect play, if it is `known`: then the first move that keeps it is taken

    Moves are tried in the order of their values by the tables, so that most others fail a null window.
    """
    moves = stack_array()
    count = _by_value(tables, game_id, own, opp, moves)
    best, best_margin = -1, -MAX_MARGIN
    for index in range(count):
        action = action_of_square(game_id, _SQUARE - (moves[index] & _SQUARE))
        if known and index == count - 1:
            return action, margin
        after_own, after_opp = play(game_id, own, opp, action)
        low = margin - 1 if known else best_margin
        result = -solve_small(game_id, after_own, after_opp, -low - 1, -low) if known or index else MAX_MARGIN
        if result > low and known:
            return action, margin
        if result > low:
            best = action
            best_margin = -solve_small(game_id, after_own, after_opp, -MAX_MARGIN, -low)
    return best, best_margin


@bare_kernel
def _best_after(
    tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64, enough: int, evaluated: Int64Pointer
) -> int:
    """Return the largest key of the legal moves by the tables; one of value `enough` (1/64 disc) will do."""
    legal, best = legal_moves(game_id, own, opp), -64 * _INFINITE
    while legal != ZERO and best < 64 * enough:
        square = lowest_square(legal)
        legal &= legal - ONE
        best = max(best, _key(tables, game_id, own, opp, square))
        evaluated[0] += 1
    return best


@bare_kernel
def _by_value(tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64, moves: Int64Pointer) -> int:
    """Write the keys of the legal moves to `moves`, the best by the tables first; return their number."""
    legal, count = legal_moves(game_id, own, opp), 0
    while legal != ZERO:
        add_key(moves, count, _key(tables, game_id, own, opp, lowest_square(legal)))
        legal &= legal - ONE
        count += 1
    return count


@bare_kernel
def _key(tables: PatternTables, game_id: int, own: np.uint64, opp: np.uint64, square: int) -> int:
    """Return 64 * value + 63 - square of a legal move, by the tables' value after it."""
    after_own, after_opp = play(game_id, own, opp, action_of_square(game_id, square))
    return -64 * value_of(tables, game_id, after_own, after_opp) + _SQUARE - square
