"""The ring: the newest samples of a run in preallocated columns, added in order, drawn at random."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

from learner.replay.columns import SampleColumns

R = TypeVar("R", bound=SampleColumns)


class Ring(Generic[R]):
    """Holds the last `capacity` samples of one kind; memory is used only as it fills."""

    def __init__(self, kind: type[R], capacity: int, actions: int) -> None:
        self.capacity = capacity
        self.size = 0  # samples held
        self._next = 0  # row that is written next; the oldest one once the ring is full
        self._held = kind.empty(capacity, actions)

    @property
    def positions(self) -> int:
        """Positions that the rows held are learned from."""
        return self._held[: self.size].positions

    def add(self, samples: R) -> None:
        """Append `samples`, replacing the oldest."""
        samples = samples[-self.capacity :]
        until_end = min(len(samples), self.capacity - self._next)
        self._write(self._next, samples[:until_end])
        self._write(0, samples[until_end:])
        self._next = (self._next + len(samples)) % self.capacity
        self.size = min(self.size + len(samples), self.capacity)

    def draw(self, rng: np.random.Generator, count: int, window: int) -> R:
        """Return `count` samples, each drawn uniformly and independently from the newest `window` ones.

        The ring must not be empty; a window larger than `size` is all of it.
        """
        ages = rng.integers(1, min(window, self.size) + 1, count)
        return self._held.take((self._next - ages) % self.capacity)

    def ordered(self) -> R:
        """Return a copy of everything held, oldest first."""
        return self._held.take((self._next - np.arange(self.size, 0, -1)) % self.capacity)

    def _write(self, row: int, samples: R) -> None:
        added = samples.columns()
        for name, column in self._held.columns().items():
            column[row : row + len(samples)] = added[name]
