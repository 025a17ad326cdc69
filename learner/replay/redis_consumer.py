"""The consumers' side of the streams: entries out, confirmed once they are taken, kept while the window needs them.

The group remembers what was given to whom and not confirmed yet.  What a dead consumer left unconfirmed is claimed;
what has been taken stays in the stream for as long as the ring would hold it, so that the window can be built again,
and leaves a receipt when it goes.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from learner.replay.deliveries import Receipt
from learner.replay.redis_stream import (
    GROUP,
    Word,
    delivery_in,
    drawn_key,
    gone_key,
    receipt_fields,
    receipt_in,
    streams,
    word_key,
)

PAGE = 16
"""Entries read at once: some 2 MB of usual deliveries."""

PAGE_OF_RECEIPTS = 1000

SHARE_OF_MEMORY = 0.5
"""Most of a server's memory that entries already taken may fill; the rest is for those that wait."""

RECEIPTS = 100_000
"""Receipts that are kept, some 4 MB; who takes up a state older than all of them lacks the games in between."""

REMOVE = f"""
if redis.call('XDEL', KEYS[1], ARGV[1]) == 1 then
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', {RECEIPTS}, '*', unpack(ARGV, 2))
end
"""
"""Deletes an entry and leaves its receipt, both or neither; a full server too lets a script end that has deleted."""

FORGOTTEN_AFTER = 60
"""A consumer that was silent for so many takeover times, and owes nothing, is struck from the group."""


class Entry(NamedTuple):
    """One entry of a stream."""

    stream: str
    id: bytes
    delivery: bytes


class Taken(NamedTuple):
    """An entry that the ring has taken; without a receipt if it was none or had been delivered before."""

    stream: str
    id: bytes
    bytes: int
    receipt: Receipt | None

    @property
    def positions(self) -> int:
        """Samples that it gave."""
        return self.receipt.positions if self.receipt else 0


class Consumer:
    """One member of the group over all streams of a run; for one thread.  Redis' errors pass through."""

    def __init__(self, client: Any, key: str, *, shards: int, capacity_positions: int, takeover_s: float) -> None:
        """`key` names the run; `capacity_positions` is how much of what was taken stays in all its streams together."""
        self.name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._client, self._streams = client, streams(key, shards)
        self._drawn, self._gone = drawn_key(key), gone_key(key)
        self._last_receipt = b"-"
        self._capacity, self._takeover_ms = capacity_positions, int(1000 * takeover_s)
        self._most_bytes: float = float("inf")
        self._kept: deque[Taken] = deque()
        self._kept_of: Counter[str] = Counter()
        self._positions = self._bytes = 0
        self._said: dict[str, bytes] = {}

    def open(self) -> None:
        """Make streams and groups that are not there, and forget what was kept: `history` tells it again."""
        from redis.exceptions import ResponseError

        maxmemory = int(self._client.info("memory").get("maxmemory", 0))
        self._most_bytes = SHARE_OF_MEMORY * maxmemory if maxmemory else float("inf")
        for stream in self._streams:
            try:
                self._client.xgroup_create(stream, GROUP, "0", mkstream=True)
            except ResponseError as error:
                if not str(error).startswith("BUSYGROUP"):
                    raise
        self._kept.clear()
        self._kept_of.clear()
        self._positions = self._bytes = 0
        self._said.clear()
        self._last_receipt = b"-"

    def history(self) -> Iterator[list[Entry]]:
        """Yield all that the group has given out to anyone, confirmed or not, a page at a time, oldest first."""
        for stream in self._streams:
            groups = self._client.xinfo_groups(stream)
            end = next(group["last-delivered-id"] for group in groups if group["name"] == GROUP.encode())
            start = b"-"
            while page := self._client.xrange(stream, start, end, PAGE):
                yield _entries(stream, page)
                start = b"(" + page[-1][0]

    def receipts(self) -> Iterator[Receipt]:
        """Yield what was taken and deleted, oldest first, beginning where the last call since `open` ended."""
        while page := self._client.xrange(self._gone, self._last_receipt, "+", PAGE_OF_RECEIPTS):
            self._last_receipt = b"(" + page[-1][0]
            yield from filter(None, (receipt_in(fields) for _, fields in page))

    def fresh(self, wait_s: float) -> list[Entry]:
        """Return entries that were given to nobody before, after at most `wait_s`; this consumer owes their
        confirmation."""
        wanted = dict.fromkeys(self._streams, ">")
        answers = self._client.xreadgroup(GROUP, self.name, wanted, count=PAGE, block=max(1, int(1000 * wait_s)))
        return [entry for stream, page in answers or () for entry in _entries(stream.decode(), page)]

    def take_over(self) -> int:
        """Claim what others were given too long ago to be alive; how many, all of which `history` tells."""
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

    def used_bytes(self) -> int:
        """Return the memory that the server uses, all its keys and buffers together."""
        return int(self._client.info("memory")["used_memory"])

    def confirm(self, entries: Sequence[Taken]) -> None:
        """Say that these are taken; those that gave nothing, and the oldest ones beyond the capacity, are deleted, and
        their receipts kept."""
        if not entries:
            return
        gone = [entry for entry in entries if not entry.positions]
        for entry in entries:
            if entry.positions:
                self._keep(entry, 1)
                self._kept.append(entry)
        while self._kept and self._too_much(self._kept[0]):
            gone.append(self._kept.popleft())
            self._keep(gone[-1], -1)
        pipeline = self._client.pipeline(transaction=False)
        for stream in self._streams:
            if ids := [entry.id for entry in entries if entry.stream == stream]:
                pipeline.xack(stream, GROUP, *ids)
        for entry in gone:
            if entry.receipt:
                pipeline.eval(REMOVE, 2, entry.stream, self._gone, entry.id, *receipt_fields(entry.receipt))
            else:
                pipeline.xdel(entry.stream, entry.id)
        pipeline.execute()

    def say(self, room: bool, drawn: int) -> None:
        """Tell the producers what was taken and whether more is wanted, a replay after this one what was drawn, if that
        is news.

        A server without memory cannot even note that; it is said again the next time.
        """
        from redis.exceptions import OutOfMemoryError

        words = {word_key(stream): Word(self._kept_of[stream], room).to_bytes() for stream in self._streams}
        for key, word in {**words, self._drawn: b"%d" % drawn}.items():
            if self._said.get(key) == word:
                continue
            try:
                self._client.set(key, word)
            except OutOfMemoryError:
                continue
            self._said[key] = word

    def _keep(self, entry: Taken, sign: int) -> None:
        self._kept_of[entry.stream] += sign
        self._positions += sign * entry.positions
        self._bytes += sign * entry.bytes

    def _too_much(self, oldest: Taken) -> bool:
        """Whether the others are enough without the oldest."""
        return self._positions - oldest.positions >= self._capacity or self._bytes > self._most_bytes


def _entries(stream: str, page: Sequence[tuple[bytes, dict[bytes, bytes] | None]]) -> list[Entry]:
    return [Entry(stream, identity, delivery_in(fields)) for identity, fields in page]
