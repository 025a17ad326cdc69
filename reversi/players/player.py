"""What a player is: `Player` looks at positions, `HistoryPlayer` wants to know how the game came there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks


class Player(Protocol):
    """Chooses moves in many positions of one game at once."""

    @property
    def name(self) -> str:
        """What the player is, as it can be asked for again."""
        ...

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Return a legal action for each of B unfinished positions; B is any number from 0.

        own, opp  uint64[B]  discs of the side to move and of the other side
        """
        ...


@dataclass(frozen=True)
class Forfeit:
    """What a player answers that gives its game up, or has to: the game is lost."""

    reason: str
    """What happened, for people."""


@runtime_checkable
class HistoryPlayer(Player, Protocol):
    """A player that follows games move by move, as other people's programs do; one game after another suits it best."""

    def choose_after(self, histories: Sequence[Sequence[int]], /) -> list[int | Forfeit]:
        """Return a legal action, or that the game is forfeited, for each unfinished game.

        histories  the actions of each game from its start position, passes included; Black plays the first
        """
        ...
