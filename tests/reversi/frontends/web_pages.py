"""Pages of a server on 4x4: what tests ask of it, and who plays there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientWebSocketResponse
from aiohttp.test_utils import TestClient, TestServer

from reversi.analysis.analyzer import Analyzer, Limit
from reversi.analysis.review import Reviewer
from reversi.frontends.web.follower import Source
from reversi.frontends.web.selection import Opponent, Selection
from reversi.frontends.web.server import WebServer
from reversi.games.rules import GAMES
from tests.reversi.frontends.stubs import FirstMove, ThinksUntilStopped

GAME = GAMES["reversi4"]

Page = TestClient[Any, Any]


def selection_of(analyzer: Analyzer | None = None, opponent: Analyzer | None = None) -> Selection:
    opponents = [
        Opponent("first", "the first move", opponent or FirstMove(GAME), Limit(7)),
        Opponent("slow", "until it is stopped", ThinksUntilStopped(GAME), Limit()),
    ]
    return Selection(opponents, "first", "nobody", analyzer, None if analyzer is None else Reviewer(analyzer, Limit(9)))


def ask(
    test: Callable[[Page], Awaitable[None]],
    selection: Selection | None = None,
    host: str = "127.0.0.1",
    source: Source | None = None,
) -> None:
    """Run `test` with a client of a server."""

    async def run() -> None:
        server = WebServer(selection or selection_of(FirstMove(GAME)), host, source)
        async with TestClient(TestServer(server.application())) as page:
            await test(page)

    asyncio.run(asyncio.wait_for(run(), 60))


async def answers_of(line: ClientWebSocketResponse, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a request and return its answers, up to the final one."""
    await line.send_json(request)
    answers = []
    while not answers or not answers[-1].get("final"):
        answers.append(await line.receive_json(timeout=100))
        assert answers[-1]["id"] == request["id"]
    return answers
