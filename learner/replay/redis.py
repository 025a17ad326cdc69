"""The replay over Redis: the stream is the truth, the ring in this process a cache of its tail.

An actor's push is acknowledged when the server has the entry; from then on it outlives every process of ours, and the
server's own death if it writes an append-only file.  A thread takes entries from the stream into a `MemoryReplay`,
which decodes, checks, deduplicates and holds them, so the learner draws as it does from memory.

What a restart finds again:

* `state()` is the `MemoryReplay`'s own: the position in the stream is no part of it.  After `restore(state)`, after a
  start, and whenever the connection was lost, the whole stream is read through again: what the account of deliveries
  (producer, sequence) knows is passed over, what it does not know is taken.  So nothing acknowledged is lost and
  nothing is counted twice, wherever reading stopped, whoever had been given an entry, and whatever the clock said.
* The stream holds a ring's worth of records (half of the server's memory, if that is less), which is the window of a
  start without a state.  What the ring has pushed out is deleted and leaves a receipt, so that an older state counts it
  too: a hundred thousand deliveries back, all of what was taken is in the totals.
* Tokens and random state are those of the checkpoint, and samples drawn since then may be drawn again, as the learner
  has lost its steps since then too.  Where the learner lives on, what it has drawn stays drawn: the server has the sum.
* A producer that starts again must take a new name: with its old one and an older count, what it sends looks like what
  the stream has.  Games that two lives of a run made are all trained on; bit for bit repetition is the memory replay's.
* A server that lost its memory loses what was not yet in the ring; the ring and the run go on.

One consumer is enough.  A second one has the same window and shares the new entries; it takes over when the first dies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from redis.exceptions import RedisError

from learner.replay.deliveries import Receipt
from learner.replay.memory import MemoryReplay
from learner.replay.redis_config import RedisReplayConfig
from learner.replay.redis_consumer import Consumer, Entry, Taken
from learner.replay.redis_sink import RedisSink
from learner.replay.redis_stream import count_in, drawn_key, entry_of, shard_of, streams
from learner.replay.redis_url import Patience, RedisServer, cannot_write
from learner.replay.rows import Rows
from learner.replay.transport import AddReport, ReplayReport
from reversi.errors import CorruptRecordError, UnreachableError
from reversi.record import decode

WAIT_S = 0.1
"""Longest the reading thread waits for entries before it looks at the bucket, at claims and at its own end."""

TEND_EVERY_S = 1.0
"""Between two looks for entries that a dead consumer owes, and at the server's memory."""


