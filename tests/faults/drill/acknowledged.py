"""The deliveries that Redis has acknowledged, recorded outside the run that a drill injects faults into.

A separate reader, in no consumer group, follows the run's streams.  The server answers it, as it answers the actors,
only after an entry is in its append-only file: whatever this reader has received was acknowledged, and must still exist
at the end.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redis.exceptions import RedisError

from learner.replay.redis.server import RedisServer
from learner.replay.redis.sink import RedisSink
from learner.replay.redis.stream import delivery_in
from reversi.record import decode, encode

BLOCK_MS = 200
"""Longest time that a read blocks on the server."""

PAGE = 200
"""Entries read at once."""

RETRY_S = 0.05

PROBE, PROBE_EVERY_S = "drill", 0.2
"""Producer name of the probe, and the seconds between two of its deliveries."""

PATIENCE_S = 3600.0
"""Longest time in seconds that the probe waits for the server."""

Delivery = tuple[str, int]
"""Producer and sequence."""


class AcknowledgedLog:
    """Follows the streams of a run in a thread of its own until `close`."""

    def __init__(self, server: Callable[[], RedisServer | None], streams: Sequence[str]) -> None:
        """`server` is called again after every lost connection, as a resumed run has a new server; None: none yet."""
        self._server = server
        self._last: dict[str, bytes] = dict.fromkeys(streams, b"0")
        self._games: dict[Delivery, int] = {}
        self._newest_ms = 0
        self.sample = b""
        """The first delivery seen, byte for byte."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="acknowledged-log", daemon=True)
        self._thread.start()

    @property
    def games(self) -> Mapping[Delivery, int]:
        """The games of every delivery seen so far."""
        return dict(self._games)

    @property
    def newest_ms(self) -> int:
        """Time at which the server received the newest entry, in milliseconds since 1970 by its clock."""
        return self._newest_ms

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._closed.is_set():
            server = self._server()
            if server is not None:
                client = server.client()
                try:
                    while not self._closed.is_set():
                        self._take(client.xread(self._last, count=PAGE, block=BLOCK_MS))
                except (RedisError, OSError):
                    pass  # the drill has killed the server
                finally:
                    client.close()
            self._closed.wait(RETRY_S)

    def _take(self, answers: Any) -> None:
        for stream, entries in answers or ():
            for identity, fields in entries:
                delivery = delivery_in(fields)
                records, producer, sequence = decode(delivery, "an entry of the stream")
                self.sample = self.sample or delivery
                self._games[producer, sequence] = len(records)
                self._newest_ms = max(self._newest_ms, int(identity.partition(b"-")[0]))
            self._last[stream.decode()] = entries[-1][0]


class Probe:
    """A producer of the drill's own, in a thread until `close`: it delivers as an actor does, whichever roles are down.

    It repeatedly sends the games of one of the run's deliveries under its own name, and records what is confirmed.
    """

    def __init__(self, server: RedisServer, key: str, sample: bytes) -> None:
        self._records = decode(sample, "a delivery of the run")[0]
        self._sink = RedisSink(server, key, shards=1, backlog_batches=1 << 30, patience_s=PATIENCE_S)
        self.games: dict[Delivery, int] = {}
        """The games of every confirmed delivery."""
        self.begun = 0.0
        """Start of the last confirmed delivery, by the monotonic clock."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._deliver, name="probe", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and drop a delivery that is not confirmed yet."""
        self._closed.set()
        self._sink.close()
        self._thread.join()

    def _deliver(self) -> None:
        for sequence in itertools.count():
            begun = time.monotonic()
            self._sink.push(encode(self._records, PROBE, sequence))
            if self._closed.wait(PROBE_EVERY_S):
                return  # closed in the meantime, possibly before it was confirmed
            self.games[PROBE, sequence], self.begun = len(self._records), begun
