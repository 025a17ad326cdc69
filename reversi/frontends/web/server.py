"""The web server of `reversi serve`: the page, the rules as JSON, and a WebSocket for moves and analyses.

    GET  /            the page
    GET  /api/info    the game, the opponents, the model
    POST /api/game    {"start": POSITION or null, "moves": [...]} or {"text": ...}: the game with all its positions
    GET  /api/think   a WebSocket; a request is an object with "id", "do" and the game, and every answer has its "id":
                      "choose" with "opponent": {"analysis"}, whose first move is the opponent's
                      "analyse": {"analysis"} again and again, the deeper the later
                      "review", maybe with "plies": {"ply", "analysis"} for every unfinished position of the game, or
                      for those
                      "stop"; it has no answer of its own
                      The last answer of a request has "final": true.  A request stops the one before it.

A request that is wrong is answered by {"error": ...}.  The server keeps no state of a game: the page sends all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Any

from aiohttp import WSMsgType, web

from reversi import __version__
from reversi.errors import ReversiError, UsageError
from reversi.frontends.review import marks_of
from reversi.frontends.web.game import WebGame, analysis_json, parse_object
from reversi.frontends.web.thinking import Thinker

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"

MOST_BYTES = 1 << 16
"""Largest request or message, in bytes."""

MOST_CONNECTIONS = 64
"""Pages that may be connected at once."""

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

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebServer:
    """The page and its API for one game; `application` is what aiohttp serves."""

    def __init__(self, thinker: Thinker, host: str, name: str) -> None:
        """`host` is the address that the server listens on, `name` what the page says that plays."""
        self._thinker, self._host, self._name = thinker, host.lower(), name
        self._connections: set[Connection] = set()

    def application(self) -> web.Application:
        """Return the application; its clean-up ends all requests and connections."""
        app = web.Application(middlewares=[self._guard], client_max_size=MOST_BYTES)
        app.router.add_get("/", self._page)
        app.router.add_get("/api/info", self._info)
        app.router.add_post("/api/game", self._game)
        app.router.add_get("/api/think", self._think)
        app.router.add_static("/static", STATIC)
        app.on_shutdown.append(self._shut_down)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse foreign names and origins, so that no other site's page can use the server through a browser."""
        name = (request.url.host or "").lower()
        allowed = LOCAL if self._host in LOCAL else (self._host,)
        if self._host not in EVERYWHERE and name not in allowed:
            raise web.HTTPForbidden(text=f"expected this server under {' or '.join(allowed)}, got {name!r}\n")
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            raise web.HTTPForbidden(text="expected a request of this server's own page\n")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(STATIC / "index.html")

    async def _info(self, request: web.Request) -> web.Response:
        thinker = self._thinker
        return web.json_response(
            {
                "game": thinker.game.name,
                "size": thinker.game.size,
                "version": __version__,
                "opponents": [{"name": each.name, "label": each.label} for each in thinker.opponents.values()],
                "opponent": thinker.default,
                "analysis": thinker.can_analyse,
                "marks": [asdict(mark) for mark in marks_of(thinker.game)],
                "name": self._name,
            }
        )

    async def _game(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":  # a form of another site cannot send this type
            return web.json_response({"error": "expected a request of type application/json"}, status=415)
        try:
            text = await request.text()
        except (UnicodeDecodeError, LookupError) as error:  # LookupError: a charset that is not known
            return web.json_response({"error": f"expected text: {error}"}, status=400)
        try:
            read = WebGame.from_json(parse_object(text), self._thinker.game)
        except ReversiError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response(read.as_json())

    async def _think(self, request: web.Request) -> web.StreamResponse:
        if len(self._connections) >= MOST_CONNECTIONS:
            raise web.HTTPServiceUnavailable(text=f"expected at most {MOST_CONNECTIONS} pages\n")
        socket = web.WebSocketResponse(max_msg_size=MOST_BYTES, heartbeat=30.0)
        await socket.prepare(request)
        connection = Connection(socket, self._thinker)
        self._connections.add(connection)
        try:
            await connection.serve()
        finally:
            self._connections.discard(connection)
        return socket

    async def _shut_down(self, app: web.Application) -> None:
        for connection in list(self._connections):
            await connection.close()


class Connection:
    """One page's WebSocket: at most one request at a time, a new one stops the last."""

    def __init__(self, socket: web.WebSocketResponse, thinker: Thinker) -> None:
        self._socket, self._thinker = socket, thinker
        self._stop = Event()
        self._task: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Answer requests until the page leaves."""
        try:
            async for message in self._socket:
                if message.type is WSMsgType.TEXT:
                    await self._end_task()
                    self._stop = Event()
                    self._task = asyncio.create_task(self._answer(message.data, self._stop))
        finally:
            await self._end_task()

    async def close(self) -> None:
        """Stop the request and close the socket."""
        self._stop.set()
        await self._socket.close(code=1001, message=b"the server ends")

    async def _end_task(self) -> None:
        self._stop.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def _answer(self, text: str, stop: Event) -> None:
        """Answer one request, errors included."""
        number = None
        try:
            asked = parse_object(text)
            number = asked.get("id")
            if asked.get("do") == "stop":
                return
            async for answer in self._answers(asked, stop.is_set):
                if stop.is_set():
                    return
                await self._send({"id": number, **answer})
            if not stop.is_set():
                await self._send({"id": number, "final": True})
        except ReversiError as error:
            await self._send({"id": number, "error": str(error), "final": True})
        except Exception:
            log.exception("a request failed")
            await self._send({"id": number, "error": "the request failed; the server's log says why", "final": True})

    async def _answers(self, asked: Mapping[str, Any], stop: Callable[[], bool]) -> AsyncIterator[dict[str, Any]]:
        """Yield the answers to a request; raises ReversiError for one that is wrong."""
        thinker, do = self._thinker, asked.get("do")
        game = WebGame.from_json(asked, thinker.game)
        if do not in ("choose", "analyse", "review"):
            raise UsageError(f"expected choose, analyse, review or stop, got {do!r}")
        if do != "choose" and not thinker.can_analyse:
            raise UsageError("expected a model for an analysis: this server plays without one")
        if do != "review" and game.position.is_over:
            raise UsageError("expected a position with a move: the game is over")
        if do == "choose":
            opponent = thinker.opponents.get(str(asked.get("opponent")))
            if opponent is None:
                raise UsageError(f"expected one of {', '.join(thinker.opponents)}, got {asked.get('opponent')!r}")
            yield {"analysis": analysis_json(thinker.game, await thinker.choose(game.position, opponent, stop))}
        elif do == "analyse":
            async for analysis in thinker.analyse(game.position, stop):
                yield {"analysis": analysis_json(thinker.game, analysis)}
        else:
            plies = _plies_to_review(game, asked.get("plies"))
            left = iter(plies)
            async for analysis in thinker.review([game.positions[ply] for ply in plies], stop):
                yield {"ply": next(left), "analysis": analysis_json(thinker.game, analysis)}

    async def _send(self, answer: Mapping[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):  # the page has left
            await self._socket.send_json(answer)


def _plies_to_review(game: WebGame, asked: object) -> list[int]:
    """Return the plies of the unfinished positions, in their order, or those `asked` for, which may be None.

    Raises UsageError for anything but a list of such plies.
    """
    unfinished = [ply for ply, position in enumerate(game.positions) if not position.is_over]
    if asked is None:
        return unfinished
    if not isinstance(asked, list) or not all(type(ply) is int and ply in unfinished for ply in asked):
        raise UsageError(f"expected plies of unfinished positions, got {asked!r:.60}")
    return [ply for ply in unfinished if ply in asked]


async def serve(server: WebServer, thinker: Thinker, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called with the URL once the port is open.

    Raises UsageError for an address that cannot be listened on, such as a port in use.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=1.0)
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
        thinker.close()
