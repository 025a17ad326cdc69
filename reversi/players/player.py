"""The player protocols: `Player` sees positions, `HistoryPlayer` needs the moves of a game, `AnyPlayer` is either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reversi.errors import IllegalMoveError, UsageError
from reversi.games.bitboard import Masks
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import Game, game_named


class Player(Protocol):
    """Chooses moves in many positions of one game at once.  Those of this program say which game, in `game`."""

    @property
    def name(self) -> str:
        """The player's specification, which `make_player` accepts."""

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Return a legal action for each of B >= 0 unfinished positions.

        own, opp  uint64[B]  discs of the side to move and of the other side
        """


@dataclass(frozen=True)
class Forfeit:
    """The answer of a player that resigns or fails: its game is lost."""

    reason: str
    """The reason, for messages."""
    resigned: bool = False
    """Whether the player chose to give up."""
    repeated: bool = False
    """Whether the player has said before that it gives up this game, as one that gives up all games does."""


@runtime_checkable
class HistoryPlayer(Protocol):
    """A player that follows games move by move, as external programs do; fastest with one game after the other."""

    @property
    def name(self) -> str:
        """The player's specification, which `make_any_player` accepts."""

    def choose_after(self, histories: Sequence[Sequence[int]], /) -> list[int | Forfeit]:
        """Return a legal action or a forfeit for each unfinished game.

        histories  the actions of each game from its start position, passes included; Black plays the first
        """


AnyPlayer = Player | HistoryPlayer
"""A player of whole games; where positions alone are known, a `Player` is needed."""


def check_game(player: AnyPlayer, game: Game) -> None:
    """Raise UsageError for a player that says that it plays another game."""
    plays = game_named(getattr(player, "game", game))
    if plays != game:
        raise UsageError(f"expected a player of {game.name}, got {player.name!r} of {plays.name}")


def choose_move(player: Player, position: Position) -> str:
    """Return the name of the move that `player` chooses in one unfinished position of its game.

    Raises UsageError for a position of another game or without a move to play, IllegalMoveError for a player that
    chooses a move that is not legal.
    """
    check_game(player, position.game)
    position.expect_move()
    action = int(player.choose(*position.as_batch())[0])
    try:
        position.play(action)
    except IllegalMoveError as error:
        raise IllegalMoveError(f"{player.name}: {error}") from None
    return action_name(position.game, action)
