"""`GameMaker`: the interface of self-play, epsilon-greedy play and recorded games to the worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from reversi.record import Records


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What a way to make games has done since it began; what means nothing to it stays 0."""

    positions: int = 0
    """Plies that teach a move: searched in full, decided by the network, or read."""
    simulations: int = 0
    """Simulations, those that ended in a finished game or in the cache included."""
    asked: int = 0
    """Positions that the network was asked about."""
    looked_up: int = 0
    """Positions that the cache was asked about."""
    found: int = 0
    """Those it knew."""
    wins: int = 0
    """Games won by the side that learns, where the other side does not."""
    draws: int = 0
    """Such games that ended level."""
    losses: int = 0
    """Such games that it lost."""

    def __add__(self, more: Counts) -> Counts:
        """Return both together."""
        return Counts(**{name: value + getattr(more, name) for name, value in vars(self).items()})

    def __sub__(self, earlier: Counts) -> Counts:
        """Return what has been done since `earlier`."""
        return Counts(**{name: value - getattr(earlier, name) for name, value in vars(self).items()})


class GameMaker(Protocol):
    """Makes games in rounds, between which its network may be replaced."""

    @property
    def counts(self) -> Counts:
        """Totals so far."""

    @property
    def finished(self) -> bool:
        """Whether all games have been delivered."""

    def round(self, progress: float, version: int) -> Records | None:
        """Play one round and return the games that ended in it; None if none did.

        progress  of the run, 0 to 1
        version   of the network, stored in the records
        """

    def forget(self) -> None:
        """Drop cached evaluations, since the network has changed."""

    def arrays(self, *, cache: bool = True) -> dict[str, NDArray[Any]]:
        """Return the state that a resumed actor needs; `cache` adds the cached evaluations."""

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore `arrays()` of the same configuration: the same games follow."""
