"""`Evaluate` and `Pipeline`: the only interfaces through which search and self-play use a network."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import Game
from reversi.patterns.tables import NO_TABLES, PatternTables


class Evaluate(Protocol):
    """Evaluates a batch of positions; `reversi.model.evaluate` has the implementations, tests may pass a function."""

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return (logits, value) of B >= 0 unfinished positions.

        own, opp  uint64[B]      discs of the side to move and of the other side
        logits    float32[B, A]  unnormalised log-probability of every action; those of illegal ones are ignored
        value     float32[B]     expected utility of the side to move, in [-1, 1]: P(win) - P(loss), mixed with the
                                 margin where the caller's `SearchConfig.margin_weight` is above 0

        The next call may overwrite the arrays, so that a backend can return its own buffers.
        """


class Pipeline(Protocol):
    """Evaluates batches in the background: `submit` one, do other work, `collect` its result.

    A slot holds one pending batch.  A batch submitted while another computes starts by itself when that one ends, so
    that the network never waits for the tree.
    """

    def submit(self, slot: int, own: Masks, opp: Masks, /) -> None:
        """Start evaluating unfinished positions and return at once; do not change the masks before `collect`.

        own, opp  uint64[B], B at least 1
        """

    def collect(self, slot: int, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Wait for the slot's batch and return (logits [B, A], value [B]), valid until the slot's next `submit`."""


@runtime_checkable
class HasTables(Protocol):
    """An `Evaluate` or `Pipeline` that may have a pattern network, which kernels then evaluate themselves."""

    @property
    def tables(self) -> PatternTables:
        """The tables in use; `NO_TABLES` for a network of another kind."""


def tables_of(network: Evaluate | Pipeline) -> PatternTables:
    """Return the tables of a pattern network, else `NO_TABLES`."""
    return network.tables if isinstance(network, HasTables) else NO_TABLES


class Immediate:
    """A `Pipeline` over a plain `Evaluate`: `collect` evaluates the batch in the caller's thread."""

    def __init__(self, evaluate: Evaluate) -> None:
        self.evaluate = evaluate
        self._waiting: dict[int, tuple[Masks, Masks]] = {}

    def submit(self, slot: int, own: Masks, opp: Masks, /) -> None:
        """Store the batch."""
        self._waiting[slot] = own, opp

    def collect(self, slot: int, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate the stored batch."""
        return self.evaluate(*self._waiting.pop(slot))


class UniformEvaluate:
    """A network without cost: equal logits, value 0.  For warming kernels up and timing the tree."""

    def __init__(self, game: Game, batch: int) -> None:
        """`batch` is the largest number of positions in a call."""
        self._logits = np.zeros((batch, game.actions), np.float32)  # [B, A]
        self._value = np.zeros(batch, np.float32)  # [B]

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Answer as `Evaluate` does."""
        return self._logits[: own.shape[0]], self._value[: own.shape[0]]
