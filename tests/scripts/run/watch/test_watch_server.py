"""The server of a page answers about its runs and refuses everything else in a line."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from reversi.analysis.analyzer import Limit, PlayerAnalyzer
from reversi.errors import NoGatedModelError
from reversi.formats.ggf import GgfGame, GgfMove
from reversi.frontends.web.selection import Opponent, Selection
from reversi.frontends.web.server import WebServer
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.model.registry import Registry
from reversi.players import make_player
from reversi.record import encode
from scripts.bench.setup import random_weights
from scripts.run.kept_games import KeptGames
from scripts.run.watch import STATIC
from scripts.run.watch.report import report_of, write_report
from scripts.run.watch.server import WatchServer
from scripts.run.watch.view import RunView
from tests.random_games import random_records
from tests.scripts.conftest import TINY
from tests.scripts.run.watch.watched_runs import VERDICTS, run_with

Client = TestClient[Any, Any]


def ask(
    views: dict[str, RunView],
    test: Callable[[Client], Awaitable[None]],
    token: str | None = None,
    open_board: Callable[[str], WebServer] | None = None,
) -> None:
    """Run `test` with a client of a server."""

    async def run() -> None:
        async with TestClient(TestServer(WatchServer(views, "127.0.0.1", token, open_board).application())) as client:
            await test(client)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_page_its_files_and_its_runs_are_there(tmp_path: Path) -> None:
    views = {name: run_with(tmp_path / name, VERDICTS) for name in ("a", "b")}

    async def test(client: Client) -> None:
        page = await (await client.get("/")).text()
        for name in re.findall('(?:href|src)="(static/[^"]+)"', page):
            answer = await client.get(f"/{name}")
            assert (answer.status, bool(await answer.read())) == (200, True), name
        assert "http" not in page
        assert await (await client.get("/api/runs")).json() == ["a", "b"]
        assert (await (await client.get("/api/run")).json())["run"] == "a"
        shown = await client.get("/api/run?run=b")
        assert shown.headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert (await shown.json())["run"] == "b"
        assert "name: reversi6" in await (await client.get("/api/config?run=b")).text()
        assert [each["run"] for each in (await (await client.get("/api/compare?axis=games")).json())["runs"]] == [
            "a",
            "b",
        ]
        assert 'reversi_run_games{run="b"} 600.0' in await (await client.get("/metrics")).text()
        for path in (
            "/api/run?run=../a",
            "/api/run?run=c",
            "/api/compare?axis=x",
            "/static/../view.py",
            "/static/%2e%2e/view.py",
            "/c",
        ):
            assert (await client.get(path)).status in (403, 404)
        assert (await client.get("/api/run", headers={"Host": "evil.example"})).status == 403
        assert (await client.get("/api/run", headers={"Origin": "http://evil.example"})).status == 403

    ask(views, test)


def test_a_folder_deleted_under_the_page_is_a_line(tmp_path: Path) -> None:
    views = {"a": run_with(tmp_path / "a", [])}
    shutil.rmtree(tmp_path / "a")

    async def test(client: Client) -> None:
        answer = await client.get("/api/run")
        assert (answer.status, (await answer.text()).count("\n")) == (404, 1)
        assert "folder is gone" in await answer.text()
        assert "cannot be read" in await (await client.get("/api/config")).text()

    ask(views, test)


def test_with_a_token_nobody_gets_in_without_it_and_a_browser_keeps_it(tmp_path: Path) -> None:
    views = {"a": run_with(tmp_path / "a", [])}

    async def test(client: Client) -> None:
        for path in ("/", "/api/run", "/static/page.js", "/?token=wrong", "/?token=%ff", "/?token="):
            answer = await client.get(path)
            assert (answer.status, "expected the token" in await answer.text()) == (403, True)
        for bearer, status in (("s3cret", 200), ("wrong", 403), ("", 403)):
            answer = await client.get("/metrics", headers={"Authorization": f"Bearer {bearer}"})
            assert answer.status == status
        answer = await client.get("/?run=a&token=s3cret", allow_redirects=False)
        assert (answer.status, answer.headers["Location"]) == (303, "/?run=a")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        jar = {"Cookie": cookie.partition(";")[0]}
        assert (await client.get("/api/run", headers=jar)).status == 200

    ask(views, test, token="s3cret")


def test_a_report_brings_all_that_it_needs(tmp_path: Path) -> None:
    view = run_with(tmp_path / "<!--<script><b>", VERDICTS)
    page = report_of(view)
    brought = re.search(r'<script type="application/json" id="brought">(.*?)</script>', page, re.DOTALL)
    assert brought
    shown = json.loads(brought[1])
    assert shown["run"] == "<!--<script><b>"
    assert len(shown["gate"]) == 3
    assert "name: reversi6" in shown["config"]
    assert not re.search('(?:src|href)="', page)
    assert "<b>" not in page
    assert len(page) - len(brought[1]) < 150_000
    for name in ("page.js", "style.css", "uPlot.iife.min.js", "uPlot.min.css"):
        assert (STATIC / name).read_text() in page


def test_a_report_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    run_with(tmp_path / "run", VERDICTS)
    assert write_report(tmp_path / "run") == tmp_path / "run" / "report.html"
    target = write_report(tmp_path / "run", tmp_path / "b.html")
    assert target.read_text().startswith("<!doctype html>")


def test_the_champion_of_each_run_can_be_followed(tmp_path: Path) -> None:
    views = {name: run_with(tmp_path / name, []) for name in ("a", "b")}
    registry = Registry(tmp_path / "b" / "registry", create=True)
    won = {"wins": 230, "draws": 10, "losses": 160, "opponent_version": 0}
    info = registry.publish(dataclasses.replace(random_weights(TINY), version=3), "promoted", won)

    async def test(client: Client) -> None:
        assert (await client.get("/api/champion?run=a")).status == 404
        assert (await client.get("/api/champion?run=c")).status == 404
        about = await (await client.get("/api/champion?run=b")).json()
        assert (about["version"], about["file"]) == (3, "/api/models/3/model.safetensors?run=b")
        data = await (await client.get(about["file"])).read()
        assert hashlib.sha256(data).hexdigest() == info.sha256
        shutil.rmtree(tmp_path / "a")
        assert (await client.get("/api/champion?run=a")).status == 404

    ask(views, test)


def test_a_champion_is_behind_the_token(tmp_path: Path) -> None:
    async def test(client: Client) -> None:
        assert (await client.get("/api/champion")).status == 403
        assert (await client.get("/api/champion", headers={"Authorization": "Bearer s3cret"})).status == 404

    ask({"a": run_with(tmp_path / "a", [])}, test, "s3cret")


def test_games_that_a_run_kept_have_addresses_on_a_board(tmp_path: Path) -> None:
    views = {name: run_with(tmp_path / name, []) for name in ("a", "b")}
    kept = KeptGames(tmp_path / "b", 100)
    kept.add(encode(random_records("reversi6", 3, 1), "actor-0-0", 0))
    kept.flush()
    line = GgfGame(Position.start("reversi6").play("c2"), (GgfMove(7),), {"PB": "v2", "PW": "<b>v0</b>"})
    kept.match(2, f"{line}\n")

    async def test(client: Client) -> None:
        assert (await (await client.get("/api/games")).json())["files"] == []
        files = (await (await client.get("/api/games?run=b")).json())["files"]
        assert [each["text"] for each in files] == ["self-play 1", "match of v2"]
        first, second = [
            (await (await client.get(f"/api/games?run=b&file={each['file']}")).json())["games"] for each in files
        ]
        assert len(first) == 3
        assert re.fullmatch("#([a-f][1-6]|pass)+", first[0]["address"])
        assert sum(first[0]["discs"]) <= 36
        assert second[0]["address"].startswith("#start=")
        assert second[0]["address"].endswith("&moves=b2")
        for name in ("../../config.yaml", "gate-000009.ggf", "run.id"):
            assert (await client.get(f"/api/games?run=b&file={name}")).status == 404

    ask(views, test)


def test_a_board_is_opened_for_the_run_that_is_asked_for(tmp_path: Path) -> None:
    views = {name: run_with(tmp_path / name, []) for name in ("a", "b")}
    opened: list[str] = []

    def board(registry: str) -> WebServer:
        opened.append(registry)
        if registry.endswith("a/registry"):
            raise NoGatedModelError("no model has been published yet")
        player = PlayerAnalyzer(GAMES["reversi6"], make_player("random", "reversi6", seed=1))
        random = Opponent("random", "Random moves", player, Limit())
        return WebServer(Selection([random], "random", "random"), "127.0.0.1")

    async def test(client: Client) -> None:
        assert (await client.get("/play/0/")).status == 404
        assert "no model has been published yet" in await (await client.get("/play/0/api/info")).text()
        page = await (await client.get("/play/1/")).text()
        for name in re.findall('(?:href|src)="(static/[^"]+)"', page):
            assert (await client.get(f"/play/1/{name}")).status == 200, name
        assert (await (await client.get("/play/1/api/info")).json())["game"] == "reversi6"
        read = await client.post("/play/1/api/game", json={"text": "c2b2"})
        assert len((await read.json())["positions"]) == 3
        async with client.ws_connect("/play/1/api/think?info") as socket:
            assert (await socket.receive_json())["info"]["size"] == 6
        for path in ("/play/2/", "/play/1/api/run", "/play/1/static/../server.py", "/play/1/static/%2e%2e/server.py"):
            assert (await client.get(path)).status in (403, 404), path
        assert (await client.get("/play/1/", headers={"Host": "evil.example"})).status == 403

    ask(views, test, open_board=board)
    assert [each[-10:] for each in opened] == ["a/registry", "a/registry", "b/registry"]
