"""The ring: the newest samples of a run in preallocated columns, added in order, drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learner.replay.samples import COLUMNS, Samples
from reversi.games.bitboard import Masks
from reversi.kernel import kernel


class Ring:
    """Holds the last `capacity` samples; memory is taken from the system only as it fills."""

    def __init__(self, capacity: int, actions: int) -> None:
        self.capacity = capacity
        self.size = 0  # samples held
        self._next = 0  # row that is written next; the oldest one once the ring is full
        self._columns = Samples.empty(capacity, actions)

    def add(self, samples: Samples) -> None:
        """Append `samples`; the oldest make room."""
        samples = samples[-self.capacity :]
        until_end = min(len(samples), self.capacity - self._next)
        self._write(self._next, samples[:until_end])
        self._write(0, samples[until_end:])
        self._next = (self._next + len(samples)) % self.capacity
        self.size = min(self.size + len(samples), self.capacity)

    def draw(self, rng: np.random.Generator, count: int, window: int) -> Samples:
        """Return `count` samples, each drawn uniformly and independently from the newest `window` ones.

        The ring must not be empty; a window wider than what it holds means all of it.
        """
        ages = rng.integers(1, min(window, self.size) + 1, count)
        return self._gather((self._next - ages) % self.capacity)

    def ordered(self) -> Samples:
        """Return a copy of everything held, oldest first."""
        return self._gather((self._next - np.arange(self.size, 0, -1)) % self.capacity)

    def _write(self, row: int, samples: Samples) -> None:
        for name in COLUMNS:
            getattr(self._columns, name)[row : row + len(samples)] = getattr(samples, name)

    def _gather(self, rows: NDArray[np.int64]) -> Samples:
        held = self._columns
        out = Samples.empty(len(rows), held.policy.shape[1])
        gather(
            rows,
            held.own,
            held.opp,
            held.policy,
            held.policy_weight,
            held.value.view(np.uint16),
            held.margin,
            held.final_own,
            held.final_opp,
            out.own,
            out.opp,
            out.policy,
            out.policy_weight,
            out.value.view(np.uint16),
            out.margin,
            out.final_own,
            out.final_opp,
        )
        return out


@kernel
def gather(
    rows: NDArray[np.int64],
    own: Masks,
    opp: Masks,
    policy: NDArray[np.uint8],
    policy_weight: NDArray[np.uint8],
    value_bits: NDArray[np.uint16],
    margin: NDArray[np.int8],
    final_own: Masks,
    final_opp: Masks,
    out_own: Masks,
    out_opp: Masks,
    out_policy: NDArray[np.uint8],
    out_policy_weight: NDArray[np.uint8],
    out_value_bits: NDArray[np.uint16],
    out_margin: NDArray[np.int8],
    out_final_own: Masks,
    out_final_opp: Masks,
) -> None:
    """Copy row `rows[b]` of every column to row b of its `out_...`.

    rows    int64[B]  each below the columns' length
    others  columns of `Samples`, float16 as bits

    Cost: one cache miss per column and row once the ring is larger than the cache.
    """
    for b in range(rows.shape[0]):
        row = rows[b]
        out_own[b] = own[row]
        out_opp[b] = opp[row]
        for a in range(policy.shape[1]):
            out_policy[b, a] = policy[row, a]
        out_policy_weight[b] = policy_weight[row]
        out_value_bits[b] = value_bits[row]
        out_margin[b] = margin[row]
        out_final_own[b] = final_own[row]
        out_final_opp[b] = final_opp[row]
