"""Following a champion over HTTP: what it is, a request that waits for another one, and its file.

    GET /api/champion                           version, sha256, size, game, created and the file's address; its ETag is
                                                the SHA-256, and `If-None-Match` with it is answered by 304
    GET /api/champion?wait=S                    the same, once it is another than `If-None-Match` says or there is one,
                                                after `S` seconds at most
    GET /api/models/VERSION/model.safetensors   the file of a version, which never changes, with the same ETag

Without a champion, or such a version, the answer is a line with status 404; 503 if the registry cannot be read now.
`reversi serve` and `reversi watch` have both.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from aiohttp import ETag, web

from reversi.errors import NoGatedModelError, ReversiError, UsageError

LOOK_S = 1.0
"""Least time between two looks at a registry, however many requests wait, in seconds."""

MOST_WAIT_S = 60.0
"""Longest time that a request waits, in seconds."""

MOST_WAITING = 256
"""Requests that may wait at once."""

T = TypeVar("T")


class Model(Protocol):
    """A model as its registry describes it."""

    @property
    def version(self) -> int:
        """Its number."""

    @property
    def sha256(self) -> str:
        """The SHA-256 of its file."""

    @property
    def size(self) -> int:
        """The file's size in bytes."""

    @property
    def game(self) -> str:
        """What it plays."""

    @property
    def created(self) -> str:
        """When it was published, ISO 8601, UTC."""


class Models(Protocol):
    """A registry; every method may take seconds and raises ReversiError."""

    def champion(self) -> Model | None:
        """Return the champion, None while there is none."""

    def get(self, version: int) -> Model:
        """Return a version; UsageError if there is none."""

    def file_of(self, version: int) -> bytes:
        """Return the file of a version, checked."""


class ChampionRoutes:
    """The routes over some registries; `add_to` an application."""

    def __init__(self, models_of: Callable[[web.Request], Models | None]) -> None:
        """`models_of` returns the registry that a request is about, always the same one, None if there is none."""
        self._models_of = models_of
        self._looks: dict[int, tuple[float, Model | None]] = {}
        self._lock, self._ended = asyncio.Lock(), asyncio.Event()
        self._waiting = 0

    def add_to(self, app: web.Application) -> None:
        """Add the routes; waiting requests are answered when the application shuts down."""
        app.router.add_get("/api/champion", self._champion)
        app.router.add_get(r"/api/models/{version:\d{1,10}}/model.safetensors", self._file)
        app.on_shutdown.append(self._shut_down)

    async def _shut_down(self, app: web.Application) -> None:
        self._ended.set()

    async def _champion(self, request: web.Request) -> web.Response:
        models, wait_s = await self._asked(request), _wait_s(request)
        info = await self._look(models)
        if wait_s and _is_known(request, info):
            info = await self._wait(request, models, wait_s)
        if info is None:
            raise web.HTTPNotFound(text="no model has passed the gate yet\n")
        if _is_known(request, info):
            return _not_modified(info)
        run = request.query.get("run")
        file = request.rel_url.with_path(f"/api/models/{info.version}/model.safetensors")
        about = {name: getattr(info, name) for name in ("version", "sha256", "size", "game", "created")}
        response = web.json_response({**about, "file": str(file.with_query({"run": run} if run else {}))})
        response.etag = info.sha256
        return response

    async def _wait(self, request: web.Request, models: Models, wait_s: float) -> Model | None:
        """Return the champion once it is another one than the request knows, or after `wait_s` seconds."""
        if self._waiting >= MOST_WAITING:
            raise web.HTTPServiceUnavailable(text=f"expected at most {MOST_WAITING} requests that wait\n")
        self._waiting += 1
        try:
            deadline = time.monotonic() + wait_s
            while True:
                info = await self._look(models)
                left = deadline - time.monotonic()
                if left <= 0 or self._ended.is_set() or not _is_known(request, info):
                    return info
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), min(LOOK_S, left))
        finally:
            self._waiting -= 1

    async def _file(self, request: web.Request) -> web.Response:
        models, version = await self._asked(request), int(request.match_info["version"])
        info = await _reading(lambda: models.get(version))
        if _is_known(request, info):
            return _not_modified(info)
        name = f"{info.game}-{info.version:06d}.safetensors"
        response = web.Response(
            body=await _reading(lambda: models.file_of(version)),
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
        response.etag = info.sha256
        return response

    async def _look(self, models: Models) -> Model | None:
        """Return the champion as it was at most `LOOK_S` ago; one request at a time looks."""
        async with self._lock:
            at, info = self._looks.get(id(models), (float("-inf"), None))
            if time.monotonic() - at >= LOOK_S:
                info = await _reading(models.champion)
                self._looks[id(models)] = time.monotonic(), info
            return info

    async def _asked(self, request: web.Request) -> Models:
        models = await _reading(lambda: self._models_of(request))
        if models is None:
            raise web.HTTPNotFound(text="this server has no registry of models\n")
        return models


async def _reading(read: Callable[[], T]) -> T:
    """Return what `read` returns, in a thread; its errors are answers."""
    try:
        return await asyncio.to_thread(read)
    except (UsageError, NoGatedModelError) as error:
        raise web.HTTPNotFound(text=f"{error}\n") from None
    except ReversiError as error:
        raise web.HTTPServiceUnavailable(text=f"{error}\n") from None


def _wait_s(request: web.Request) -> float:
    text = request.query.get("wait", "0")
    if not (text.isascii() and text.isdecimal() and int(text) <= MOST_WAIT_S):
        raise web.HTTPBadRequest(text=f"expected wait as whole seconds, at most {MOST_WAIT_S:.0f}, got {text!r:.40}\n")
    return float(text)


def _is_known(request: web.Request, info: Model | None) -> bool:
    """Return whether a request knows the model already; that there is none is known to all."""
    if info is None:
        return True
    tags: tuple[ETag, ...] = request.if_none_match or ()
    return any(tag.value in (info.sha256, "*") for tag in tags)


def _not_modified(info: Model) -> web.Response:
    response = web.Response(status=304)
    response.etag = info.sha256
    return response
