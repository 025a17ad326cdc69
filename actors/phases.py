"""`Phases`: games by the value after the move until a share of the run has passed, then games by search.

Games without a search teach more an hour while tables know little; where that flattens, searches of some hundred
simulations with the same tables see further.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from actors.afterstate import AfterstatePlay
from actors.selfplay import SelfPlay
from actors.source import ActorCounts
from reversi.archive import under
from reversi.record import Records


class Phases:
    """Two sources of games, one after the other.  A `GameSource`."""

    finished = False
    """It never runs out of games."""

    def __init__(self, first: AfterstatePlay, second: SelfPlay, begins: float) -> None:
        """`begins` is the run's progress, 0 to 1, from which the second source makes the games."""
        self._first, self._second, self._begins = first, second, begins

    @property
    def counts(self) -> ActorCounts:
        """Counts of both."""
        return self._first.counts + self._second.counts

    def round(self, progress: float, version: int) -> Records | None:
        """Play a round of the source whose turn it is."""
        return (self._first if progress < self._begins else self._second).round(progress, version)

    def clear_cache(self) -> None:
        """Drop the cached evaluations of the second."""
        self._second.clear_cache()

    def arrays(self, *, cache: bool = True) -> dict[str, NDArray[Any]]:
        """Return the state of both."""
        parts = {"first": self._first.arrays(), "second": self._second.arrays(cache=cache)}
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore both."""
        self._first.restore(under("first.", arrays))
        self._second.restore(under("second.", arrays))
