"""The ledger of a drill over Redis: what the server has confirmed, kept outside of the run that is harmed.

A reader of its own, in no group, follows the run's streams.  The server answers it, as it answers the actor, only after
an entry is in its append-only file: what this reader has been shown was acknowledged, and must be held in the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redis.exceptions import RedisError

from learner.replay.redis_stream import delivery_in
from learner.replay.redis_url import RedisServer
from reversi.record import decode

BLOCK_MS = 200
"""Longest that a read waits on the server."""

PAGE = 200
"""Entries read at once."""

RETRY_S = 0.05

Delivery = tuple[str, int]
"""Producer and sequence."""


class Ledger:
    """Follows the streams of a run in a thread of its own until `close`."""

    def __init__(self, server: Callable[[], RedisServer | None], streams: Sequence[str]) -> None:
        """`server` is asked anew whenever the connection is lost: a resumed run has another one; None is none yet."""
        self._server = server
        self._last: dict[str, bytes] = dict.fromkeys(streams, b"0")
        self._games: dict[Delivery, int] = {}
        self._newest_ms = 0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="ledger", daemon=True)
        self._thread.start()

    @property
    def games(self) -> Mapping[Delivery, int]:
        """The games of every delivery seen so far."""
        return dict(self._games)

    @property
    def newest_ms(self) -> int:
        """When the newest entry was taken by the server, in its milliseconds since 1970."""
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
                    pass  # the server was killed, which is what these drills do
                finally:
                    client.close()
            self._closed.wait(RETRY_S)

    def _take(self, answers: Any) -> None:
        for stream, entries in answers or ():
            for identity, fields in entries:
                records, producer, sequence = decode(delivery_in(fields), "an entry of the stream")
                self._games[producer, sequence] = len(records)
                self._newest_ms = max(self._newest_ms, int(identity.partition(b"-")[0]))
            self._last[stream.decode()] = entries[-1][0]
