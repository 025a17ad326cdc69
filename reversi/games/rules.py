"""The rules of every game behind three scalar kernels: `legal_moves`, `play` and `outcome`, and loops over them.

A small integer identifies a game; only these three functions branch on it.  A position is two masks: `own`, the discs
of the side to move, and `opp`, the other side's.  Squares are bits (8*row + col); actions are compact (row*N + col, the
pass is N*N), so that policies have N*N + 1 slots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reversi.errors import UsageError
from reversi.games import tictactoe
from reversi.games.bitboard import ONE, ZERO, Masks, flips, lowest_square, popcount, reachable, turning_all
from reversi.kernels.kernel import kernel

RULES_VERSION = 1
"""Stored in every record and model; changes when a legal move, a result or an action number changes."""

UNFINISHED = 127
"""`outcome` of a game that is not over; outside the range of every margin (-64 to 64)."""

NO_ACTION = -1
"""Stands where an action would, if there is none."""

REVERSI4, REVERSI6, REVERSI8, TICTACTOE = 0, 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Game:
    """One game's constants; `GAMES` holds them all."""

    name: str
    """As in `game=...` on the command line."""

    id: int
    """The small integer that kernels take."""

    size: int
    """N, squares along one side."""

    max_plies: int
    """An upper bound on the length of a game, passes included."""

    start_own: int
    """Discs of the side that moves first (Black)."""

    start_opp: int
    """Discs of the other side (White)."""

    @property
    def squares(self) -> int:
        """Squares of the board, N*N."""
        return self.size * self.size

    @property
    def actions(self) -> int:
        """A, slots of a policy: one per square, and the pass."""
        return self.squares + 1

    @property
    def pass_action(self) -> int:
        """The pass: the last slot."""
        return self.squares

    @property
    def counts_discs(self) -> bool:
        """Whether a result has a margin in discs; else it is only won, drawn or lost."""
        return self.id != TICTACTOE

    @property
    def board_mask(self) -> int:
        """The squares of the board as a mask."""
        return sum(((1 << self.size) - 1) << (8 * row) for row in range(self.size))


def _reversi(game_id: int, size: int) -> Game:
    low = size // 2 - 1
    white = 1 << (9 * low) | 1 << (9 * low + 9)
    black = 1 << (9 * low + 1) | 1 << (9 * low + 8)
    # There is a move between any two passes, so a game has fewer than two plies per empty square.
    return Game(
        name=f"reversi{size}", id=game_id, size=size, max_plies=2 * (size * size - 4), start_own=black, start_opp=white
    )


GAMES: dict[str, Game] = {
    game.name: game
    for game in (
        _reversi(REVERSI4, 4),
        _reversi(REVERSI6, 6),
        _reversi(REVERSI8, 8),
        Game(name="tictactoe", id=TICTACTOE, size=3, max_plies=9, start_own=0, start_opp=0),
    )
}
"""Every game by its name, in the order of the ids."""


def game_named(name: Game | str) -> Game:
    """Return the game called `name`, or `name` itself if it is a game; UsageError, which lists the names, otherwise."""
    if isinstance(name, Game):
        return name
    try:
        return GAMES[name]
    except KeyError:
        raise UsageError(f"game must be one of {', '.join(GAMES)}, got {name!r}") from None


def reversi_of_size(size: int) -> Game:
    """Return Reversi on a board of `size` by `size`; UsageError for an unsupported size."""
    game = GAMES.get(f"reversi{size}")
    if game is None:
        raise UsageError(f"size must be 4, 6 or 8, got {size}")
    return game


_BOARD = np.array([game.board_mask for game in GAMES.values()], np.uint64)  # uint64[games]
_SQUARES = np.array([game.squares for game in GAMES.values()], np.int64)  # int64[games]


