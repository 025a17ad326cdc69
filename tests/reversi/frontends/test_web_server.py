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
from reversi.frontends.analysis import Analysis, Analyzer, Limit, SearchAnalyzer
from reversi.frontends.web import server as server_module
from reversi.frontends.web.following import Source
from reversi.frontends.web.selection import KEPT, Opponent, Selection
from reversi.frontends.web.server import MOST_BYTES, STATIC, WebServer, serve
from reversi.frontends.web.thinking import STEPS
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.signature import HashEvaluator
from tests.reversi.frontends.stubs import FirstMove, ThinksUntilStopped

ROOT = Path(__file__).parents[3]
GAME = GAMES["reversi4"]
OVER = {"start": "OOOOOOOOXXXXXXXX X", "moves": []}

Page = TestClient[Any, Any]


def selection_of(analyzer: Analyzer | None = None, opponent: Analyzer | None = None) -> Selection:
    opponents = [
        Opponent("first", "the first move", opponent or FirstMove(GAME), Limit(7)),
        Opponent("slow", "until it is stopped", ThinksUntilStopped(GAME), Limit()),
    ]
    return Selection(opponents, "first", "nobody", analyzer)


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

    ask(test, selection_of(opponent=opponent))


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

    analyzer = SearchAnalyzer("hash", GAME, HashEvaluator(GAME), 20)
    analyzer.warm_up()  # the first search may compile kernels, and a step that takes long is the last
    ask(test, selection_of(analyzer))


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

    ask(test, selection_of(slow))


class UntilReleased(FirstMove):
    """Thinks until it is stopped, or to the end once that is allowed."""

    def __init__(self) -> None:
        super().__init__(GAME)
        self.may_end, self.begun = threading.Event(), threading.Semaphore(0)

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        self.begun.release()
        while not stop() and not self.may_end.wait(0.001):
            pass
        return super().analyse(position, limit, stop)


@pytest.mark.parametrize("do", ["analyse", "review"])
def test_a_long_step_of_one_page_makes_way_for_another_page_and_is_not_lost(do: str) -> None:
    long = UntilReleased()
    game = {"start": "-XOXOOOO-XOOXOOO X", "moves": []}

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            await one.send_json({"id": 1, "do": do, **game})
            await asyncio.to_thread(long.begun.acquire)
            for number in range(2):  # the second time the step has begun anew
                answers = await answers_of(other, {"id": number, "do": "choose", "opponent": "first", "moves": []})
                assert answers[0]["analysis"]["moves"][0]["move"] == "b1"
                await asyncio.to_thread(long.begun.acquire)
            long.may_end.set()
            assert "analysis" in await one.receive_json(timeout=30)

    ask(test, selection_of(long))


def test_pages_that_all_want_long_analyses_all_get_them() -> None:
    game = GAMES["reversi6"]
    search = SearchAnalyzer("hash", game, HashEvaluator(game), 20)
    opponents = [Opponent("first", "the first move", FirstMove(game), Limit())]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            both = [answers_of(line, {"id": 1, "do": "analyse", "moves": []}) for line in (one, other)]
            for *found, last in await asyncio.gather(*both):
                visits = [sum(move["visits"] for move in each["analysis"]["moves"]) for each in found]
                assert visits == list(STEPS)
                assert last == {"id": 1, "final": True}

    ask(test, Selection(opponents, "first", "nobody", search))


def test_a_request_that_waits_for_its_turn_is_taken_back_by_the_next_one() -> None:
    opponent, slow = FirstMove(GAME), UntilReleased()
    opponents = [Opponent("first", "first", opponent, Limit(7)), Opponent("slow", "slow", slow, Limit(8))]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            await one.send_json({"id": 1, "do": "choose", "opponent": "slow", "moves": []})
            await asyncio.to_thread(slow.begun.acquire)
            for number in range(3):
                await other.send_json({"id": number, "do": "choose", "opponent": "first", "moves": []})
                await asyncio.sleep(0.1)  # the server has it in its queue
            asked = asyncio.create_task(answers_of(other, {"id": 9, "do": "choose", "opponent": "first", "moves": []}))
            await asyncio.sleep(0.1)
            slow.may_end.set()
            assert [each["id"] for each in await asked] == [9, 9]
            assert opponent.limits == [Limit(7)]

    ask(test, Selection(opponents, "first", "nobody"))


