"""The server of the page: its files, the games it reads, what it refuses, and its end."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import urllib.request
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from reversi.analysis.analyzer import Limit
from reversi.errors import UsageError
from reversi.frontends.web import server as server_module
from reversi.frontends.web.selection import Opponent, Selection
from reversi.frontends.web.server import MOST_BYTES, STATIC, WebServer
from reversi.frontends.web.site import serve
from reversi.games.rules import GAMES
from tests.reversi.frontends.stubs import FirstMove
from tests.reversi.frontends.web_pages import GAME, Page, answers_of, ask, selection_of

OVER = {"start": "OOOOOOOOXXXXXXXX X", "moves": []}


def test_the_page_and_its_files_are_there_and_may_load_nothing_else() -> None:
    async def test(page: Page) -> None:
        answer = await page.get("/")
        text = await answer.text()
        assert answer.status == 200
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
        for name in sorted(file.name for file in STATIC.glob("*.*") if file.suffix != ".html"):
            file = await page.get(f"/static/{name}")
            assert (file.status, bool(await file.text())) == (200, True)
        assert 'src="static/app.js"' in text
        assert "http" not in text
        for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/", "/nothing"):
            assert (await page.get(path)).status in (403, 404)

    ask(test)


def test_info_says_who_plays() -> None:
    async def test(page: Page) -> None:
        info = await (await page.get("/api/info")).json()
        assert (info["game"], info["size"], info["name"], info["analysis"]) == ("reversi4", 4, "nobody", True)
        assert info["opponents"][0] == {"name": "first", "label": "the first move", "model": None}
        assert info["opponent"] == "first"

    ask(test)


def test_a_game_is_read_and_a_wrong_one_is_refused_in_words() -> None:
    async def test(page: Page) -> None:
        answer = await page.post("/api/game", json={"moves": ["b1"]})
        assert (await answer.json())["positions"][1]["side"] == "O"
        answer = await page.post("/api/game", json={"text": "b1a1"})
        assert (await answer.json())["moves"] == ["b1", "a1"]
        for body, status, message in (
            ('{"moves": ["a1"]}', 400, "expected one of"),
            ("{", 400, "expected a JSON object"),
            ("[" * 50_000, 400, "expected a JSON object"),
            ("[]", 400, "expected a JSON object, got list"),
            (b"\xff\xff", 400, "decode"),
        ):
            answer = await page.post("/api/game", data=body, headers={"Content-Type": "application/json"})
            assert answer.status == status
            assert message in (await answer.json())["error"]
        answer = await page.post("/api/game", data="{}", headers={"Content-Type": "application/json; charset=nope"})
        assert (answer.status, "unknown encoding: nope" in (await answer.json())["error"]) == (400, True)
        answer = await page.post("/api/game", data='{"moves": []}', headers={"Content-Type": "text/plain"})
        assert answer.status == 415  # the only type that another site's form could send
        answer = await page.post(
            "/api/game", data=b" " * (MOST_BYTES + 1), headers={"Content-Type": "application/json"}
        )
        assert answer.status == 413

    ask(test)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:80"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Host": "localhost:80", "Origin": "http://localhost:80"}, 200),
        ({"Host": "localhost:80", "Origin": "http://evil.example"}, 403),
        ({"Host": "localhost:80", "Origin": "null"}, 403),
    ],
)
def test_other_names_and_other_sites_are_refused(headers: dict[str, str], status: int) -> None:
    async def test(page: Page) -> None:
        assert (await page.get("/api/info", headers=headers)).status == status
        async with page.session.request("GET", page.make_url("/api/think"), headers=headers) as answer:
            assert answer.status == (403 if status == 403 else 400)  # no WebSocket was asked for

    ask(test)


def test_the_name_of_a_server_may_be_in_capitals() -> None:
    async def test(page: Page) -> None:
        for name in ("localhost:8765", "LocalHost:8765"):
            assert (await page.get("/api/info", headers={"Host": name})).status == 200
        answer = await page.get("/api/info", headers={"Host": "evil.example"})
        assert answer.status == 403
        assert await answer.text() == ("expected this server under localhost or 127.0.0.1 or ::1, got 'evil.example'\n")

    ask(test, host="LOCALHOST")


def test_a_server_for_a_network_is_asked_under_any_name() -> None:
    async def test(page: Page) -> None:
        assert (await page.get("/api/info", headers={"Host": "laptop.lan:8765"})).status == 200

    ask(test, host="0.0.0.0")


def test_without_a_model_there_is_no_analysis() -> None:
    async def test(page: Page) -> None:
        assert not (await (await page.get("/api/info")).json())["analysis"]
        async with page.ws_connect("/api/think") as line:
            (answer,) = await answers_of(line, {"id": 1, "do": "analyse", "moves": []})
            assert "expected a model for an analysis" in answer["error"]

    ask(test, selection_of(None))


def test_a_failure_is_logged_and_the_page_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Fails(FirstMove):
        def analyse(self, *_: Any) -> Any:
            raise RuntimeError("a bug")

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            (answer,) = await answers_of(line, {"id": 1, "do": "analyse", "moves": []})
            assert "the server's log says why" in answer["error"]

    ask(test, selection_of(Fails(GAME)))
    assert "a bug" in caplog.text


def test_there_are_only_so_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 1)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await answers_of(line, {"id": 1, "do": "choose", "opponent": "first", "moves": []})
            assert (await page.get("/api/think")).status == 503
        async with page.ws_connect("/api/think"):
            pass

    ask(test)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_serves_until_a_signal(number: signal.Signals) -> None:
    server = WebServer(selection_of(), "127.0.0.1")
    found: list[bytes] = []

    def visit(url: str) -> None:
        with urllib.request.urlopen(url + "api/info", timeout=100) as answer:
            found.append(answer.read())
        signal.raise_signal(number)

    def ready(url: str) -> None:
        threading.Thread(target=visit, args=(url,)).start()

    asyncio.run(asyncio.wait_for(serve(server.application(), "127.0.0.1", 0, ready), 60))
    assert b'"reversi4"' in found[0]


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", None), ("no.such.host.invalid", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_had_is_an_error_in_words(host: str, port: int | None) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = WebServer(selection_of(), host)
        with pytest.raises(UsageError, match="expected an address to listen on, got"):
            asyncio.run(
                serve(
                    server.application(),
                    host,
                    taken.getsockname()[1] if port is None else port,
                    lambda url: None,
                )
            )


def test_one_server_plays_several_boards_and_makes_each_once() -> None:
    made: list[int] = []
    game = GAMES["reversi6"]

    def six() -> Selection:
        made.append(6)
        return Selection([Opponent("first", "the first move", FirstMove(game), Limit())], "first", "six")

    async def run() -> None:
        server = WebServer(selection_of(FirstMove(GAME)), "127.0.0.1", others={6: six})
        async with TestClient(TestServer(server.application())) as page:
            own, other = [await (await page.get(f"/api/info{query}")).json() for query in ("", "?size=6")]
            assert (own["size"], other["size"], other["name"], own["sizes"]) == (4, 6, "six", [4, 6])
            answer = await page.post("/api/game", json={"moves": ["c2"], "size": 6})
            assert len((await answer.json())["positions"][0]["board"]) == 36
            refused = await page.post("/api/game", json={"moves": ["c2", "d2"]})
            assert (refused.status, (await refused.json())["size"]) == (400, 6)
            for query in ("?size=8", "?size=x", "?size=-4", "?size=999"):
                assert (await page.get(f"/api/info{query}")).status == 400
                assert (await page.get(f"/api/think{query}")).status == 400
            assert (await page.post("/api/game", json={"moves": [], "size": True})).status == 400
            async with page.ws_connect("/api/think?info&size=6") as line:
                assert (await line.receive_json(timeout=100))["info"]["size"] == 6
                answers = await answers_of(line, {"id": 1, "do": "choose", "opponent": "first", "moves": ["c2"]})
                assert answers[0]["analysis"]["moves"][0]["move"] == "b2"
        assert made == [6]

    asyncio.run(asyncio.wait_for(run(), 60))
