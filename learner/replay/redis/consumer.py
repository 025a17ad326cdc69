"""The consumers' side of the streams: reads entries, confirms them once taken, keeps them while the window needs them.

The consumer group records which unconfirmed entries were delivered to whom, and those of a dead consumer are claimed.
Entries taken stay in the stream as long as the ring would hold them, so that the window can be rebuilt; an entry that
is deleted leaves a receipt.
"""

from __future__ import annotations

import heapq
import os
import secrets
import socket
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from learner.replay.deliveries import Receipt
from learner.replay.redis.server import ServerMemory, memory_beside
from learner.replay.redis.stream import (
    GROUP,
    FlowControl,
    delivery_in,
    drawn_key,
    flow_control_key,
    receipt_fields,
    receipt_in,
    receipts_key,
    streams,
)

PAGE = 16
"""Entries read at once: typically some 2 MB."""

PAGE_OF_RECEIPTS = 1000

SHARE_OF_MEMORY = 0.5
"""Largest share for entries already taken, of the server's memory that others leave; the rest is for waiting ones.
Runs that share a server come to equal shares: N of them to 1 / (N + 1) of its memory each."""

RECEIPTS = 100_000
"""Receipts kept, some 4 MB; a replay restored from a state older than all of them misses the games in between."""

REMOVE = f"""
if redis.call('XDEL', KEYS[1], ARGV[1]) == 1 then
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', {RECEIPTS}, '*', unpack(ARGV, 2))
end
"""
"""Deletes an entry and adds its receipt, atomically; even a full server lets a script finish that began by deleting."""

FORGOTTEN_AFTER = 60
"""A consumer that was idle for so many takeover times and has no pending entries is removed from the group."""


class Entry(NamedTuple):
    """One entry of a stream."""

    stream: str
    id: bytes
    delivery: bytes


class Taken(NamedTuple):
    """An entry that the replay has taken; without a receipt if it was unreadable or repeated."""

    stream: str
    id: bytes
    bytes: int
    receipt: Receipt | None

    @property
    def positions(self) -> int:
        """Samples made from it."""
        return self.receipt.positions if self.receipt else 0


