"""What every page of ours stands behind: whom its server answers, what it forbids browsers, how it begins and ends."""

from __future__ import annotations

import asyncio
import hmac
import signal
import threading
import webbrowser
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from reversi.errors import UsageError

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

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guard(host: str, token: str | None = None) -> Middleware:
    """Return what refuses foreign names and origins, so that no other site's page can use the server through a browser.

    host   the address that the server listens on
    token  what a browser has to bring once, as `?token=`, and then keeps as a cookie, and a program with every request
           as `Authorization: Bearer`; None asks for nothing
    """
    host = host.lower()

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        name = (request.url.host or "").lower()
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
        response = await handler(request)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    return checked


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
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"expected an address to listen on, got {host} port {port}: {reason}") from None
        bound = runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{bound}/")
        await ended.wait()
    finally:
        await runner.cleanup()


def open_in_browser(url: str) -> None:
    """Open an address in the user's browser without waiting for it: one in the terminal returns when it is left, and
    needs the server meanwhile."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
