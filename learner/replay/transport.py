"""The interface of all replay transports: their methods and reports.

`tests/learner/replay/laws.py` tests every transport against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from learner.replay.columns import SampleColumns
from learner.replay.deliveries import Receipt


@dataclass(frozen=True, kw_only=True)
class AddReport:
    """The result of one delivered batch of records."""

    producer: str = ""
    """Its producer; "" if it cannot be read."""

    sequence: int = -1
    """Its number among the producer's; -1 if it cannot be read."""

    games: int = 0
    """Games taken."""

    positions: int = 0
    """Samples made from them: their plies that are trained on."""

    rejected: int = 0
    """Games refused; an unreadable batch counts as one."""

    duplicate: bool = False
    """Whether this batch was delivered before; nothing was taken."""

    room: bool = True
    """Whether there is room for more; False: wait for the learner before the next delivery."""

    reason: str = ""
    """Why games were refused: the first reason found, one of `record.REASONS` or of those in `memory.py`."""

    def receipt(self) -> Receipt | None:
        """Return the receipt; None for a batch that is unreadable or was delivered before."""
        if self.duplicate or self.sequence < 0:
            return None
        return Receipt(self.producer, self.sequence, self.games, self.positions, self.rejected)


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    """Contents of the replay and its totals since the run began."""

    games_total: int
    """Games taken."""

    positions_total: int
    """Positions taken (samples made from games)."""

    positions: int
    """Positions held now."""

    fill: float
    """Share of the ring's capacity that is held, 0 to 1."""

    window_positions: int
    """Newest positions that samples are drawn from."""

    samples_total: int
    """Samples drawn."""

    tokens: float
    """Samples that may be drawn before new positions are needed; at the bucket's capacity the actors wait."""

    rejected_games: int
    """Games refused by the check or belonging to another game."""

    rejected_batches: int
    """Deliveries that were refused, as a whole or in part."""

    duplicates: int
    """Deliveries that were repetitions."""

    server_mb: float | None = field(default=None, compare=False)
    """Memory that the Redis server uses, in MB, as last reported; over Redis only."""

    server_writes: bool = field(default=True, compare=False)
    """Whether the Redis server can write to its disk; while it cannot, deliveries wait."""

    process: str = field(default="", compare=False)
    """Random name of the process that holds the replay in memory: another one has lost what came after the last
    checkpoint.  "" without Ray, and over Redis, where nothing is lost."""


class Replay(Protocol):
    """Records in, samples out."""

    def add(self, data: bytes) -> AddReport:
        """Take one delivery of `record.encode`'s bytes: decode, check, deduplicate, store.

        Unreadable deliveries and illegal games are counted and quarantined, never trained on, and raise no error.
        Senders should wait while `room` is False; what they send nevertheless is stored.
        """

    def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        """Return `n_batches * batch` samples drawn uniformly from the window, or None while the learner has to wait.

        It waits while there are fewer than `min_positions` in total, or fewer tokens than samples requested.
        """

    def room(self) -> bool:
        """Whether actors may deliver; False while the token bucket is full and the learner can draw from it."""

    def report(self) -> ReplayReport:
        """Return contents and totals."""

    def state(self) -> bytes:
        """Return the whole state as an archive."""

    def restore(self, data: bytes) -> None:
        """Restore `state()`: all later results, random ones included, are what they would have been."""
