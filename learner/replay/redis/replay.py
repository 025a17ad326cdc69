"""The replay over Redis: the stream is the truth, the ring in this process a cache of its tail.

An actor's push is acknowledged when the server has the entry; from then on the entry survives the death of every
process of the run, and of the server too if it writes an append-only file.  A thread takes entries from the stream into
a `MemoryReplay`, which decodes, checks, deduplicates and holds them; the learner draws from it as from memory.

Recovery after a restart:

* `state()` is that of the `MemoryReplay`, without a position in the stream.  After `restore(state)`, at a start, and
  whenever the connection was lost, the whole stream is read again: deliveries (producer, sequence) already taken are
  skipped, the others are taken.  So no acknowledged delivery is lost and none is counted twice, wherever reading
  stopped, whichever consumer had an entry, and whatever the clocks say.
* The stream holds as many records as the ring, or as fit into half of the memory that others leave, if that is less;
  they are the window of a start without a state.  Entries beyond that are deleted and leave a receipt, so that a replay
  restored from an older state counts them too, up to a hundred thousand deliveries back.
* Tokens and random state are those of the checkpoint, and samples drawn since then may be drawn again, since the
  learner has lost its steps since then too.  If the learner survived, its draws still count: the server has the total.
* A producer that starts again must take a new name: under its old name, with an older count, its deliveries would look
  like repetitions.  Games of both starts are trained on; only the memory replay repeats a run bit for bit.
* If the server loses its data, deliveries not yet in the ring are lost; ring and run continue.

One consumer is enough.  A second one has the same window and shares the new entries; it takes over when the first dies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from redis.exceptions import RedisError

from learner.replay.columns import SampleColumns
from learner.replay.deliveries import Receipt
from learner.replay.memory import MemoryReplay
from learner.replay.redis.backoff import OutageBackoff
from learner.replay.redis.config import RedisReplayConfig
from learner.replay.redis.consumer import Consumer, Entry, Taken
from learner.replay.redis.server import RedisServer, cannot_write
from learner.replay.redis.sink import RedisSink
from learner.replay.redis.stream import count_in, drawn_key, entry_of, shard_of, streams
from learner.replay.transport import AddReport, ReplayReport
from reversi.errors import CorruptRecordError, UnreachableError
from reversi.record import decode

WAIT_S = 0.1
"""Longest that the reading thread waits for entries before its other duties: flow control, claims, closing."""

CHECK_EVERY_S = 1.0
"""Time between two checks of this run's share of the server's memory and for unconfirmed entries of dead consumers."""


class RedisReplay:
    """A `Replay` over the streams of a run; its methods may be called from several threads.

    Actors in other processes push through a `sink()`; `draw` is a `sample` that waits.
    """

    def __init__(
        self,
        memory: MemoryReplay,
        config: RedisReplayConfig,
        server: RedisServer,
        key: str,
        learner_lives: bool = False,
    ) -> None:
        """`key` names the run on the server; it is the same after a resume and unique to the run.

        learner_lives  whether this replay died and was restarted while its learner survived: the samples drawn so far,
                       whose number the server has, are then counted

        Raises UnreachableError if the server does not answer or denies access; with `learner_lives` this first waits
        for the server, which may have died at the same time.
        """
        self.config, self._memory, self._server, self._key = config, memory, server, key
        self._streams = streams(key, config.shards)
        self._closing = threading.Event()
        self._client = server.checked_client(config.patience_s if learner_lives else 0.0)
        if learner_lives:
            drawn = self._backoff().until_answered(lambda: self._client.get(drawn_key(key)))
            memory.count_drawn(count_in(drawn))
        self._consumer = Consumer(
            server.client(),
            key,
            shards=config.shards,
            capacity_positions=config.capacity_positions,
            takeover_s=config.takeover_s,
        )
        self._changed = threading.Condition()  # guards everything below, and the memory replay
        self._adding = threading.Lock()
        self._reports: dict[tuple[str, Any], AddReport] | None = None  # by entry, while `add` waits for its own
        self._wanted_readings, self._readings = 1, 0
        self._released = False
        self._server_mb: float | None = None
        self._server_writes = True
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="redis replay", daemon=True)
        self._thread.start()

    def sink(self) -> RedisSink:
        """Return the sink for an actor in this or another process."""
        return RedisSink.of(self.config, self._server, self._key)

    def add(self, data: bytes) -> AddReport:
        """Send one delivery through the stream and wait until it is taken; see `Replay.add`."""
        fields, producer = entry_of(data)
        stream = self._streams[shard_of(producer, len(self._streams))]
        with self._adding:
            reports: dict[tuple[str, Any], AddReport] = {}
            with self._changed:
                self._reports = reports
            try:
                identity = self._backoff().until_answered(lambda: self._client.xadd(stream, fields))
                if identity is None:
                    raise UnreachableError(f"redis at {self._server}: the replay was closed before it could add")
                entry = stream, identity
                with self._changed:
                    self._wait_for(lambda: entry in reports, "the entry to be read")
            finally:
                with self._changed:
                    self._reports = None
            return reports[entry]

    def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        """Return `n_batches * batch` samples, or None while the learner has to wait; see `Replay.sample`."""
        with self._changed:
            self._check()
            return self._memory.sample(n_batches, batch)

    def draw(self, n_batches: int, batch: int, wait_s: float) -> SampleColumns | None:
        """Return samples as soon as there are enough, or None after `wait_s`, or at once after `stop`."""
        deadline = time.monotonic() + wait_s
        with self._changed:
            while True:
                self._check()
                samples = self._memory.sample(n_batches, batch)
                left_s = deadline - time.monotonic()
                if samples is not None or self._released or left_s <= 0:
                    return samples
                self._changed.wait(left_s)

    def room(self) -> bool:
        """Whether actors may deliver; see `Replay.room`."""
        with self._changed:
            self._check()
            return self._memory.room()

    def report(self) -> ReplayReport:
        """Return contents and totals, also after the server was given up."""
        with self._changed:
            return replace(self._memory.report(), server_mb=self._server_mb, server_writes=self._server_writes)

    def state(self) -> bytes:
        """Return the state without the stream as an archive, which `MemoryReplay` can restore too.

        It is whole after the server was given up as well: deliveries that are missing in it are still in the stream.
        """
        with self._changed:
            return self._memory.state()

    def restore(self, data: bytes) -> None:
        """Restore `state()`, and take the deliveries in the stream that it does not have."""
        with self._changed:
            self._check()
            self._memory.restore(data)
            self._wanted_readings += 1
            wanted = self._wanted_readings
            self._wait_for(lambda: self._readings >= wanted, "the stream to be read again")

    def stop(self) -> None:
        """Let no producer and no `draw` wait from now on; pushed records are still taken."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread and close the connections; the stream is kept."""
        self._closing.set()
        self.stop()
        self._thread.join()
        self._client.close()

    def _backoff(self) -> OutageBackoff:
        return OutageBackoff(self._server, self.config.patience_s, self._closing)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until `condition` holds; raise the thread's error if it fails, UnreachableError after `patience_s`."""
        met = self._changed.wait_for(lambda: self._failure is not None or condition(), self.config.patience_s)
        self._check()
        if not met:
            raise UnreachableError(f"redis at {self._server}: waited {self.config.patience_s:.0f} s for {what}")

    def _run(self) -> None:
        """Follow the streams until `close`, reconnecting after every outage; the public methods raise its errors,
        except those that only say what is held."""
        backoff = self._backoff()
        try:
            while not self._closing.is_set():
                try:
                    self._follow(backoff)
                except (RedisError, OSError) as error:
                    self._server_writes = not cannot_write(error)
                    backoff.wait(error)
        except Exception as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _follow(self, backoff: OutageBackoff) -> None:
        """Read the stream again, then new entries as they come."""
        self._read_again()
        checked_s = time.monotonic()
        while not self._closing.is_set():
            backoff.over()
            self._server_writes = True
            if self._wanted_readings > self._readings:
                self._read_again()
            self._take(self._consumer.read_new(WAIT_S))
            if time.monotonic() - checked_s >= CHECK_EVERY_S:
                checked_s = time.monotonic()
                self._server_mb = self._consumer.keep_share().used / (1 << 20)
                if self._consumer.take_over():
                    self._read_again()
            with self._changed:
                room, drawn = self._released or self._memory.room(), self._memory.report().samples_total
            self._consumer.publish_flow_control(room, drawn)

    def _read_again(self) -> None:
        """Take all entries delivered to any consumer before that this replay has not taken."""
        wanted = self._wanted_readings
        self._consumer.open()
        self._count_evicted()
        for entries in self._consumer.history():
            self._take(entries, again=True)
        self._count_evicted()  # entries that another consumer deleted before they were read here
        with self._changed:
            self._readings = wanted
            self._changed.notify_all()

    def _count_evicted(self) -> None:
        """Count the deliveries evicted from the stream that this replay has not counted."""
        for receipt in self._consumer.receipts():
            with self._changed:
                self._memory.count_evicted(receipt)

    def _take(self, entries: list[Entry], again: bool = False) -> None:
        """Put entries into the ring, then confirm them; those read `again` are skipped if they were taken before."""
        taken = []
        for entry in entries:
            known = self._known(entry.delivery) if again else None
            with self._changed:
                report = AddReport(duplicate=True) if known else self._memory.add(entry.delivery)
                if self._reports is not None:
                    self._reports[entry.stream, entry.id] = report
                self._changed.notify_all()
            taken.append(Taken(entry.stream, entry.id, len(entry.delivery), known or report.receipt()))
        self._consumer.confirm(taken)

    def _known(self, delivery: bytes) -> Receipt | None:
        """Return the receipt of a delivery that was taken before, with refused games counted as taken; None if new."""
        try:
            records, producer, sequence = decode(delivery, "an entry of the stream")
        except CorruptRecordError:
            return None
        with self._changed:
            if not self._memory.has(producer, sequence):
                return None
            return Receipt(producer, sequence, len(records), self._memory.positions_of(records), 0)
