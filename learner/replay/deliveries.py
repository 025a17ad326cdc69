"""Deliveries: which batches of records have been taken, so that repeated ones are counted once.

Records are delivered at least once, in any order: a retried call delivers the same batch again.  A producer numbers its
batches 0, 1, 2, ... and never uses a number twice; one that lost its count takes a new name.
"""

from __future__ import annotations

from typing import NamedTuple

from reversi.record import REACH

MAX_PRODUCERS = 4096
"""Most producers remembered; beyond it the least recently active one is forgotten."""

_REACH_BITS = (1 << REACH) - 1


class Receipt(NamedTuple):
    """What the replay took from one delivery."""

    producer: str
    sequence: int
    games: int
    positions: int
    """Samples made from them."""
    rejected: int
    """Games refused."""


class Deliveries:
    """A bounded set of (producer, sequence): for each producer its highest number and one bit for each before it."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}  # producer: (highest, bits); bit i is set if highest - i was taken

    def take(self, producer: str, sequence: int) -> bool:
        """Record this batch; return whether it is new."""
        highest, bits = self._seen.pop(producer, (-1, 0))
        behind = highest - sequence
        if behind < 0:
            new = True
            highest, bits = sequence, bits << min(-behind, REACH) & _REACH_BITS | 1
        else:
            new = behind < REACH and not bits >> behind & 1
            bits |= new << behind
        self._seen[producer] = (highest, bits)  # at the end: the order of the dict is that of the last deliveries
        if len(self._seen) > MAX_PRODUCERS:
            del self._seen[next(iter(self._seen))]
        return new

    def __contains__(self, batch: tuple[str, int]) -> bool:
        """Return whether this (producer, sequence) is a repetition, without recording it."""
        producer, sequence = batch
        highest, bits = self._seen.get(producer, (-1, 0))
        behind = highest - sequence
        return behind >= REACH or (behind >= 0 and bool(bits >> behind & 1))

    def state(self) -> dict[str, list[int | str]]:
        """Return the whole set in JSON types."""
        return {producer: [highest, hex(bits)] for producer, (highest, bits) in self._seen.items()}

    @staticmethod
    def restored(state: dict[str, list[int | str]]) -> Deliveries:
        """Return the deliveries of a `state()`."""
        deliveries = Deliveries()
        deliveries._seen = {name: (int(highest), int(str(bits), 16)) for name, (highest, bits) in state.items()}
        return deliveries