class Consumer:
    """A member of the consumer group over all streams of a run; not thread-safe.  Errors of redis-py are raised."""

    def __init__(self, client: Any, key: str, *, shards: int, capacity_positions: int, takeover_s: float) -> None:
        """`key` names the run; `capacity_positions` of the entries taken stay in its streams in total."""
        self.name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._client, self._streams = client, streams(key, shards)
        self._drawn, self._receipts = drawn_key(key), receipts_key(key)
        self._last_receipt = b"-"
        self._capacity, self._takeover_ms = capacity_positions, int(1000 * takeover_s)
        self._most_bytes: float = float("inf")
        self._kept: deque[Taken] = deque()
        self._kept_of: Counter[str] = Counter()
        self._positions = self._bytes = 0
        self._published: dict[str, bytes] = {}

    def open(self) -> None:
        """Create missing streams and groups, and clear the list of kept entries: `history` rebuilds it."""
        self._find_share()
        for stream in self._streams:
            self._join(stream)
        self._kept.clear()
        self._kept_of.clear()
        self._positions = self._bytes = 0
        self._published.clear()
        self._last_receipt = b"-"

    def history(self) -> Iterator[list[Entry]]:
        """Yield all entries that the group has delivered to any consumer, confirmed or not, by pages, oldest first."""
        entries = heapq.merge(*map(self._history_of, self._streams), key=_arrival)
        while page := list(islice(entries, PAGE)):
            yield page

    def receipts(self) -> Iterator[Receipt]:
        """Yield the receipts of deleted entries, oldest first, from where the last call since `open` stopped."""
        while page := self._client.xrange(self._receipts, self._last_receipt, "+", PAGE_OF_RECEIPTS):
            self._last_receipt = b"(" + page[-1][0]
            yield from filter(None, (receipt_in(fields) for _, fields in page))

    def read_new(self, wait_s: float) -> list[Entry]:
        """Return entries not yet delivered to any consumer, after at most `wait_s`; they are to be confirmed."""
        wanted = dict.fromkeys(self._streams, ">")
        answers = self._client.xreadgroup(GROUP, self.name, wanted, count=PAGE, block=max(1, int(1000 * wait_s)))
        return [entry for stream, page in answers or () for entry in _entries(stream.decode(), page)]

    def take_over(self) -> int:
        """Claim the entries that others have not confirmed in time; return how many.  `history` yields them."""
        claimed = 0
        for stream in self._streams:
            claim = (stream, GROUP, self.name, self._takeover_ms)
            while ids := self._client.xautoclaim(*claim, count=100, justid=True):
                claimed += len(ids)
            for other in self._client.xinfo_consumers(stream, GROUP):
                idle = other["pending"] == 0 and other["idle"] > FORGOTTEN_AFTER * self._takeover_ms
                if idle and other["name"] != self.name.encode():
                    self._client.xgroup_delconsumer(stream, GROUP, other["name"])
        return claimed

    def keep_share(self) -> ServerMemory:
        """Delete the oldest entries beyond this run's share of the server's memory; return that memory.

        The share changes while other runs begin, grow and end, also while a full server lets nothing new in.
        """
        memory = self._find_share()
        pipeline = self._client.pipeline(transaction=False)
        self._delete(pipeline, self._beyond())
        pipeline.execute()
        return memory

    def confirm(self, entries: Sequence[Taken]) -> None:
        """Confirm entries; delete those without samples and the oldest ones beyond the capacity, leaving receipts."""
        if not entries:
            return
        gone = [entry for entry in entries if not entry.positions]
        for entry in entries:
            if entry.positions:
                self._keep(entry, 1)
                self._kept.append(entry)
        gone += self._beyond()
        pipeline = self._client.pipeline(transaction=False)
        for stream in self._streams:
            if ids := [entry.id for entry in entries if entry.stream == stream]:
                pipeline.xack(stream, GROUP, *ids)
        self._delete(pipeline, gone)
        pipeline.execute()

    def publish_flow_control(self, room: bool, drawn: int) -> None:
        """Publish each stream's flow-control state and the number of samples drawn, where changed.

        A server that is out of memory refuses this; it is published again by the next call.
        """
        from redis.exceptions import OutOfMemoryError

        entries = self._kept_of
        values = {flow_control_key(stream): FlowControl(entries[stream], room).to_bytes() for stream in self._streams}
        values[self._drawn] = b"%d" % drawn
        for key, value in values.items():
            if self._published.get(key) == value:
                continue
            try:
                self._client.set(key, value)
            except OutOfMemoryError:
                continue
            self._published[key] = value

    def _join(self, stream: str) -> None:
        """Create a stream and its group unless they exist.  A full server refuses that even where they do, which is
        ignored: only reading makes room."""
        from redis.exceptions import OutOfMemoryError, ResponseError

        try:
            self._client.xgroup_create(stream, GROUP, "0", mkstream=True)
        except OutOfMemoryError:
            if not self._client.exists(stream) or self._group_of(stream) is None:
                raise
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    def _group_of(self, stream: str) -> dict[str, Any] | None:
        """Return what the server says of the group of an existing stream; None if there is none."""
        groups = self._client.xinfo_groups(stream)
        return next((group for group in groups if group["name"] == GROUP.encode()), None)

    def _history_of(self, stream: str) -> Iterator[Entry]:
        """Yield the entries of one stream, as `history` does; a page of them is held at a time."""
        group = self._group_of(stream)
        assert group is not None, "expected the group, which `open` creates"
        start = b"-"
        while page := self._client.xrange(stream, start, group["last-delivered-id"], PAGE):
            yield from _entries(stream, page)
            start = b"(" + page[-1][0]

    def _find_share(self) -> ServerMemory:
        """Set the limit of the bytes kept by the server's memory, and return that."""
        memory = memory_beside(self._client, self._streams)
        left = max(0, memory.limit - memory.others)
        self._most_bytes = SHARE_OF_MEMORY * left if memory.limit else float("inf")
        return memory

    def _beyond(self) -> list[Taken]:
        """Remove the oldest entries beyond the capacity or the share of memory from those kept, and return them."""
        gone = []
        while self._kept and self._too_much(self._kept[0]):
            gone.append(self._kept.popleft())
            self._keep(gone[-1], -1)
        return gone

    def _delete(self, pipeline: Any, entries: Sequence[Taken]) -> None:
        """Add commands that delete entries and leave their receipts."""
        for entry in entries:
            if entry.receipt:
                pipeline.eval(REMOVE, 2, entry.stream, self._receipts, entry.id, *receipt_fields(entry.receipt))
            else:
                pipeline.xdel(entry.stream, entry.id)

    def _keep(self, entry: Taken, sign: int) -> None:
        self._kept_of[entry.stream] += sign
        self._positions += sign * entry.positions
        self._bytes += sign * entry.bytes

    def _too_much(self, oldest: Taken) -> bool:
        """Return whether the oldest entry is beyond the capacity or the limit of memory."""
        return self._positions - oldest.positions >= self._capacity or self._bytes > self._most_bytes


def _arrival(entry: Entry) -> tuple[int, int]:
    """Return the time at which an entry came, in ms by the server's clock, and its number within that."""
    ms, _, number = entry.id.partition(b"-")
    return int(ms), int(number)


def _entries(stream: str, page: Sequence[tuple[bytes, dict[bytes, bytes] | None]]) -> list[Entry]:
    return [Entry(stream, identity, delivery_in(fields)) for identity, fields in page]
