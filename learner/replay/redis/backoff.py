"""`OutageBackoff`: waits through an outage of a Redis server, and retries."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from learner.replay.redis.server import FIRST_PAUSE_S, RedisServer, cannot_write, passes, reason
from reversi.errors import UnreachableError

T = TypeVar("T")

log = logging.getLogger(__name__)

LONGEST_PAUSE_S = 2.0
"""Pauses between retries double from `FIRST_PAUSE_S` to this."""


class OutageBackoff:
    """Backoff during an outage: growing pauses, one line in the log, and an error when it lasts too long.

    A server whose disk is full answers and loses no data, so it is waited for without limit, like a run's own folder.
    """

    def __init__(self, server: RedisServer, patience_s: float, stopped: threading.Event) -> None:
        self._server, self._patience_s, self._stopped = server, patience_s, stopped
        self._since = 0.0  # the outage
        self._losing_since = 0.0  # that part of it in which patience runs out
        self._pause_s = 0.0

    def wait(self, error: Exception) -> None:
        """Pause after an error; raise UnreachableError if it is permanent or the outage has lasted too long."""
        if not passes(error):
            raise self._server.unreachable(error) from None
        now, endless = time.monotonic(), cannot_write(error)
        if not self._pause_s:
            self._since, self._losing_since, self._pause_s = now, now, FIRST_PAUSE_S
            how_long = "until it can write" if endless else f"for {self._patience_s:.0f} s"
            log.warning("redis at %s: %s; trying again %s", self._server, reason(error), how_long)
        elif endless:
            self._losing_since = now
        elif now - self._losing_since > self._patience_s:
            raise UnreachableError(
                f"redis at {self._server}: gave up after {self._patience_s:.0f} s of {reason(error)!r}"
            ) from None
        self._stopped.wait(self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def over(self) -> None:
        """Note that the server has answered: the outage, if any, is over."""
        if self._pause_s:
            log.warning("redis at %s: back after %.1f s", self._server, time.monotonic() - self._since)
        self._pause_s = 0.0

    def until_answered(self, ask: Callable[[], T]) -> T | None:
        """Return the result of `ask`, called again after temporary errors; None if stopped before it succeeds."""
        from redis.exceptions import RedisError

        while not self._stopped.is_set():
            try:
                answer = ask()
            except (RedisError, OSError) as error:
                self.wait(error)
                continue
            self.over()
            return answer
        return None
