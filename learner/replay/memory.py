"""The replay in memory: one process holds the ring, the window, the token bucket and the set of deliveries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learner.replay.bucket import TokenBucket
from learner.replay.columns import SampleColumns, SampleKind
from learner.replay.config import ReplayConfig
from learner.replay.deliveries import Deliveries, Receipt
from learner.replay.quarantine import Quarantine
from learner.replay.ring import Ring
from learner.replay.transport import AddReport, ReplayReport
from learner.replay.window import window_positions
from reversi import archive
from reversi.errors import ConfigError, CorruptFileError, CorruptRecordError
from reversi.games.rules import Game
from reversi.record import GOOD, REASONS, OtherRulesError, Records, check, decode
from reversi.settings import require

STATE_FORMAT = 2

UNREADABLE, OTHER_RULES, OTHER_GAME = "unreadable", "other-rules", "other-game"
"""Reasons for refusing a whole delivery; `record.REASONS` are those for single games."""

MOST_NAMED = 100
"""Most refused games that a delivery's explanation lists; a delivery can hold millions."""

_COUNTS = ("games_total", "positions_total", "samples_total", "rejected_games", "rejected_batches", "duplicates")


def check_capacity(game: Game, config: ReplayConfig, kind: SampleKind) -> None:
    """Raise ConfigError for a ring that no archive could hold once it is full: it would be saved and never restored."""
    size = kind.columns.empty(1, game.actions).nbytes
    room = archive.MAX_BYTES - archive.MAX_HEADER_BYTES
    expected = f"at most {room // size}: {size} bytes a position, of which a saved replay has room for {room}"
    rows = kind.rows(config.capacity_positions, game)
    require(rows <= room // size, "replay.capacity_positions", expected, config.capacity_positions)


class MemoryReplay:
    """A `Replay` in this process; not thread-safe.  Same deliveries, same seed: same samples."""

    def __init__(
        self, game: Game, config: ReplayConfig, kind: SampleKind, seed: int, rejected_dir: Path | None = None
    ) -> None:
        """Refused deliveries are kept in `rejected_dir`; with None they are only counted."""
        self.game, self.config = game, config
        self._kind = kind
        self._ring = self._empty_ring()
        self._bucket = TokenBucket(config.reuse, config.bucket_capacity)
        self._deliveries = Deliveries()
        self._quarantine = Quarantine(rejected_dir)
        self._rng = np.random.default_rng(seed)
        self._counts: Counter[str] = Counter()

    def add(self, data: bytes) -> AddReport:
        """Take one delivery; see `Replay.add`."""
        try:
            records, producer, sequence = decode(data, "records from an actor")
        except CorruptRecordError as error:
            reason = OTHER_RULES if isinstance(error, OtherRulesError) else UNREADABLE
            return self._refuse(data, 1, reason, str(error))
        report = self._take(data, records, producer, sequence)
        return replace(report, producer=producer, sequence=sequence)

    def _take(self, data: bytes, records: Records, producer: str, sequence: int) -> AddReport:
        if not self._deliveries.take(producer, sequence):
            self._counts["duplicates"] += 1
            return AddReport(duplicate=True, room=self.room())
        origin = f"batch {sequence} of {producer!r}"
        if records.game != self.game.name:
            explanation = f"{origin}: expected games of {self.game.name}, got {records.game}"
            return self._refuse(data, len(records), OTHER_GAME, explanation)
        reasons = check(records)
        bad = np.flatnonzero(reasons != GOOD)
        if not len(bad):
            return self._store(records)
        explanation = "\n".join([f"{origin}:", *(f"game {g}: {REASONS[reasons[g]]}" for g in bad[:MOST_NAMED])])
        taken = self._store(records.select(reasons == GOOD))
        refused = self._refuse(data, len(bad), REASONS[reasons[bad[0]]], explanation)
        return replace(taken, rejected=refused.rejected, reason=refused.reason)

    def has(self, producer: str, sequence: int) -> bool:
        """Return whether this batch was delivered before or is too old to tell; nothing is counted."""
        return (producer, sequence) in self._deliveries

    def positions_of(self, records: Records) -> int:
        """Return how many samples records give; refused games give none."""
        if records.game != self.game.name:
            return 0
        return self._kind.of(records.select(check(records) == GOOD)).positions

    def count_evicted(self, receipt: Receipt) -> None:
        """Count a delivery that a replay has taken and whose samples have since been evicted.

        A delivery that this replay has already counted is ignored.
        """
        if not self._deliveries.take(receipt.producer, receipt.sequence):
            return
        self._count(receipt.games, receipt.positions)
        self._counts["rejected_games"] += receipt.rejected
        self._counts["rejected_batches"] += receipt.rejected > 0

    def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        """Return `n_batches * batch` samples, or None while the learner has to wait; see `Replay.sample`."""
        count = n_batches * batch
        expected = round(count * self._positions_a_row)
        if expected > self.config.bucket_capacity:  # otherwise learner and actors would wait for each other forever
            needed = f"replay.bucket_capacity must be at least one draw ({n_batches} batches of {batch} samples)"
            raise ConfigError(f"{needed}, got {self.config.bucket_capacity}")
        if self._waits_for_positions or not self._bucket.take(expected):
            return None
        samples = self._ring.draw(self._rng, count, round(self._window() / self._positions_a_row))
        self._bucket.tokens -= samples.positions - expected
        self._counts["samples_total"] += samples.positions
        return samples

    def count_drawn(self, count: int) -> None:
        """Raise the total of drawn samples to `count`, if that is higher, and take the tokens of the difference.

        This is needed when a replay is restored from an older state while the learner has continued, which would
        otherwise train on positions more often than `reuse` allows.  The number of tokens may become negative.
        """
        missing = max(0, count - self._counts["samples_total"])
        self._counts["samples_total"] += missing
        self._bucket.tokens -= missing

    def room(self) -> bool:
        """Whether actors may deliver; False while the token bucket is full and the learner can draw from it."""
        return not self._bucket.full or self._waits_for_positions

    def report(self) -> ReplayReport:
        """Return contents and totals."""
        return ReplayReport(
            positions=self._ring.positions,
            fill=self._ring.size / self._ring.capacity,
            window_positions=self._window(),
            tokens=self._bucket.tokens,
            server_writes=True,
            process="",
            **{name: self._counts[name] for name in _COUNTS},
        )

    def state(self) -> bytes:
        """Return samples, counts, tokens, deliveries and random state as an archive of kind "replay"."""
        held = self._ring.ordered()
        header = {
            "game": self.game.name,
            "samples": self._kind.name,
            "counts": {name: self._counts[name] for name in _COUNTS},
            "tokens": self._bucket.tokens,
            "deliveries": self._deliveries.state(),
            "random": self._rng.bit_generator.state,
        }
        return archive.pack("replay", STATE_FORMAT, held.columns(), header)

    def restore(self, data: bytes) -> None:
        """Restore `state()`, completely or not at all; with a smaller capacity only the newest samples are kept."""
        arrays, header = archive.unpack(data, "replay", STATE_FORMAT, "replay state")
        with archive.believing("replay state"):
            self._restore(arrays, header)

    def _restore(self, arrays: dict[str, NDArray[Any]], header: archive.Header) -> None:
        if header["game"] != self.game.name:
            raise CorruptFileError(f"replay state: expected one of {self.game.name}, got one of {header['game']!r}")
        if header["samples"] != self._kind.name:
            expected = f"{self._kind.name} for this algorithm"
            raise CorruptFileError(f"replay state: expected {expected}, got {header['samples']}")
        lengths = {"B": len(arrays["own"]), "A": self.game.actions}
        self._kind.columns.expect(arrays, lengths, "replay state")
        ring = self._empty_ring()
        ring.add(self._kind.columns(**arrays))
        counts = Counter({name: int(header["counts"][name]) for name in _COUNTS})
        tokens, deliveries = float(header["tokens"]), Deliveries.restored(header["deliveries"])
        self._rng.bit_generator.state = header["random"]
        self._ring, self._counts, self._deliveries = ring, counts, deliveries
        self._bucket.tokens = tokens

    def _store(self, records: Records) -> AddReport:
        samples = self._kind.of(records)
        self._ring.add(samples)
        self._count(len(records), samples.positions)
        return AddReport(games=len(records), positions=samples.positions, room=self.room())

    def _count(self, games: int, positions: int) -> None:
        self._bucket.add_positions(positions)
        self._counts["games_total"] += games
        self._counts["positions_total"] += positions

    def _refuse(self, data: bytes, games: int, reason: str, explanation: str) -> AddReport:
        self._quarantine.keep(data, reason, explanation)
        self._counts["rejected_games"] += games
        self._counts["rejected_batches"] += 1
        return AddReport(rejected=games, room=self.room(), reason=reason)

    @property
    def _waits_for_positions(self) -> bool:
        return self._ring.size == 0 or self._counts["positions_total"] < self.config.min_positions

    @property
    def _positions_a_row(self) -> float:
        return self._ring.positions / self._ring.size if self._ring.size else 1.0

    def _window(self) -> int:
        return min(window_positions(self._counts["positions_total"], self.config), self._ring.positions)

    def _empty_ring(self) -> Ring[SampleColumns]:
        rows = self._kind.rows(self.config.capacity_positions, self.game)
        return Ring(self._kind.columns, rows, self.game.actions)
