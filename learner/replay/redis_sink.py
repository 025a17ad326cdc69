"""The producers' side: an actor's records into the stream, confirmed by the server, with the learner's word on room.

A push returns when the server has the records and the learner wants more.  What was under way when the connection broke
is sent again: delivered at least once, and told apart by (producer, sequence).
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from learner.replay.redis_config import RedisReplayConfig
from learner.replay.redis_stream import Word, entry_of, shard_of, streams, word_key
from learner.replay.redis_url import Patience, RedisServer

POLL_S = 0.05
"""Pause before a producer that has no room asks again; it doubles up to `LONGEST_POLL_S`."""

LONGEST_POLL_S = 0.5


class RedisSink:
    """A `RecordSink` over the streams of a run; connects at its first push, so it travels to other processes."""

    def __init__(self, server: RedisServer, key: str, *, shards: int, backlog_batches: int, patience_s: float) -> None:
        make = functools.partial(RedisSink, shards=shards, backlog_batches=backlog_batches, patience_s=patience_s)
        self._made_of = make, (server, key)
        self._server, self._streams = server, streams(key, shards)
        self._backlog_batches, self._patience_s = backlog_batches, patience_s
        self._client: Any = None
        self._stopped = threading.Event()

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as what it was made of: in another process it has a connection of its own."""
        return self._made_of

    @staticmethod
    def of(config: RedisReplayConfig, server: RedisServer, key: str) -> RedisSink:
        """Return a sink with a configuration's numbers."""
        return RedisSink(
            server,
            key,
            shards=config.shards,
            backlog_batches=config.backlog_batches,
            patience_s=config.patience_s,
        )

    def push(self, data: bytes) -> None:
        """Deliver one batch of records, then wait for room.

        Raises UnreachableError if the server is away or full for longer than `patience_s`.
        """
        fields, producer = entry_of(data)
        stream = self._streams[shard_of(producer, len(self._streams))]
        has_room = self._asked(stream, fields)
        pause_s = POLL_S
        while not has_room and not self._stopped.wait(pause_s):
            has_room = self._asked(stream, None)
            pause_s = min(2 * pause_s, LONGEST_POLL_S)

    def close(self) -> None:
        """End every wait and the connection."""
        self._stopped.set()
        if self._client is not None:
            self._client.close()

    def _asked(self, stream: str, fields: dict[str, Any] | None) -> bool:
        """Add an entry of `fields`, if any; whether there is room for the next one, True when stopped."""
        patience = Patience(self._server, self._patience_s, self._stopped)
        word = patience.until_answered(lambda: self._exchanged(stream, fields))
        return word is None or word

    def _exchanged(self, stream: str, fields: dict[str, Any] | None) -> bool:
        """One round trip; raises the first refusal."""
        if self._client is None:
            self._client = self._server.client()
        pipeline = self._client.pipeline(transaction=False)
        if fields is not None:
            pipeline.xadd(stream, fields)
        pipeline.xlen(stream)
        pipeline.get(word_key(stream))
        answers = pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        length, word = answers[-2], Word.from_bytes(answers[-1])
        return word.room and length - word.kept < self._backlog_batches
