"""The web server of `reversi serve`: the page, the rules as JSON, and a WebSocket for moves and analyses.

    GET  /            the page
    GET  /api/info    the game, the opponents, the model; with ?size=8 of that board, as every request may ask for one
    POST /api/game    {"start": POSITION or null, "moves": [...]} or {"text": ...}: the game with all its positions
    GET  /api/champion and /api/models/VERSION/model.safetensors: the champion, to be followed (champion.py)
    GET  /api/think   a WebSocket; a request is an object with "id", "do" and the game, and every answer has its "id":
                      "choose" with "opponent", maybe "model": {"analysis", "opponent", "shortened"}, whose first
                      move is the opponent's; shortened for the sake of others or not
                      "analyse": {"analysis"} again and again, the deeper the later
                      "review": {"ply", "analysis", "move"} for every unfinished position of the game, from the last
                      one back, and at the end {"review"}
                      "stop"; it has no answer of its own
                      The last answer of a request has "final": true.  A request stops the one before it.
                      With ?info it also gets {"info"}, what /api/info says, at once and whenever that changes.

A request that is wrong is answered by {"error": ...}.  The server keeps no state of a game: the page sends all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from reversi import __version__, json
from reversi.analysis.analyzer import Analysis
from reversi.analysis.review import marks_of
from reversi.errors import ReversiError, UsageError
from reversi.frontends.web.champion import ChampionRoutes, Models
from reversi.frontends.web.follower import Follower, Source
from reversi.frontends.web.game import OtherBoardError, WebGame, analysis_json, parse_object, review_json, reviewed_json
from reversi.frontends.web.selection import Selection, Selections
from reversi.frontends.web.site import REQUEST_S, Handler, application
from reversi.frontends.web.thinker import Stop, Thinker

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"

MOST_BYTES = 1 << 16
"""Largest request or message, in bytes."""

MOST_CONNECTIONS = 64
"""Pages that may be connected at once."""


class WebServer:
    """The page and its API for one game; `application` is what aiohttp serves."""

    def __init__(
        self,
        selection: Selection,
        host: str,
        source: Source | None = None,
        models: Models | None = None,
        others: Mapping[int, Callable[[], Selection]] | None = None,
    ) -> None:
        """Serve the selection, and those that replace it.

        host    the address that the server listens on
        source  where newer selections, of the same game, come from; None if there will be none
        models  the registry of the champion that plays, for programs that follow it; None if there is none
        others  by size, what makes the selection of another board; called once, when that is first asked for
        """
        self._champion = ChampionRoutes(lambda request: models)
        self._selections, self._host, self._source = Selections(selection), host, source
        self._others = dict(others or {})
        self._boards = {selection.game.size: self._selections}
        self._thinker = Thinker()
        self._connections: set[Connection] = set()
        self._telling: set[asyncio.Task[None]] = set()

    def application(self) -> web.Application:
        """Return the application; its clean-up ends all requests, connections and threads."""
        app = application(self._host, most_bytes=MOST_BYTES)
        for (method, path), handler in self.handlers.items():
            app.router.add_route(method, f"/{path}", handler)
        app.router.add_static("/static", STATIC)
        self._champion.add_to(app)
        app.on_shutdown.append(self.shut_down)
        app.cleanup_ctx.append(self.running)
        return app

    @property
    def title(self) -> str:
        """The board and who plays first, for people."""
        selection = self._selections.current
        first = selection.find(selection.default)
        return f"{selection.game.name} against {selection.default if first is None else first.label}"

    @property
    def handlers(self) -> dict[tuple[str, str], Handler]:
        """What answers requests, by method and path; another server can have the page under an address of its own."""
        return {
            ("GET", ""): self._page,
            ("GET", "api/info"): self._info,
            ("POST", "api/game"): self._game,
            ("GET", "api/think"): self._think,
        }

    async def running(self, app: web.Application) -> AsyncIterator[None]:
        """Follow the source, until the application ends, and end the thinker then."""
        loop = asyncio.get_running_loop()
        follower = None
        if self._source is not None:
            follower = Follower(self._source, lambda newer: loop.call_soon_threadsafe(self._replace, newer))
        yield
        if follower is not None:
            follower.close()
        self._thinker.close()

    def _replace(self, selection: Selection) -> None:
        """Offer another selection from now on, and tell the pages."""
        self._selections.replace(selection)
        size = selection.game.size
        for connection in (each for each in self._connections if each.size in (None, size)):
            task = asyncio.create_task(connection.tell(self._info_json(self._selections)))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(STATIC / "index.html")

    async def _info(self, request: web.Request) -> web.Response:
        try:
            return web.json_response(self._info_json(await self._selections_of(_size_in(request))))
        except ReversiError as error:
            return web.json_response({"error": str(error)}, status=400)

    async def _selections_of(self, size: object) -> Selections:
        """Return what plays on a board, None being the server's own; UsageError for one that is not offered."""
        sizes = sorted(self._boards.keys() | self._others.keys())
        if size is not None and (type(size) is not int or size not in sizes):
            raise UsageError(f"expected a board of size {' or '.join(map(str, sizes))}, got {size!r:.60}")
        if size is None:
            return self._selections
        if size not in self._boards:
            made = await self._thinker.do(self._others[size])
            self._boards.setdefault(size, Selections(made))
        return self._boards[size]

    def _info_json(self, selections: Selections) -> dict[str, Any]:
        selection = selections.current
        return {
            "game": selection.game.name,
            "size": selection.game.size,
            "sizes": sorted(self._boards.keys() | self._others.keys()),
            "version": __version__,
            "opponents": [opponent.as_json() for opponent in selection.opponents],
            "opponent": selection.default,
            "analysis": selection.analyzer is not None,
            "marks": [
                {"sign": mark.sign, "meaning": mark.meaning(selection.game), "discs": mark.discs}
                for mark in marks_of(selection.game)
            ],
            "name": selection.name,
        }

    async def _game(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":  # a form of another site cannot send this type
            return web.json_response({"error": "expected a request of type application/json"}, status=415)
        try:
            async with asyncio.timeout(REQUEST_S):
                text = await request.text()
        except (UnicodeDecodeError, LookupError) as error:  # LookupError: a charset that is not known
            return web.json_response({"error": f"expected text: {error}"}, status=400)
        try:
            asked = parse_object(text)
            read = WebGame.from_json(asked, (await self._selections_of(asked.get("size"))).current.game)
        except ReversiError as error:
            other = {"size": error.game.size} if isinstance(error, OtherBoardError) else {}
            return web.json_response({"error": str(error), **other}, status=400)
        return web.json_response(read.as_json())

    async def _think(self, request: web.Request) -> web.StreamResponse:
        if len(self._connections) >= MOST_CONNECTIONS:
            raise web.HTTPServiceUnavailable(text=f"expected at most {MOST_CONNECTIONS} pages\n")
        try:
            size = _size_in(request)
            selections = await self._selections_of(size)
        except ReversiError as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from None
        socket = web.WebSocketResponse(max_msg_size=MOST_BYTES, heartbeat=30.0)
        await socket.prepare(request)
        connection = Connection(
            socket, self._thinker, self._selections_of, wants_info="info" in request.query, size=size
        )
        self._connections.add(connection)
        try:
            await connection.tell(self._info_json(selections))
            await connection.serve()
        finally:
            self._connections.discard(connection)
        return socket

    async def shut_down(self, app: web.Application) -> None:
        """Close every page's connection."""
        for connection in list(self._connections):
            await connection.close()


class Connection:
    """One page's WebSocket: at most one request at a time, a new one stops the last."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        thinker: Thinker,
        selections_of: Callable[[object], Awaitable[Selections]],
        *,
        wants_info: bool,
        size: int | None,
    ) -> None:
        """Take over the socket.

        selections_of  what plays on a board of a size
        wants_info     whether the page is told what it can select
        size           of the board that the page shows, None for the server's own
        """
        self._socket, self._thinker, self._selections_of, self._wants_info = socket, thinker, selections_of, wants_info
        self.size = size
        self._stop = Stop()
        self._task: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Answer requests until the page leaves."""
        try:
            async for message in self._socket:
                if message.type is WSMsgType.TEXT:
                    await self._end_task()
                    self._stop = Stop()
                    self._task = asyncio.create_task(self._answer(message.data, self._stop))
        finally:
            await self._end_task()

    async def tell(self, info: Mapping[str, Any]) -> None:
        """Tell the page what it can select, if it wants to know."""
        if self._wants_info:
            await self._send({"info": info})

    async def close(self) -> None:
        """Stop the request and close the socket."""
        self._stop.set()
        await self._socket.close(code=1001, message=b"the server ends")

    async def _end_task(self) -> None:
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])  # it is cancelled if it was waiting for its turn
            self._task = None

    async def _answer(self, text: str, stop: Stop) -> None:
        """Answer one request, errors included."""
        number = None
        try:
            request = parse_object(text)
            number = request.get("id")
            if request.get("do") == "stop":
                return
            async for answer in self._answers(request, stop):
                if stop():
                    return
                await self._send({"id": number, **answer})
            if not stop():
                await self._send({"id": number, "final": True})
        except ReversiError as error:
            await self._send({"id": number, "error": str(error), "final": True})
        except Exception:
            log.exception("a request failed")
            await self._send({"id": number, "error": "the request failed; the server's log says why", "final": True})

    async def _answers(self, request: Mapping[str, Any], stop: Stop) -> AsyncIterator[dict[str, Any]]:
        """Yield the answers to a request; raises ReversiError for one that is wrong."""
        selections = await self._selections_of(request.get("size", self.size))
        thinker, selection, do = self._thinker, selections.current, request.get("do")
        game = WebGame.from_json(request, selection.game)
        if do not in ("choose", "analyse", "review"):
            raise UsageError(f"expected choose, analyse, review or stop, got {do!r}")
        if do != "review" and game.position.is_over:
            raise UsageError("expected a position with a move: the game is over")
        if do == "choose":
            opponent = selections.opponent(str(request.get("opponent")), _model_version(request.get("model")))
            analysis, shortened = await thinker.choose(opponent, game.position, stop)
            found = {"analysis": analysis_json(selection.game, analysis), "opponent": opponent.as_json()}
            yield found | {"shortened": shortened}
        elif do == "analyse" and selection.analyzer is not None:
            async for analysis in thinker.analyse(selection.analyzer, game.position, stop):
                yield {"analysis": analysis_json(selection.game, analysis)}
        elif do == "review" and selection.reviewer is not None:
            reviewer, analyses = selection.reviewer, dict[int, Analysis]()
            async for ply, analysis in thinker.review(reviewer, game.positions, stop):
                analyses[ply] = analysis
                yield {"ply": ply, **reviewed_json(game, analyses, ply, reviewer.errors)}
            yield {"review": review_json(game, analyses, reviewer.errors)}
        else:
            raise UsageError("expected a model for an analysis: this server plays without one")

    async def _send(self, answer: Mapping[str, Any]) -> None:
        text = json.dumps(answer)
        with contextlib.suppress(ConnectionError):  # the page has left
            await self._socket.send_str(text)


def _size_in(request: web.Request) -> int | None:
    """Return the size of the board that an address asks for, None for none; UsageError for anything else."""
    size = request.query.get("size")
    if size is not None and not (size.isascii() and size.isdecimal() and len(size) < 3):
        raise UsageError(f"expected the size of a board, got {size!r:.60}")
    return None if size is None else int(size)


def _model_version(version: object) -> int | None:
    """Return the `version` of a model, which may be None; UsageError for anything else."""
    if version is not None and type(version) is not int:
        raise UsageError(f"expected the version of a model or null, got {version!r:.60}")
    return version
