"""The games in progress as arrays, one row a game: how a game begins, takes a ply, and becomes a record.

Each game has a random stream of its own, numbered by the game, with a substream for every ply: games do not depend on
each other, on the threads that play them, or on the order in which they end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.source import GAME_COUNTS
from reversi.games.bitboard import ZERO
from reversi.games.rng import random_index, random_square, stream
from reversi.games.rules import UNFINISHED, Game, action_of_square, legal_moves, outcome, outcomes, pass_of, play
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.record import OPENING, SEARCHED, Records

_OPENING = 254
"""Substream that an opening's length is drawn from: no game has so many plies, and lessons use 255."""

NO_SEARCH = -1
"""`budget` of a game whose next ply has not begun."""

GAME = np.dtype(
    [
        ("own", np.uint64),  # discs of the side to move
        ("opp", np.uint64),  # discs of the other side
        ("leaf_own", np.uint64),  # the position to be evaluated while the game waits, as the network sees it
        ("leaf_opp", np.uint64),
        ("number", np.int64),  # the game's number, from 0 on, never reused
        ("plies", np.int32),  # plies played, openings included
        ("exact_from", np.int32),  # of a finished game: first ply whose value is exact
        ("budget", np.int32),  # simulations of the current search, or NO_SEARCH
        ("leaf", np.int32),  # the node of that position
        ("symmetry", np.int32),  # maps the node's position to (leaf_own, leaf_opp)
        ("waits", np.bool_),  # the game waits for the network
        ("full", np.bool_),  # the current search gives targets
        ("over", np.bool_),  # the game has ended and waits to be replaced
        *((name, np.dtype(kind)) for name, kind in GAME_COUNTS.items()),  # totals of this row since the actor began
    ],
    align=True,
)


class Games(NamedTuple):
    """G games in progress and their plies so far; P is the longest a game can be.

    The fields that change at every simulation are one record per game and not one array per field, for the reason given
    in `reversi.search.tree`.
    """

    state: NDArray[np.void]  # GAME[G]
    actions: NDArray[np.uint8]  # [G, P]
    kinds: NDArray[np.uint8]  # [G, P]  OPENING, SEARCHED, UNSEARCHED or EXPLORED
    values: NDArray[np.float32]  # [G, P]  root value for the mover
    policies: NDArray[np.uint8]  # [G, P, A]  policy target, the largest is 255


def pack_games(games: Games) -> dict[str, NDArray[Any]]:
    """Return the games in progress as named arrays; `state`, as bytes, is saved as "now"."""
    return {"now": games.state.view(np.uint8)} | {name: getattr(games, name) for name in games._fields[1:]}


def unpack_games(games: Games, arrays: dict[str, NDArray[Any]]) -> None:
    """Restore the arrays of `pack_games`; the shapes must be those of `games`."""
    for name, array in games._asdict().items():
        array[...] = arrays["now" if name == "state" else name].view(array.dtype)


def make_games(game: Game, count: int) -> Games:
    """Return room for `count` games, all of them over: `begin_games` starts each."""
    plies = game.max_plies
    state = np.zeros(count, GAME)
    state["over"] = True
    state["leaf_own"], state["leaf_opp"] = game.start_own, game.start_opp  # a legal position until there is a leaf
    return Games(
        state=state,
        actions=np.zeros((count, plies), np.uint8),
        kinds=np.zeros((count, plies), np.uint8),
        values=np.zeros((count, plies), np.float32),
        policies=np.zeros((count, plies, game.actions), np.uint8),
    )


@bare_kernel
def ply_stream(seed: np.uint64, number: int, ply: int) -> np.uint64:
    """Return the random stream of one ply of one game."""
    return stream(stream(seed, number), ply)


@bare_kernel
def random_action(game_id: int, legal: np.uint64, start: np.uint64, draw: int) -> int:
    """Return the action of a legal square, chosen uniformly by draw number `draw` of the stream `start`."""
    return action_of_square(game_id, random_square(legal, start, draw))


@kernel
def begin_games(
    games: Games,
    game_id: int,
    rows: NDArray[np.int64],
    first_number: int,
    start_own: np.uint64,
    start_opp: np.uint64,
    seed: np.uint64,
    opening_plies: int,
) -> None:
    """Start new games in `rows`, numbered from `first_number` on, each with 0 to `opening_plies` random plies.

    A game that ends within its opening, as tic-tac-toe can, begins without one.
    """
    for index in range(rows.shape[0]):
        g, number = rows[index], first_number + index
        state = games.state[g]
        begin_game(state, number, start_own, start_opp)
        length = random_index(ply_stream(seed, number, _OPENING), 0, opening_plies + 1)
        for ply in range(length):
            take_random_ply(games, game_id, g, ply_stream(seed, number, ply), 1)
            if state.over:
                begin_game(state, number, start_own, start_opp)
                break