class RedisReplay:
    """A `Replay` over the streams of a run; its methods may be called from several threads.

    `add` and `sample` are those of every replay.  Actors elsewhere push through a `sink()`; `draw` waits for samples.
    """

    def __init__(
        self,
        memory: MemoryReplay,
        config: RedisReplayConfig,
        server: RedisServer,
        key: str,
        learner_lives: bool = False,
    ) -> None:
        """`key` names the run on the server, the same after a resume and never another run's.

        learner_lives  whether this is a replay that died and was started again beside a learner that did not: what that
                       has drawn meanwhile stays drawn, as the server knows

        Raises UnreachableError if the server does not answer or lets nobody in; beside a learner that lives it is
        waited for, as it may have died in the same moment.
        """
        self.config, self._memory, self._server, self._key = config, memory, server, key
        self._streams = streams(key, config.shards)
        self._closing = threading.Event()
        self._client = server.checked_client(config.patience_s if learner_lives else 0.0)
        if learner_lives:
            drawn = self._patience().until_answered(lambda: self._client.get(drawn_key(key)))
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
        self._reports: dict[tuple[str, Any], AddReport] | None = None  # of entries that `add` may be waiting for
        self._wanted_readings, self._readings = 1, 0
        self._released = False
        self._server_mb: float | None = None
        self._server_writes = True
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="redis replay", daemon=True)
        self._thread.start()

    def sink(self) -> RedisSink:
        """Return where an actor, in this or another process, delivers its records."""
        return RedisSink.of(self.config, self._server, self._key)

    def add(self, data: bytes) -> AddReport:
        """Send one delivery through the stream and wait until it was taken; see `Replay.add`."""
        fields, producer = entry_of(data)
        stream = self._streams[shard_of(producer, len(self._streams))]
        with self._adding:
            reports: dict[tuple[str, Any], AddReport] = {}
            with self._changed:
                self._reports = reports
            entry = stream, self._patience().until_answered(lambda: self._client.xadd(stream, fields))
            with self._changed:
                self._wait_for(lambda: entry in reports, "the entry to be read")
                self._reports = None
            return reports[entry]

    def sample(self, n_batches: int, batch: int) -> Rows | None:
        """Return `n_batches * batch` samples, or None while the learner has to wait; see `Replay.sample`."""
        with self._changed:
            self._check()
            return self._memory.sample(n_batches, batch)

    def draw(self, n_batches: int, batch: int, wait_s: float) -> Rows | None:
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
        """Return what is held and what has been done."""
        with self._changed:
            self._check()
            return replace(self._memory.report(), server_mb=self._server_mb, server_writes=self._server_writes)

    def state(self) -> bytes:
        """Return everything but the stream as an archive; `MemoryReplay` reads it too."""
        with self._changed:
            self._check()
            return self._memory.state()

    def restore(self, data: bytes) -> None:
        """Become what `state()` was, and take what the stream has beyond it."""
        with self._changed:
            self._check()
            self._memory.restore(data)
            self._wanted_readings += 1
            wanted = self._wanted_readings
            self._wait_for(lambda: self._readings >= wanted, "the stream to be read again")

    def stop(self) -> None:
        """Let no producer and no `draw` wait from now on; what is pushed is still taken."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread and the connections; the stream stays."""
        self._closing.set()
        self.stop()
        self._thread.join()
        self._client.close()

    def _patience(self) -> Patience:
        return Patience(self._server, self.config.patience_s, self._closing)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until the thread has brought `condition` about; raise what ended it, or UnreachableError if too long."""
        met = self._changed.wait_for(lambda: self._failure is not None or condition(), self.config.patience_s)
        self._check()
        if not met:
            raise UnreachableError(f"redis at {self._server}: waited {self.config.patience_s:.0f} s for {what}")

    def _run(self) -> None:
        """Follow the streams until `close`, over every loss of the connection; what ends it is raised by the others."""
        patience = self._patience()
        try:
            while not self._closing.is_set():
                try:
                    self._follow(patience)
                except (RedisError, OSError) as error:
                    self._server_writes = not cannot_write(error)
                    patience.wait(error)
        except Exception as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _follow(self, patience: Patience) -> None:
        """Read what there is, then what comes."""
        self._read_again()
        tended_s = time.monotonic()
        while not self._closing.is_set():
            patience.over()
            self._server_writes = True
            if self._wanted_readings > self._readings:
                self._read_again()
            self._take(self._consumer.fresh(WAIT_S))
            if time.monotonic() - tended_s >= TEND_EVERY_S:
                tended_s = time.monotonic()
                self._server_mb = self._consumer.used_bytes() / (1 << 20)
                if self._consumer.take_over():
                    self._read_again()
            with self._changed:
                room, drawn = self._released or self._memory.room(), self._memory.report().samples_total
            self._consumer.say(room, drawn)

    def _read_again(self) -> None:
        """Take everything that was given out before, by whomever, and is not known yet."""
        wanted = self._wanted_readings
        self._consumer.open()
        self._count_gone()
        for entries in self._consumer.history():
            self._take(entries, again=True)
        self._count_gone()  # what another consumer deleted meanwhile, ahead of our reading
        with self._changed:
            self._readings = wanted
            self._changed.notify_all()

    def _count_gone(self) -> None:
        """Count what was taken and deleted from the stream, where this replay does not know it."""
        for receipt in self._consumer.receipts():
            with self._changed:
                self._memory.count_gone(receipt)

    def _take(self, entries: list[Entry], again: bool = False) -> None:
        """Put entries into the ring, then confirm them; those read `again` may be known and then count nowhere."""
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
        """Return the receipt of a delivery that has been taken already, refused games among the others; None if it has
        not."""
        try:
            records, producer, sequence = decode(delivery, "an entry of the stream")
        except CorruptRecordError:
            return None
        with self._changed:
            if not self._memory.has(producer, sequence):
                return None
            return Receipt(producer, sequence, len(records), self._memory.positions_of(records), 0)