def _square_table() -> NDArray[np.int64]:
    table = np.full((len(GAMES), 65), 64, np.int64)
    for game in GAMES.values():
        actions = np.arange(game.squares)
        table[game.id, : game.squares] = 8 * (actions // game.size) + actions % game.size
    return table


_SQUARE = _square_table()  # int64[games, 65]  square of an action, 64 for the pass
_ACTION = np.full((len(GAMES), 65), -1, np.int64)  # int64[games, 65]  action of a square, -1 off the board
for _game in GAMES.values():
    _ACTION[_game.id, _SQUARE[_game.id, : _game.actions]] = np.arange(_game.actions)


@kernel
def square_of_action(game_id: int, action: int) -> int:
    """Return the bit number (0-63) of an action; 64 for the pass.  One table load."""
    return int(_SQUARE[game_id, action])


@kernel
def action_of_square(game_id: int, square: int) -> int:
    """Return the action that plays on bit `square`, -1 if it is off the board; 64 is the pass.  One table load."""
    return int(_ACTION[game_id, square])


@kernel
def pass_of(game_id: int) -> int:
    """Return the action that passes.  One table load."""
    return int(_SQUARES[game_id])


@kernel
def squares_of(game_id: int) -> int:
    """Return N*N.  One table load."""
    return int(_SQUARES[game_id])


@kernel
def legal_moves(game_id: int, own: np.uint64, opp: np.uint64) -> np.uint64:
    """Return the squares where the side to move may play; 0 if it must pass or the game is over."""
    if game_id == TICTACTOE:
        return tictactoe.legal_moves(own, opp)
    return reachable(own, opp) & ~(own | opp) & np.uint64(_BOARD[game_id])


@kernel
def list_actions(game_id: int, own: np.uint64, opp: np.uint64, out: NDArray[np.int64]) -> int:
    """Write the legal actions of an unfinished position to the front of `out` (int64[A]); return their number."""
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        out[0] = pass_of(game_id)
        return 1
    count = 0
    while legal != ZERO:
        out[count] = action_of_square(game_id, lowest_square(legal))
        legal &= legal - ONE
        count += 1
    return count


@kernel
def only_reply(game_id: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the legal action of an unfinished position if there is only one (or the pass), else NO_ACTION."""
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        return pass_of(game_id)
    return NO_ACTION if legal & (legal - ONE) else action_of_square(game_id, lowest_square(legal))


@kernel
def play(game_id: int, own: np.uint64, opp: np.uint64, action: int) -> tuple[np.uint64, np.uint64]:
    """Return (own, opp) after `action`, from the view of the next side to move; the action must be legal.

    A pass swaps the two masks and is legal when there is no move and the game is not over.
    """
    square = square_of_action(game_id, action)
    if square == 64:
        return opp, own
    disc = ONE << np.uint64(square)
    if game_id == TICTACTOE:
        return opp, own | disc
    turned = flips(own, opp, square)
    return opp ^ turned, own | turned | disc


@kernel
def outcome(game_id: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the finished game's margin (own discs - opp discs; tic-tac-toe +1, 0, -1), or UNFINISHED."""
    if game_id == TICTACTOE:
        return tictactoe.outcome(own, opp, UNFINISHED)
    empty = ~(own | opp) & np.uint64(_BOARD[game_id])
    if (reachable(own, opp) & empty) != ZERO or (reachable(opp, own) & empty) != ZERO:
        return UNFINISHED
    return popcount(own) - popcount(opp)


@kernel
def wipeouts(game_id: int, own: np.uint64, opp: np.uint64) -> np.uint64:
    """Return the squares where the side to move wins at once by flipping every opposing disc; 0 in tic-tac-toe.

    The margin is then the number of discs, which is not always the largest that perfect play reaches.
    """
    if game_id == TICTACTOE:
        return ZERO
    return turning_all(own, opp, legal_moves(game_id, own, opp))


@kernel
def legal_masks(game_id: int, own: Masks, opp: Masks, out: Masks) -> None:
    """Fill `out[b]` with `legal_moves` of position b.

    own, opp  uint64[B]  discs of the side to move and of the other side
    out       uint64[B]  written: bit i is set if playing square i is legal; 0 for a pass and for a finished game
    """
    for b in range(own.shape[0]):
        out[b] = legal_moves(game_id, own[b], opp[b])


@kernel
def legal_actions_mask(game_id: int, own: Masks, opp: Masks, out: NDArray[np.uint8] | NDArray[np.bool_]) -> None:
    """Fill `out[b]` with 1 at every legal action of position b and 0 elsewhere; a finished game gets all 0.

    own, opp  uint64[B]
    out       uint8 or bool [B, A]  written: the pass, in the last slot, is set if it is the only legal ply
    """
    last = out.shape[1] - 1
    for b in range(own.shape[0]):
        legal = legal_moves(game_id, own[b], opp[b])
        for action in range(last):
            out[b, action] = (legal >> np.uint64(square_of_action(game_id, action))) & ONE
        out[b, last] = legal == ZERO and outcome(game_id, own[b], opp[b]) == UNFINISHED


@kernel
def play_batch(game_id: int, own: Masks, opp: Masks, actions: NDArray[np.int32]) -> None:
    """Play `actions[b]` in position b, in place; each must be legal.

    own, opp  uint64[B]  read and overwritten: from the view of the next side to move
    actions   integers[B]
    """
    for b in range(own.shape[0]):
        own[b], opp[b] = play(game_id, own[b], opp[b], actions[b])


@kernel
def outcomes(game_id: int, own: Masks, opp: Masks, out: NDArray[np.int16]) -> None:
    """Fill `out[b]` (int16[B]) with `outcome` of position b: own - opp, or UNFINISHED."""
    for b in range(own.shape[0]):
        out[b] = outcome(game_id, own[b], opp[b])
