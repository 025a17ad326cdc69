"""The producers' side of the streams: sends an actor's records and waits while the flow control holds producers back.

A push returns when the server has confirmed the records and there is room for more.  Records in transit when the
connection breaks are sent again: delivery is at least once, and (producer, sequence) identifies repetitions.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from learner.replay.redis.backoff import OutageBackoff
from learner.replay.redis.config import RedisReplayConfig
from learner.replay.redis.server import RedisServer
from learner.replay.redis.stream import FlowControl, entry_of, flow_control_key, shard_of, streams

POLL_S = 0.05
"""Pause before a waiting producer asks for room again; it doubles up to `LONGEST_POLL_S`."""

LONGEST_POLL_S = 0.5


class RedisSink:
    """A `RecordSink` over the streams of a run; connects at its first push, and can be pickled to other processes."""

    def __init__(self, server: RedisServer, key: str, *, shards: int, backlog_batches: int, patience_s: float) -> None:
        make = functools.partial(RedisSink, shards=shards, backlog_batches=backlog_batches, patience_s=patience_s)
        self._made_of = make, (server, key)
        self._server, self._streams = server, streams(key, shards)
        self._backlog_batches, self._patience_s = backlog_batches, patience_s
        self._client: Any = None
        self._stopped = threading.Event()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments: a copy in another process has its own connection."""
        return self._made_of

    @staticmethod
    def of(config: RedisReplayConfig, server: RedisServer, key: str) -> RedisSink:
        """Return a sink with the settings of `config`."""
        return RedisSink(
            server,
            key,
            shards=config.shards,
            backlog_batches=config.backlog_batches,
            patience_s=config.patience_s,
        )

    def push(self, data: bytes) -> None:
        """Deliver one batch of records, then wait for room.

        Raises UnreachableError if the server is unreachable or full for longer than `patience_s`.
        """
        fields, producer = entry_of(data)
        stream = self._streams[shard_of(producer, len(self._streams))]
        has_room = self._send(stream, fields)
        pause_s = POLL_S
        while not has_room and not self._stopped.wait(pause_s):
            has_room = self._send(stream, None)
            pause_s = min(2 * pause_s, LONGEST_POLL_S)

    def close(self) -> None:
        """End all waiting calls and close the connection."""
        self._stopped.set()
        if self._client is not None:
            self._client.close()

    def _send(self, stream: str, fields: dict[str, Any] | None) -> bool:
        """Add an entry of `fields`, if any; return whether there is room for the next one, True after `close`."""
        backoff = OutageBackoff(self._server, self._patience_s, self._stopped)
        has_room = backoff.until_answered(lambda: self._exchange(stream, fields))
        return has_room is None or has_room

    def _exchange(self, stream: str, fields: dict[str, Any] | None) -> bool:
        """Do one round trip; raise the first error in the answers."""
        if self._client is None:
            self._client = self._server.client()
        pipeline = self._client.pipeline(transaction=False)
        if fields is not None:
            pipeline.xadd(stream, fields)
        pipeline.xlen(stream)
        pipeline.get(flow_control_key(stream))
        answers = pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        length, control = answers[-2], FlowControl.from_bytes(answers[-1])
        return control.room and length - control.kept < self._backlog_batches
