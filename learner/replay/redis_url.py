"""Redis servers: a URL and a password, connections, errors without secrets, and waiting through outages.

A server that is unreachable, starting, full or unable to write is waited for; any other refusal is an error.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from reversi.errors import ConfigError, UnreachableError
from reversi.urls import masked

T = TypeVar("T")

log = logging.getLogger(__name__)

PASSWORD_VARIABLE = "REVERSI_REDIS_PASSWORD"

SCHEMES = ("redis", "rediss", "unix", "embedded")

OPTIONS = frozenset(
    {"db", "ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
)
"""Allowed query options of a URL; redis-py has many more, some of which would override the time limits."""

CONNECT_S = 5.0
"""Time limit for connecting."""

ANSWER_S = 10.0
"""Time limit for an answer; after it a frozen connection is replaced."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
"""Pauses between retries double from the first to the longest."""

_PASSING = ("OOM", "MISCONF", "LOADING", "READONLY", "NOGROUP", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED")
"""First words of temporary errors: no memory or disk left, starting up, or a group lost with its server."""

_OF_A_PIPELINE = "of pipeline caused error: "
"""What redis-py writes, after the command, before the server's error on a command of a pipeline."""

_NO_DISK = "MISCONF"
"""First word of the errors of a server that cannot write to its disk."""


@dataclass(frozen=True, kw_only=True)
class RedisServer:
    """An address and its password; can be pickled to other processes, and prints without the password."""

    url: str = field(repr=False)
    password: str | None = field(default=None, repr=False)

    @staticmethod
    def of(url: str) -> RedisServer:
        """Return the server of `url`, with the environment's password unless the URL has one.

        Raises ConfigError if the URL is invalid.
        """
        try:
            parts = urlsplit(url)
            own, _ = parts.password, parts.port
        except ValueError:  # its message may contain the password
            raise ConfigError(
                f"replay.url must be an address such as redis://host:6379/0, got {masked(url)!r}"
            ) from None
        name = masked(url)
        if parts.scheme not in SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise ConfigError(f"replay.url must begin with one of {known}, got {name!r}")
        if parts.scheme in ("redis", "rediss") and not parts.hostname:
            raise ConfigError(f"replay.url must name a host, as in redis://host:6379/0, got {name!r}")
        if parts.scheme == "unix" and not parts.path:
            raise ConfigError(f"replay.url must name a socket, as in unix:///run/redis.sock, got {name!r}")
        if parts.scheme == "embedded" and (parts.netloc or parts.path or parts.query):
            raise ConfigError(f"replay.url must be embedded:// and no more for a server of our own, got {name!r}")
        if unknown := sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)} - OPTIONS):
            raise ConfigError(f"replay.url may say {', '.join(sorted(OPTIONS))}, got {unknown[0]!r}")
        return RedisServer(url=url, password=unquote(own) if own else os.environ.get(PASSWORD_VARIABLE) or None)

    @property
    def embedded(self) -> bool:
        """Whether this is an embedded server, which the run has to start."""
        return self.url.startswith("embedded:")

    @property
    def name(self) -> str:
        """The URL without its password."""
        return masked(self.url)

    def __str__(self) -> str:
        return self.name

    def client(self) -> Any:
        """Return a client with time limits and without retries; it connects at its first command."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        assert not self.embedded, "an embedded server has a socket's address once it runs"
        return redis.Redis.from_url(
            self.url,
            **({"password": self.password} if self.password else {}),
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=CONNECT_S,
            socket_timeout=ANSWER_S,
        )

    def answers(self) -> bool:
        """Return whether the server is up and answers."""
        from redis.exceptions import RedisError

        client = self.client()
        try:
            return bool(client.ping())
        except (RedisError, OSError):
            return False
        finally:
            client.close()

    def checked_client(self, patience_s: float = 0.0) -> Any:
        """Return a client whose server has answered; UnreachableError if it does not, ConfigError if it evicts keys.

        A server that evicts keys when it is full would delete whole streams.  A server that is temporarily unreachable
        is waited for up to `patience_s`.
        """
        from redis.exceptions import RedisError

        client, deadline = self.client(), time.monotonic() + patience_s
        while True:
            try:
                memory = client.info("memory")
                break
            except (RedisError, OSError) as error:
                if not passes(error) or time.monotonic() >= deadline:
                    raise self.unreachable(error) from None
            time.sleep(FIRST_PAUSE_S)
        if int(memory.get("maxmemory", 0)) and str(memory.get("maxmemory_policy", "")).startswith("allkeys"):
            policy = memory["maxmemory_policy"]
            raise ConfigError(f"redis at {self} must have the maxmemory-policy noeviction, got {policy!r}")
        return client

    def unreachable(self, error: Exception) -> UnreachableError:
        """Return the UnreachableError, with a message of one line, for an error of this server."""
        from redis.exceptions import AuthenticationError, NoPermissionError

        words = reason(error)
        if isinstance(error, AuthenticationError | NoPermissionError) or words.startswith(("NOAUTH", "WRONGPASS")):
            return UnreachableError(
                f"redis at {self}: expected user and password to be let in, got {words!r}; "
                f"the password stands in the environment, {PASSWORD_VARIABLE}"
            )
        return UnreachableError(f"redis at {self}: expected an answer, got {words!r}")


class Patience:
    """Backoff during an outage: growing pauses, one line in the log, and an error when it lasts too long.

    A server whose disk is full answers and loses no data, so it is waited for without limit, like a run's own folder.
    """

    def __init__(self, server: RedisServer, patience_s: float, stopped: threading.Event) -> None:
        self._server, self._patience_s, self._stopped = server, patience_s, stopped
        self._since = 0.0
        self._pause_s = 0.0

    def wait(self, error: Exception) -> None:
        """Pause after an error; raise UnreachableError if it is permanent or the outage has lasted too long."""
        if not passes(error):
            raise self._server.unreachable(error) from None
        now, endless = time.monotonic(), cannot_write(error)
        if not self._pause_s:
            self._since, self._pause_s = now, FIRST_PAUSE_S
            how_long = "until it can write" if endless else f"for {self._patience_s:.0f} s"
            log.warning("redis at %s: %s; trying again %s", self._server, reason(error), how_long)
        elif now - self._since > self._patience_s and not endless:
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


def passes(error: Exception) -> bool:
    """Return whether an error of Redis is temporary: no connection, no memory, no disk, still starting."""
    from redis.exceptions import AuthenticationError, AuthorizationError, ConnectionError, TimeoutError

    if isinstance(error, AuthenticationError | AuthorizationError):
        return False
    return isinstance(error, ConnectionError | TimeoutError | OSError) or reason(error).startswith(_PASSING)


def cannot_write(error: Exception) -> bool:
    """Return whether a server refuses because it cannot write to its disk."""
    return reason(error).startswith(_NO_DISK)


def reason(error: Exception) -> str:
    """Return an error of Redis as one line that begins with its code."""
    from redis.exceptions import OutOfMemoryError

    said = str(error).rpartition(_OF_A_PIPELINE)[2]
    words = " ".join(said.split()) or type(error).__name__
    return f"OOM {words}" if isinstance(error, OutOfMemoryError) and not words.startswith("OOM") else words