@bare_kernel
def begin_game(state: Any, number: int, start_own: np.uint64, start_opp: np.uint64) -> None:
    """Put a game in progress at its start."""
    state.own, state.opp = start_own, start_opp
    state.number = number
    state.plies = state.exact_from = 0
    state.over = False
    state.budget = NO_SEARCH
    state.waits = False


@bare_kernel
def take_random_ply(games: Games, game_id: int, g: int, start: np.uint64, draw: int) -> None:
    """Play a uniformly random legal move, by draw number `draw` of the stream `start`, or pass; the ply is OPENING."""
    state = games.state[g]
    legal, action = legal_moves(game_id, state.own, state.opp), pass_of(game_id)
    if legal != ZERO:
        action = random_action(game_id, legal, start, draw)
    take_ply(games, game_id, g, action, OPENING)


@bare_kernel
def take_ply(games: Games, game_id: int, g: int, action: int, kind: int) -> None:
    """Play `action` in game g and store the ply; the targets of a SEARCHED ply are already stored."""
    state = games.state[g]
    ply = state.plies
    if kind != SEARCHED:
        games.values[g, ply] = 0
        games.policies[g, ply] = 0
    games.actions[g, ply] = action
    games.kinds[g, ply] = kind
    state.own, state.opp = play(game_id, state.own, state.opp, action)
    state.plies = state.exact_from = ply + 1
    state.budget = NO_SEARCH
    state.over = outcome(game_id, state.own, state.opp) != UNFINISHED


@kernel
def copy_games(games: Games, rows: NDArray[np.int64], target: Games, start: int) -> None:
    """Copy the games in `rows` with their plies so far to `target`, from row `start` on."""
    for index in range(rows.shape[0]):
        g, to = rows[index], start + index
        target.state[to] = games.state[g]
        for ply in range(games.state[g].plies):
            target.actions[to, ply] = games.actions[g, ply]
            target.kinds[to, ply] = games.kinds[g, ply]
            target.values[to, ply] = games.values[g, ply]
            target.policies[to, ply] = games.policies[g, ply]


def records_of(game: Game, games: Games, count: int, version: int, seed: int) -> Records:
    """Return the first `count` games, all finished, as records; margin and final board from the first mover's view.

    Some fifty numpy calls, so it should be called for many games at once.
    """
    rows = slice(0, count)
    state = games.state[rows]
    plies = state["plies"]
    played = np.arange(game.max_plies) < plies[:, None]
    turned = plies % 2 == 1
    own, opp = state["own"].copy(), state["opp"].copy()
    margin = np.empty(count, np.int16)
    outcomes(game.id, own, opp, margin)
    return Records(
        game=game.name,
        start_own=np.full(count, game.start_own, np.uint64),
        start_opp=np.full(count, game.start_opp, np.uint64),
        black_first=np.ones(count, np.uint8),
        plies=plies.copy(),
        actions=games.actions[rows][played],
        policy=games.policies[rows][played],
        value=games.values[rows][played].astype(np.float16),
        ply_kind=games.kinds[rows][played],
        margin=np.where(turned, -margin, margin).astype(np.int8),
        final_own=np.where(turned, opp, own),
        final_opp=np.where(turned, own, opp),
        version=np.full(count, version, np.int32),
        seed=np.full(count, seed, np.uint64),
        exact_from=state["exact_from"].copy(),
    )


class EndedGames:
    """Finished games, collected until there are enough to be made into records at once."""

    def __init__(self, game: Game, room: int, seed: int) -> None:
        """`room` is the capacity in games; `seed` is stored in the records."""
        self._game, self._seed = game, seed
        self._games, self._count = make_games(game, room), 0
        self._records: list[Records] = []

    def put(self, games: Games, rows: NDArray[np.int64], version: int) -> None:
        """Copy the games in `rows`, at most `room` of them; other games may then begin in these rows."""
        if self._count + len(rows) > len(self._games.state):
            self._stamp(version)
        copy_games(games, rows, self._games, self._count)
        self._count += len(rows)

    def take(self, version: int) -> Records | None:
        """Return and drop the games collected since the last call, in their order; None if there are none."""
        self._stamp(version)
        records, self._records = self._records, []
        return Records.concatenate(records) if records else None

    def _stamp(self, version: int) -> None:
        if self._count:
            self._records.append(records_of(self._game, self._games, self._count, version, self._seed))
            self._count = 0
