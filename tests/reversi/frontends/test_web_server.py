"""The server of the page: its answers, what it refuses, and requests that replace each other."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType
from aiohttp.test_utils import TestClient, TestServer

from reversi.errors import UsageError
from reversi.frontends.analysis import Analyzer, Limit, SearchAnalyzer
from reversi.frontends.web import server as server_module
from reversi.frontends.web.server import MOST_BYTES, STATIC, WebServer, serve
from reversi.frontends.web.thinking import STEPS, Opponent, Thinker
from reversi.games.rules import GAMES
from reversi.search.signature import HashEvaluator
from tests.reversi.frontends.stubs import FirstMove, ThinksUntilStopped

ROOT = Path(__file__).parents[3]
GAME = GAMES["reversi4"]
OVER = {"start": "OOOOOOOOXXXXXXXX X", "moves": []}

Page = TestClient[Any, Any]


def thinker_of(analyzer: Analyzer | None = None, opponent: Analyzer | None = None) -> Thinker:
    opponents = [
        Opponent("first", "the first move", opponent or FirstMove(GAME), Limit(7)),
        Opponent("slow", "until it is stopped", ThinksUntilStopped(GAME), Limit()),
    ]
    return Thinker(GAME, opponents, "first", analyzer)


def ask(test: Callable[[Page], Awaitable[None]], thinker: Thinker | None = None, host: str = "127.0.0.1") -> None:
    """Run `test` with a client of a server."""

    async def run() -> None:
        thinks = thinker or thinker_of(FirstMove(GAME))
        async with TestClient(TestServer(WebServer(thinks, host, "nobody").application())) as page:
            await test(page)
        thinks.close()

    asyncio.run(asyncio.wait_for(run(), 60))


async def answers_of(line: ClientWebSocketResponse, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a request and return its answers, up to the final one."""
    await line.send_json(request)
    answers = []
    while not answers or not answers[-1].get("final"):
        answers.append(await line.receive_json(timeout=30))
        assert answers[-1]["id"] == request["id"]
    return answers


def test_the_page_and_its_files_are_there_and_may_load_nothing_else() -> None:
    async def test(page: Page) -> None:
        answer = await page.get("/")
        text = await answer.text()
        assert answer.status == 200
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
        for name in sorted(file.name for file in STATIC.glob("*.*") if file.suffix != ".html"):
            file = await page.get(f"/static/{name}")
            assert (file.status, bool(await file.text())) == (200, True)
        assert 'src="/static/app.js"' in text
        assert "http" not in text
        for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/", "/nothing"):
            assert (await page.get(path)).status in (403, 404)

    ask(test)


def test_info_says_who_plays() -> None:
    async def test(page: Page) -> None:
        info = await (await page.get("/api/info")).json()
        assert (info["game"], info["size"], info["name"], info["analysis"]) == ("reversi4", 4, "nobody", True)
        assert info["opponents"][0] == {"name": "first", "label": "the first move"}
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


def test_an_opponent_chooses_within_its_limit_and_a_forced_move_at_once() -> None:
    opponent = FirstMove(GAME)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            first, last = await answers_of(line, {"id": 1, "do": "choose", "opponent": "first", "moves": []})
            assert first["analysis"]["moves"][0]["move"] == "b1"
            assert last == {"id": 1, "final": True}
            assert opponent.limits == [Limit(7)]
            forced = {"id": 2, "do": "choose", "opponent": "first", "start": "-XOXOOOO-XOOXOOO X"}
            assert (await answers_of(line, forced))[0]["analysis"]["moves"][0]["move"] == "pass"
            assert opponent.limits == [Limit(7)]

    ask(test, thinker_of(opponent=opponent))


def test_an_analysis_grows_step_by_step() -> None:
    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            *found, last = await answers_of(line, {"id": 5, "do": "analyse", "moves": []})
            nodes = [each["analysis"]["nodes"] for each in found]
            assert nodes[:2] == [1 + STEPS[0], 1 + STEPS[1]]
            assert STEPS[1] < nodes[-1] < STEPS[2]  # there the search has proven the result of every move
            assert [all(move["certain"] for move in each["analysis"]["moves"]) for each in found] == [
                False,
                False,
                True,
            ]
            assert last == {"id": 5, "final": True}

    ask(test, thinker_of(SearchAnalyzer("hash", GAME, HashEvaluator(GAME), 20)))


def test_a_review_looks_at_every_unfinished_position() -> None:
    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            game = {"start": "-XOXOOOO-XOOXOOO X", "moves": ["pass", "a1", "pass", "a3"]}
            *found, _ = await answers_of(line, {"id": 1, "do": "review", **game})
            assert [each["ply"] for each in found] == [0, 1, 2, 3]
            assert [each["analysis"]["moves"][0]["move"] for each in found] == game["moves"]
            *found, _ = await answers_of(line, {"id": 2, "do": "review", "plies": [3, 1], **game})
            assert [each["ply"] for each in found] == [1, 3]
            assert [each["analysis"]["moves"][0]["move"] for each in found] == game["moves"][1::2]
            assert await answers_of(line, {"id": 3, "do": "review", "plies": [], **game}) == [{"id": 3, "final": True}]

    ask(test)


def test_a_request_stops_the_one_before_it() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await line.send_json({"id": 1, "do": "analyse", "moves": []})
            await asyncio.to_thread(slow.begun.wait, 30)
            answers = await answers_of(line, {"id": 2, "do": "choose", "opponent": "first", "moves": []})
            assert [each["id"] for each in answers] == [2, 2]
            assert slow.stopped
            slow.begun.clear()
            slow.stopped = False
            await line.send_json({"id": 3, "do": "review", "moves": []})
            await asyncio.to_thread(slow.begun.wait, 30)
            await line.send_json({"id": 4, "do": "stop"})
            answers = await answers_of(line, {"id": 5, "do": "choose", "opponent": "first", "moves": []})
            assert len(answers) == 2
            assert slow.stopped

    ask(test, thinker_of(slow))


