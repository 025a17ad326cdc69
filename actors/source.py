"""`GameSource`: the interface of self-play, epsilon-greedy play and recorded games to the worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from reversi.record import Records


@dataclass(frozen=True, kw_only=True)
class GameCounts:
    """What is counted in every game in progress, each count a column of `games.GAME`."""

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
    searches: int = 0
    """Full searches, whose visits are policy targets."""
    visit_entropy: float = 0.0
    """Sum over these of the entropy of the search's policy at the root, in nats."""
    policy_entropy: float = 0.0
    """The same of the network's own policy there, without noise."""
    divergence: float = 0.0
    """The same of the Kullback-Leibler divergence of the search's policy from the network's, in nats."""
    depth: float = 0.0
    """The same of the mean depth of the simulations, in plies."""

    def __add__(self, more: GameCounts) -> Self:
        """Return the sums of both; what `more` does not count stays."""
        return replace(self, **{name: count + getattr(more, name, 0) for name, count in vars(self).items()})

    def __sub__(self, earlier: Self) -> Self:
        """Return the counts since `earlier`."""
        return replace(self, **{name: count - getattr(earlier, name) for name, count in vars(self).items()})


GAME_COUNTS = {name: type(field.default) for name, field in GameCounts.__dataclass_fields__.items()}
"""The names of these counts, and their types."""


@dataclass(frozen=True, kw_only=True)
class ActorCounts(GameCounts):
    """What a source of games has done; counts that do not apply to it stay 0."""

    wins: int = 0
    """Games won by the network against an opponent that does not learn; self-play has none."""
    draws: int = 0
    """Games drawn against such an opponent."""
    losses: int = 0
    """Games lost against such an opponent."""


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
