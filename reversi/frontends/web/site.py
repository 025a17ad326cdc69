"""What every page of ours stands behind: whom its server answers, what it forbids browsers, how it begins and ends."""

from __future__ import annotations

import asyncio
import hmac
import logging
import resource
import signal
import threading
import time
import webbrowser
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Middleware

from reversi.errors import UsageError, first_line

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

LOCAL = ("localhost", "127.0.0.1", "::1")
"""Names of this machine, under which a server on one of these addresses may be asked."""

EVERYWHERE = ("0.0.0.0", "::", "")
"""Addresses that stand for all interfaces; a server there may be asked under any name."""

COOKIE = "reversi-token"

REQUEST_S = 20.0
"""Time for the head of a request, and again for its body; a connection without a request is closed after it too."""

MOST_SOCKETS = 256
"""Connections at once; more are closed at once."""

SPARE_FILES = 32
"""Files that the process may open beside its connections, where it may open few."""

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(host: str, token: str | None = None, *, most_bytes: int = 1 << 16) -> web.Application:
    """Return an application without pages behind `guard`, whose every answer has `HEADERS`.

    most_bytes  largest body of a request
    """
    made = web.Application(middlewares=[guard(host, token)], client_max_size=most_bytes)
    made.on_response_prepare.append(_add_headers)
    return made


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def guard(host: str, token: str | None = None) -> Middleware:
    """Return what refuses foreign names and origins, so that no other site's page can use the server through a browser.

    host   the address that the server listens on
    token  what a browser has to bring once, as `?token=`, and then keeps as a cookie, and a program with every request
           as `Authorization: Bearer`; None asks for nothing
    """
    host = host.lower()

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            name = (request.url.host or "").lower()
        except ValueError:
            raise web.HTTPBadRequest(text=f"expected the name of a host, got {request.host!r:.80}\n") from None
        allowed = LOCAL if host in LOCAL else (host,)
        if host not in EVERYWHERE and name not in allowed:
            raise web.HTTPForbidden(text=f"expected this server under {' or '.join(allowed)}, got {name!r}\n")
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            raise web.HTTPForbidden(text="expected a request of this server's own page\n")
        if token is not None:
            if _equal(request.query.get("token", ""), token):
                without = request.rel_url.with_query({k: v for k, v in request.query.items() if k != "token"})
                answer = web.HTTPSeeOther(without)
                answer.set_cookie(COOKIE, token, httponly=True, samesite="Strict")
                raise answer
            bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not (_equal(request.cookies.get(COOKIE, ""), token) or _equal(bearer, token)):
                raise web.HTTPForbidden(text="expected the token of this server: open the address that it printed\n")
        return await _answered(request, handler)

    return checked


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Return the handler's answer; a request that it cannot read, such as a path that no file can have, is wrong."""
    try:
        return await handler(request)
    except (web.HTTPException, ConnectionError):
        raise
    except TimeoutError:
        raise web.HTTPRequestTimeout(text=f"expected the whole request within {REQUEST_S:.0f} s\n") from None
    except OSError as error:
        raise web.HTTPNotFound(text=f"expected the path of a page: {error.strerror or 'it cannot be read'}\n") from None
    except (ValueError, LookupError, web.RequestPayloadError) as error:
        log.warning("a request is refused: %r", error)
        raise web.HTTPBadRequest(text="expected a request that can be read\n") from None


def _equal(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


async def serve(application: web.Application, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called with the URL once the port is open.

    Raises UsageError for an address that cannot be listened on, such as a port in use.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    for name in ("asyncio", "aiohttp.server", __name__):
        logging.getLogger(name).addFilter(_once_a_second)
    # the time of idle connections is also that of the head of a request
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, keepalive_timeout=REQUEST_S)
    await runner.setup()
    server, most = runner.server, min(MOST_SOCKETS, max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES))
    assert server is not None
    listening = None
    try:
        try:
            listening = await loop.create_server(
                lambda: server() if len(server.connections) < most else _Refusal(),
                host or None,
                port,
                backlog=16,  # so many are accepted before one of them counts
            )
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"expected an address to listen on, got {host} port {port}: {reason}") from None
        bound = listening.sockets[0].getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{bound}/")
        await ended.wait()
    finally:
        if listening is not None:
            listening.close()
        await runner.cleanup()


class _Refusal(asyncio.Protocol):
    """What closes one connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
        log.warning("a connection is closed: there are as many as this server takes")


_OTHERS_FAULTS = (OSError, HttpProcessingError, web.RequestPayloadError)


class OnceASecond(logging.Filter):
    """Lets a line of one kind pass once a second, and no traceback: strangers can cause any number of them."""

    def __init__(self) -> None:
        super().__init__()
        self._last_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is logged."""
        now_s, kind = time.monotonic(), str(record.msg)[:40]
        if now_s - self._last_s.get(kind, -1.0) < 1.0:
            return False
        self._last_s[kind] = now_s
        if record.exc_info and isinstance(error := record.exc_info[1], _OTHERS_FAULTS):
            record.msg, record.args, record.exc_info = "%s: %s", (record.getMessage()[:200], first_line(error)), None
        return True


_once_a_second = OnceASecond()


def open_in_browser(url: str) -> None:
    """Open an address in the user's browser without waiting for it: one in the terminal returns when it is left, and
    needs the server meanwhile."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
