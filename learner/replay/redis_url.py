"""Where Redis is: a URL and a password, connections to it, and its errors without a secret in them.

A server that is away, starting, full or unable to write is waited for; everything else it refuses is an error.
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
"""What may stand behind the `?` of a URL; redis-py knows many more, some of which would undo our time limits."""

CONNECT_S = 5.0
"""Longest that making a connection may take."""

ANSWER_S = 10.0
"""Longest that an answer may take; a connection that froze is given up then and made anew."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
"""Pauses between two tries double from the first to the longest."""

_PASSING = ("OOM", "MISCONF", "LOADING", "READONLY", "NOGROUP", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED")
"""First words of the refusals that pass: no memory or disk left, starting up, and a group lost with its server."""

_OF_A_PIPELINE = "of pipeline caused error: "
"""What redis-py puts, with the command, before a server's words on one command of several."""

_NO_DISK = "MISCONF"
"""First word of the refusals of a server that cannot write to its disk."""


@dataclass(frozen=True, kw_only=True)
class RedisServer:
    """An address and the password for it; travels to other processes, and prints without its secret."""

    url: str = field(repr=False)
    password: str | None = field(default=None, repr=False)

    @staticmethod
    def of(url: str) -> RedisServer:
        """Return the server of `url`, with the environment's password unless the URL has one; ConfigError if it is
        none."""
        try:
            parts = urlsplit(url)
            own, _ = parts.password, parts.port
        except ValueError:  # whose words may quote the password
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
        """Whether the server is one of our own, which somebody has to start."""
        return self.url.startswith("embedded:")

    @property
    def name(self) -> str:
        """The URL without a password, for people."""
        return masked(self.url)

    def __str__(self) -> str:
        return self.name

    def client(self) -> Any:
        """Return a client with time limits, which connects when it is first asked; it repeats nothing by itself."""
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
        """Whether the server is up and serves."""
        from redis.exceptions import RedisError

        client = self.client()
        try:
            return bool(client.ping())
        except (RedisError, OSError):
            return False
        finally:
            client.close()

    def checked_client(self, patience_s: float = 0.0) -> Any:
        """Return a client whose server has answered; UnreachableError if it does not, ConfigError if it forgets.

        A server that evicts keys when it is full would throw whole streams away.  One that is away for the moment is
        waited for: a server may die just when one of its users starts again.
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
        """Return the one line for an error of this server."""
        from redis.exceptions import AuthenticationError, NoPermissionError

        words = reason(error)
        if isinstance(error, AuthenticationError | NoPermissionError) or words.startswith(("NOAUTH", "WRONGPASS")):
            return UnreachableError(
                f"redis at {self}: expected user and password to be let in, got {words!r}; "
                f"the password stands in the environment, {PASSWORD_VARIABLE}"
            )
        return UnreachableError(f"redis at {self}: expected an answer, got {words!r}")


class Patience:
    """How long one outage has lasted: pauses that grow, one line in the log, an error when it is too long.

    A server whose disk is full answers and loses nothing, so it is waited for without end, as a run's own folder is.
    """

    def __init__(self, server: RedisServer, patience_s: float, stopped: threading.Event) -> None:
        self._server, self._patience_s, self._stopped = server, patience_s, stopped
        self._since = 0.0
        self._pause_s = 0.0

    def wait(self, error: Exception) -> None:
        """Pause after a failure; raise UnreachableError if it does not pass by itself or has lasted too long."""
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
        """Say that the server has answered."""
        if self._pause_s:
            log.warning("redis at %s: back after %.1f s", self._server, time.monotonic() - self._since)
        self._pause_s = 0.0

    def until_answered(self, ask: Callable[[], T]) -> T | None:
        """Return what `ask` answers once it raises no passing error; None if everything was stopped before."""
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
    """Whether an error of Redis goes away when one waits: no connection, no memory, no disk, still starting."""
    from redis.exceptions import AuthenticationError, AuthorizationError, ConnectionError, TimeoutError

    if isinstance(error, AuthenticationError | AuthorizationError):
        return False
    return isinstance(error, ConnectionError | TimeoutError | OSError) or reason(error).startswith(_PASSING)


def cannot_write(error: Exception) -> bool:
    """Whether a server refuses because it cannot write to its disk."""
    return reason(error).startswith(_NO_DISK)


def reason(error: Exception) -> str:
    """Return an error of Redis as one line that begins with its code."""
    from redis.exceptions import OutOfMemoryError

    said = str(error).rpartition(_OF_A_PIPELINE)[2]
    words = " ".join(said.split()) or type(error).__name__
    return f"OOM {words}" if isinstance(error, OutOfMemoryError) and not words.startswith("OOM") else words
