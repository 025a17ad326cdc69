"""Redis servers: a URL and a password, connections, and errors without secrets.

Errors of a server that is unreachable, starting, full or unable to write are temporary (`passes`); `backoff.py`
waits for their end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from reversi.errors import ConfigError, UnreachableError
from reversi.urls import masked

T = TypeVar("T")

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

FIRST_PAUSE_S = 0.05
"""Pause before the first retry."""

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
        """Return a client whose server has answered; UnreachableError if it does not, ConfigError if it evicts keys
        or is a replica that is read-only.

        A server that evicts keys when it is full would delete whole streams.  A server that is temporarily unreachable
        is waited for up to `patience_s`.
        """
        from redis.exceptions import RedisError

        client, deadline = self.client(), time.monotonic() + patience_s
        while True:
            try:
                memory, role = client.info("memory"), client.info("replication")
                break
            except (RedisError, OSError) as error:
                if not passes(error) or time.monotonic() >= deadline:
                    raise self.unreachable(error) from None
            time.sleep(FIRST_PAUSE_S)
        if int(memory.get("maxmemory", 0)) and str(memory.get("maxmemory_policy", "")).startswith("allkeys"):
            policy = memory["maxmemory_policy"]
            raise ConfigError(f"redis at {self} must have the maxmemory-policy noeviction, got {policy!r}")
        if role.get("role") == "slave" and int(role.get("slave_read_only", 1)):
            raise ConfigError(f"redis at {self} must be a server that can be written, got a replica that is read-only")
        return client

    def ask(self, question: Callable[[Any], T]) -> T:
        """Return `question(client)`, for a client of its own; any error of the server is an UnreachableError."""
        from redis.exceptions import RedisError

        with closing(self.checked_client()) as client:
            try:
                return question(client)
            except (RedisError, OSError) as error:
                raise self.unreachable(error) from None

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


class ServerMemory(NamedTuple):
    """A server's memory, as one of its users sees it."""

    limit: int
    """Bytes at which the server is full; 0 if it has no limit."""
    others: int
    """Bytes that count towards the limit and are not this user's."""
    used: int
    """All bytes that the server uses, keys and buffers included."""


def memory_beside(client: Any, own: Iterable[str]) -> ServerMemory:
    """Return the server's memory, of which the keys `own` are this user's.  Errors of redis-py are raised."""
    memory = client.info("memory")
    used = int(memory["used_memory"])
    counted = used - int(memory.get("mem_not_counted_for_evict", 0))
    kept = sum(client.memory_usage(key, samples=0) or 0 for key in own)  # 4 ms for a stream of 100,000 entries
    return ServerMemory(limit=int(memory.get("maxmemory", 0)), others=max(0, counted - kept), used=used)


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

    message = str(error).rpartition(_OF_A_PIPELINE)[2]
    words = " ".join(message.split()) or type(error).__name__
    return f"OOM {words}" if isinstance(error, OutOfMemoryError) and not words.startswith("OOM") else words