class Published:
    """A source of selections that a test publishes."""

    wait_s = 0.01

    def __init__(self) -> None:
        self.waiting: list[Selection] = []

    def newer(self) -> Selection | None:
        return self.waiting.pop(0) if self.waiting else None


def of_model(version: int) -> Selection:
    """Return an opponent with a model that plays the first or the last move by turns, and another without one."""
    label = f"model {version}"
    opponents = [
        Opponent("model", label, LastMove(GAME) if version % 2 else FirstMove(GAME), Limit(), version),
        Opponent("first", "the first move", FirstMove(GAME), Limit()),
    ]
    return Selection(opponents, "model", label, FirstMove(GAME))


class LastMove(FirstMove):
    def choose(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        return Analysis.of_move(position.legal_actions()[-1])


def test_new_games_get_the_newer_model_and_others_go_on_against_theirs() -> None:
    source = Published()

    async def played(line: ClientWebSocketResponse, **asked: object) -> tuple[str, int | None]:
        answer, _ = await answers_of(line, {"id": 1, "do": "choose", "moves": [], "opponent": "model", **asked})
        return answer["analysis"]["moves"][0]["move"], answer["opponent"]["model"]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think?info") as told, page.ws_connect("/api/think") as line:
            assert (await told.receive_json(timeout=30))["info"]["name"] == "model 0"
            for version in range(1, KEPT + 1):
                source.waiting.append(of_model(version))
                info = (await told.receive_json(timeout=30))["info"]
                assert info == await (await page.get("/api/info")).json()
                assert (info["name"], info["opponents"][0]["model"]) == (f"model {version}", version)
                assert await played(line) == ("c4" if version % 2 else "b1", version)
                assert await played(line, model=None) == await played(line)
                assert await played(line, opponent="first") == ("b1", None)
                if version < KEPT:
                    assert await played(line, model=0) == ("b1", 0)
            assert await played(line, model=0) == ("c4" if KEPT % 2 else "b1", KEPT)  # the oldest has gone
            (answer,) = await answers_of(
                line, {"id": 2, "do": "choose", "opponent": "model", "model": "1", "moves": []}
            )
            assert answer["error"] == "expected the version of a model or null, got '1'"

    ask(test, of_model(0), source=source)


def test_a_page_that_leaves_stops_its_request() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await line.send_json({"id": 1, "do": "analyse", "moves": []})
            await asyncio.to_thread(slow.begun.wait, 30)
        async with page.ws_connect("/api/think") as line:  # the thread is free again
            await answers_of(line, {"id": 2, "do": "choose", "opponent": "first", "moves": []})
        assert slow.stopped

    ask(test, selection_of(slow))


def test_a_server_that_ends_stops_what_runs() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        line = await page.ws_connect("/api/think")
        await line.send_json({"id": 1, "do": "analyse", "moves": []})
        await asyncio.to_thread(slow.begun.wait, 30)
        await page.server.close()
        assert (await line.receive(timeout=30)).type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED)

    ask(test, selection_of(slow))
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


PLAYER_THAT_CANNOT_BE_STOPPED = """
import asyncio, time
from reversi.frontends.analysis import Limit
from reversi.frontends.web.server import WebServer, serve
from reversi.frontends.web.selection import Opponent, Selection
from tests.reversi.frontends.stubs import FirstMove
from reversi.games.rules import GAMES

class Slow(FirstMove):
    def analyse(self, position, limit, stop, /):
        print("thinking", flush=True)
        time.sleep(60)

game = GAMES["reversi4"]
selection = Selection([Opponent("slow", "slow", Slow(game), Limit())], "slow", "slow")
asyncio.run(serve(WebServer(selection, "127.0.0.1"), "127.0.0.1", 0, lambda url: print(url, flush=True)))
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
    server = WebServer(selection_of(), "127.0.0.1")
    found: list[bytes] = []

    def visit(url: str) -> None:
        with urllib.request.urlopen(url + "api/info", timeout=30) as answer:
            found.append(answer.read())
        signal.raise_signal(number)

    def ready(url: str) -> None:
        threading.Thread(target=visit, args=(url,)).start()

    asyncio.run(asyncio.wait_for(serve(server, "127.0.0.1", 0, ready), 60))
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
                    server,
                    host,
                    taken.getsockname()[1] if port is None else port,
                    lambda url: None,
                )
            )