def test_a_page_that_leaves_stops_its_request() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await line.send_json({"id": 1, "do": "analyse", "moves": []})
            await asyncio.to_thread(slow.begun.wait, 30)
        async with page.ws_connect("/api/think") as line:  # the thread is free again
            await answers_of(line, {"id": 2, "do": "choose", "opponent": "first", "moves": []})
        assert slow.stopped

    ask(test, thinker_of(slow))


def test_a_server_that_ends_stops_what_runs() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        line = await page.ws_connect("/api/think")
        await line.send_json({"id": 1, "do": "analyse", "moves": []})
        await asyncio.to_thread(slow.begun.wait, 30)
        await page.server.close()
        assert (await line.receive(timeout=30)).type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED)

    ask(test, thinker_of(slow))
    assert slow.stopped


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("[]", "expected a JSON object, got list"),
        ("nonsense", "expected a JSON object"),
        ('{"do": "dance"}', "expected choose, analyse, review or stop, got 'dance'"),
        ('{"do": "choose", "opponent": "nobody"}', "expected one of first, slow, got 'nobody'"),
        ('{"do": "analyse", "moves": ["a1"]}', "expected one of"),
        ('{"do": "analyse", "start": "OOOOOOOOXXXXXXXX X"}', "the game is over"),
        ('{"do": "review", "plies": [1]}', "expected plies of unfinished positions, got [1]"),
        ('{"do": "review", "plies": [false]}', "expected plies of unfinished positions, got [False]"),
        ('{"do": "review", "plies": {"0": 0}}', "expected plies of unfinished positions, got {'0': 0}"),
    ],
)
def test_a_wrong_request_is_answered_in_words_and_the_next_one_works(request_: str, message: str) -> None:
    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await line.send_str(request_)
            answer = await line.receive_json(timeout=30)
            assert message in answer["error"]
            assert answer["final"]
            assert len(await answers_of(line, {"id": 1, "do": "choose", "opponent": "first", "moves": []})) == 2

    ask(test)


def test_without_a_model_there_is_no_analysis() -> None:
    async def test(page: Page) -> None:
        assert not (await (await page.get("/api/info")).json())["analysis"]
        async with page.ws_connect("/api/think") as line:
            (answer,) = await answers_of(line, {"id": 1, "do": "analyse", "moves": []})
            assert "expected a model for an analysis" in answer["error"]

    ask(test, thinker_of(None))


def test_a_failure_is_logged_and_the_page_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Fails(FirstMove):
        def analyse(self, *_: Any) -> Any:
            raise RuntimeError("a bug")

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            (answer,) = await answers_of(line, {"id": 1, "do": "analyse", "moves": []})
            assert "the server's log says why" in answer["error"]

    ask(test, thinker_of(Fails(GAME)))
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


PLAYER_THAT_CANNOT_BE_STOPPED = """
import asyncio, time
from reversi.frontends.analysis import Limit
from reversi.frontends.web.server import WebServer, serve
from reversi.frontends.web.thinking import Opponent, Thinker
from tests.reversi.frontends.stubs import FirstMove
from reversi.games.rules import GAMES

class Slow(FirstMove):
    def analyse(self, position, limit, stop, /):
        print("thinking", flush=True)
        time.sleep(60)

game = GAMES["reversi4"]
thinker = Thinker(game, [Opponent("slow", "slow", Slow(game), Limit())], "slow", None)
server = WebServer(thinker, "127.0.0.1", "slow")
asyncio.run(serve(server, thinker, "127.0.0.1", 0, lambda url: print(url, flush=True)))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_while_a_player_thinks(number: signal.Signals) -> None:
    async def choose(url: str) -> None:
        async with ClientSession() as session, session.ws_connect(f"{url}api/think") as line:
            await line.send_json({"id": 1, "do": "choose", "opponent": "slow", "moves": []})
            assert await asyncio.to_thread(output.readline) == "thinking\n"
            process.send_signal(number)
            assert await asyncio.to_thread(process.wait, 20) == 0

    command = [sys.executable, "-c", PLAYER_THAT_CANNOT_BE_STOPPED]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            output = process.stdout
            asyncio.run(choose(output.readline().strip()))
            assert process.stderr.read() == ""
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_serves_until_a_signal(number: signal.Signals) -> None:
    thinker = thinker_of()
    found: list[bytes] = []

    def visit(url: str) -> None:
        with urllib.request.urlopen(url + "api/info", timeout=30) as answer:
            found.append(answer.read())
        signal.raise_signal(number)

    def ready(url: str) -> None:
        threading.Thread(target=visit, args=(url,)).start()

    asyncio.run(asyncio.wait_for(serve(WebServer(thinker, "127.0.0.1", "nobody"), thinker, "127.0.0.1", 0, ready), 60))
    assert b'"reversi4"' in found[0]


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", None), ("no.such.host.invalid", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_had_is_an_error_in_words(host: str, port: int | None) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        thinker = thinker_of()
        with pytest.raises(UsageError, match="expected an address to listen on, got"):
            asyncio.run(
                serve(
                    WebServer(thinker, host, "nobody"),
                    thinker,
                    host,
                    taken.getsockname()[1] if port is None else port,
                    lambda url: None,
                )
            )
