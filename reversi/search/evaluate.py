"""`Evaluate` and `Pipeline`: what search and self-play ask of a network, and all that they know of one."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import Game


class Evaluate(Protocol):
    """Judges a batch of positions; `reversi.model.evaluate` has the real ones, a test may pass a function."""

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return (logits, value) of B positions that are not over; B is any number from 0.

        own, opp  uint64[B]      discs of the side to move and of the other side
        logits    float32[B, A]  unnormalised log-probability of every action; those of illegal ones are ignored
        value     float32[B]     P(win) - P(loss) of the side to move, in [-1, 1]

        The arrays may be overwritten by the next call, so that a backend can answer from its own buffers.
        """
        ...


class Pipeline(Protocol):
    """Judges batches in the background: `submit` one, do other work, `collect` its answers.

    A slot is a place for one batch under way.  A batch that is submitted while another computes starts by itself when
    that one ends, so that the network never waits for the tree.
    """

    def submit(self, slot: int, own: Masks, opp: Masks, /) -> None:
        """Begin to judge positions that are not over and return at once; the masks must stay as they are until then.

        own, opp  uint64[B], B at least 1
        """
        ...

    def collect(self, slot: int, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Wait for the slot's batch and return (logits [B, A], value [B]), valid until the slot's next `submit`."""
        ...


class Immediate:
    """A `Pipeline` over a plain `Evaluate`: the caller's own thread judges a batch when it is collected."""

    def __init__(self, evaluate: Evaluate) -> None:
        self.evaluate = evaluate
        self._waiting: dict[int, tuple[Masks, Masks]] = {}

    def submit(self, slot: int, own: Masks, opp: Masks, /) -> None:
        """Note the batch."""
        self._waiting[slot] = own, opp

    def collect(self, slot: int, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Judge it."""
        return self.evaluate(*self._waiting.pop(slot))


class UniformEvaluate:
    """A network that knows nothing and costs nothing: equal logits, value 0.  Warms kernels up and times the tree."""

    def __init__(self, game: Game, batch: int) -> None:
        """`batch` is the most positions a call may ask about."""
        self._logits = np.zeros((batch, game.actions), np.float32)  # [B, A]
        self._value = np.zeros(batch, np.float32)  # [B]

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Answer as `Evaluate` does."""
        return self._logits[: own.shape[0]], self._value[: own.shape[0]]
