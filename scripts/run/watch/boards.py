"""`Boards`: the page of `reversi serve` for each run that is watched, with its newest champion, once it is opened.

/play/NUMBER/...   the page and all that it asks for; NUMBER is the run's place in the list of runs, from 0
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web

from reversi.errors import ReversiError
from reversi.frontends.web.server import STATIC, WebServer


class Boards:
    """The pages of some runs; `add_to` an application."""

    def __init__(self, runs: Sequence[str], open_board: Callable[[str], WebServer]) -> None:
        """`open_board` returns the server of a run's page; it may take seconds, and raises ReversiError."""
        self._runs, self._open = list(runs), open_board
        self._boards: dict[str, WebServer] = {}
        self._lock, self._stack = asyncio.Lock(), AsyncExitStack()

    def add_to(self, app: web.Application) -> None:
        """Add the routes; the pages end with the application."""
        app.router.add_route("*", r"/play/{number:\d+}/{path:.*}", self._answer)
        app.on_shutdown.append(self._shut_down)
        app.on_cleanup.append(self._clean_up)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        number, path = int(request.match_info["number"]), request.match_info["path"]
        if number >= len(self._runs):
            raise web.HTTPNotFound(text=f"expected the number of a run below {len(self._runs)}, got {number}\n")
        if file := re.fullmatch(r"static/([a-z-]+\.(?:js|css|svg))", path):
            return web.FileResponse(STATIC / file[1])
        board = await self._board(request.app, self._runs[number])
        handler = board.handlers.get((request.method, path))
        if handler is None:
            raise web.HTTPNotFound(text=f"there is no {request.method} {path!r:.80}\n")
        return await handler(request)

    async def _board(self, app: web.Application, run: str) -> WebServer:
        async with self._lock:
            if run not in self._boards:
                try:
                    board = await asyncio.to_thread(self._open, run)
                except ReversiError as error:
                    raise web.HTTPNotFound(text=f"{error}\n") from None
                await self._stack.enter_async_context(asynccontextmanager(board.running)(app))
                self._boards[run] = board
            return self._boards[run]

    async def _shut_down(self, app: web.Application) -> None:
        for board in self._boards.values():
            await board.shut_down(app)

    async def _clean_up(self, app: web.Application) -> None:
        await self._stack.aclose()
