"""`GameSource`: the interface of self-play, epsilon-greedy play and recorded games to the worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from reversi.record import Records


@dataclass(frozen=True, kw_only=True)
class ActorCounts:
    """What a source of games has done; counts that do not apply to it stay 0."""

    positions: int = 0
    """Plies that a move is learned from: searched in full, decided by the network, or read from a file."""
    simulations: int = 0
    """Simulations, including those that ended in a finished game or in the cache."""
    asked: int = 0
    """Positions that the network evaluated."""
    looked_up: int = 0
    """Positions looked up in the cache."""
    found: int = 0
    """Positions found in the cache."""
    wins: int = 0
    """Games won by the network against an opponent that does not learn; self-play has none."""
    draws: int = 0
    """Games drawn against such an opponent."""
    losses: int = 0
    """Games lost against such an opponent."""

    def __add__(self, more: ActorCounts) -> ActorCounts:
        """Return the sums of both."""
        return ActorCounts(**{name: getattr(self, name) + getattr(more, name) for name in _COUNTS})

    def __sub__(self, earlier: ActorCounts) -> ActorCounts:
        """Return the counts since `earlier`."""
        return ActorCounts(**{name: getattr(self, name) - getattr(earlier, name) for name in _COUNTS})


_COUNTS = tuple(ActorCounts.__dataclass_fields__)


class GameSource(Protocol):
    """Makes games in rounds, between which its network may be replaced."""

    @property
    def counts(self) -> ActorCounts:
        """Totals so far."""

    @property
    def finished(self) -> bool:
        """Whether all games have been delivered."""

    def round(self, progress: float, version: int) -> Records | None:
        """Play one round and return the games that ended in it; None if none did.

        progress  of the run, 0 to 1
        version   of the network, stored in the records
        """

    def clear_cache(self) -> None:
        """Drop cached evaluations, since the network has changed."""

    def arrays(self, *, cache: bool = True) -> dict[str, NDArray[Any]]:
        """Return the state that a resumed actor needs; `cache` adds the cached evaluations."""

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore `arrays()` of the same configuration: the same games follow."""
