"""The server of `reversi watch`: the page of one run or of several, read from their folders alone.

    GET /                the page
    GET /api/runs        the names of the runs that can be watched
    GET /api/run?run=R   all that the page shows of a run (`view.py`), the first one without `run`
    GET /api/compare?axis=A
                         what it shows of all runs together, over time, games, positions or simulations (`compare.py`)
    GET /api/config?run=R
                         its configuration as text
    GET /api/games?run=R the files of games that it kept, with file=NAME the games of one (`games.py`)
    GET /play/N/         a board with the champion of the N-th run, from 0, to play and study on (`boards.py`)
    GET /api/champion, /api/models/VERSION/model.safetensors
                         the champion of a run, to be followed (reversi/frontends/web/champion.py)
    GET /metrics         the newest metrics of all runs for Prometheus (`prometheus.py`)

A request that cannot be answered gets a line of text with status 404.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from reversi.errors import ReversiError
from reversi.frontends.web.champion import ChampionRoutes
from reversi.frontends.web.server import WebServer
from reversi.frontends.web.site import application
from reversi.model.registry import Registry
from scripts.run.watch import STATIC
from scripts.run.watch.boards import Boards
from scripts.run.watch.charts import AXES
from scripts.run.watch.compare import comparison
from scripts.run.watch.games import files_of, games_of
from scripts.run.watch.prometheus import Metrics
from scripts.run.watch.view import RunView


class WatchServer:
    """The page of some runs; `application` is what aiohttp serves."""

    def __init__(
        self,
        views: Mapping[str, RunView],
        host: str,
        token: str | None = None,
        open_board: Callable[[str], WebServer] | None = None,
    ) -> None:
        """Serve runs by name.

        host        the address that the server listens on
        token       what a browser has to bring (`site.guard`)
        open_board  makes the server of a board with the champion of a run, of which the registry's URL is given
        """
        self._views, self._host, self._token = dict(views), host, token
        self._lock, self._metrics = asyncio.Lock(), Metrics(self._views)
        registries = [view.registry_url for view in views.values()]
        self._boards = None if open_board is None else Boards(registries, open_board)
        self._champions = ChampionRoutes(lambda request: self._registry(self._asked(request).registry_url))

    def application(self) -> web.Application:
        """Return the application."""
        app = application(self._host, self._token)
        app.router.add_get("/", self._page)
        app.router.add_get("/api/runs", self._runs)
        app.router.add_get("/api/run", self._run)
        app.router.add_get("/api/compare", self._compare)
        app.router.add_get("/api/config", self._config)
        app.router.add_get("/api/games", self._games)
        app.router.add_get("/metrics", self._scrape)
        app.router.add_static("/static", STATIC)
        self._champions.add_to(app)
        if self._boards is not None:
            self._boards.add_to(app)
        return app

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(STATIC / "index.html")

    async def _runs(self, request: web.Request) -> web.Response:
        return web.json_response(list(self._views))

    async def _run(self, request: web.Request) -> web.Response:
        return await self._shown(self._asked(request).poll)

    async def _compare(self, request: web.Request) -> web.Response:
        axis = request.query.get("axis", "time")
        if axis not in AXES:
            raise web.HTTPNotFound(text=f"expected one of the axes {', '.join(AXES)}, got {axis!r:.80}\n")
        return await self._shown(partial(comparison, self._views, axis))

    async def _shown(self, read: Callable[[], dict[str, Any]]) -> web.Response:
        """Return what `read` returns; one request at a time reads."""
        async with self._lock:
            try:
                shown = await asyncio.to_thread(read)
            except ReversiError as error:
                raise web.HTTPNotFound(text=f"{error}\n") from None
        response = web.json_response(shown, dumps=as_text)
        response.enable_compression()
        return response

    async def _config(self, request: web.Request) -> web.Response:
        try:
            return web.Response(text=self._asked(request).config_text())
        except ReversiError as error:
            raise web.HTTPNotFound(text=f"the configuration cannot be read: {error}\n") from None

    async def _games(self, request: web.Request) -> web.Response:
        run, name = self._asked(request).folder, request.query.get("file")
        board = None if self._boards is None else f"play/{[v.folder for v in self._views.values()].index(run)}/"
        if name is None:
            return await self._shown(lambda: {"files": files_of(run), "board": board})
        return await self._shown(lambda: {"games": games_of(run, name), "board": board})

    async def _scrape(self, request: web.Request) -> web.Response:
        async with self._lock:
            text = await asyncio.to_thread(self._metrics.text)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    @functools.cache  # noqa: B019 - as many as there are runs
    def _registry(self, url: str) -> Registry:
        return Registry(url)

    def _asked(self, request: web.Request) -> RunView:
        """Return the run that a request is about, by default the first."""
        name = request.query.get("run") or next(iter(self._views))
        if name not in self._views:
            raise web.HTTPNotFound(text=f"expected one of the runs {', '.join(self._views)}, got {name!r:.80}\n")
        return self._views[name]


def as_text(value: Any) -> str:
    """Return an answer as the page gets it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
