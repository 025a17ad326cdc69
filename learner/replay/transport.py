"""What every replay transport promises: its methods and its reports.

`tests/learner/replay/test_conformance.py` holds each transport to these words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from learner.replay.deliveries import Receipt
from learner.replay.rows import Rows


@dataclass(frozen=True, kw_only=True)
class AddReport:
    """What became of one delivered batch of records."""

    producer: str = ""
    """Who made it; "" if it cannot be read."""

    sequence: int = -1
    """Its number among the producer's; -1 if it cannot be read."""

    games: int = 0
    """Games taken."""

    positions: int = 0
    """Samples they gave: their plies that are trained on."""

    rejected: int = 0
    """Games refused; a batch that cannot be read counts as one."""

    duplicate: bool = False
    """Whether this batch had been delivered before; nothing was taken."""

    room: bool = True
    """Whether more is wanted now; False: wait for the learner before the next delivery."""

    reason: str = ""
    """Why games were refused: the first reason found, a word of `record.REASONS` or of `memory`."""

    def receipt(self) -> Receipt | None:
        """Return what was taken; None of a batch that cannot be read or had been delivered before."""
        if self.duplicate or self.sequence < 0:
            return None
        return Receipt(self.producer, self.sequence, self.games, self.positions, self.rejected)


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    """What the replay holds and has done since the run began."""

    games_total: int
    """Games taken."""

    positions_total: int
    """Positions taken (samples they gave)."""

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
    """Deliveries that had come before."""

    server_mb: float | None = field(default=None, compare=False)
    """Memory that the Redis server uses, in MB, as it said last; there over Redis alone."""

    server_writes: bool = field(default=True, compare=False)
    """Whether the Redis server can write to its disk; while it cannot, whoever delivers waits."""


class Replay(Protocol):
    """Records in, samples out."""

    def add(self, data: bytes) -> AddReport:
        """Take one delivery of `record.encode`'s bytes: decode, check, drop what was delivered before, store.

        What cannot be read or breaks the rules is counted and kept aside, never trained on, and raises nothing.
        Whoever delivers waits when `room` is False; what comes anyway is stored all the same and never lost.
        """

    def sample(self, n_batches: int, batch: int) -> Rows | None:
        """Return `n_batches * batch` samples drawn uniformly from the window, or None while the learner has to wait.

        That is while less than `min_positions` were made or fewer tokens are there than samples asked for.
        """

    def room(self) -> bool:
        """Whether actors may deliver; False while the token bucket is full and the learner can draw from it."""

    def report(self) -> ReplayReport:
        """Return what is held and what has been done."""

    def state(self) -> bytes:
        """Return everything as an archive."""

    def restore(self, data: bytes) -> None:
        """Become what `state()` was: every later answer, random ones included, is what it would have been."""
