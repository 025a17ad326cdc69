"""A champion over HTTP: what it is, a wait for the next one, its file, and what both answer when there is none."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from reversi.frontends.web import champion
from reversi.frontends.web.champion import ChampionRoutes
from reversi.model.registry import Registry
from tests.reversi.model.samples import MATCH, weights

Client = TestClient[Any, Any]


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(champion, "LOOK_S", 0.01)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    made = Registry(tmp_path / "registry", create=True)
    made.publish(weights("reversi4", 0), "first", None)
    return made


def promote(registry: Registry, version: int) -> str:
    return registry.publish(weights("reversi4", version, seed=version), "promoted", MATCH).sha256


def ask(registry: Registry | None, test: Callable[[Client], Awaitable[None]]) -> None:
    """Run `test` with a client of a server with the routes alone."""

    async def run() -> None:
        app = web.Application()
        ChampionRoutes(lambda request: registry).add_to(app)
        async with TestClient(TestServer(app)) as client:
            await test(client)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_champion_and_its_file_have_its_hash_as_their_tag(registry: Registry) -> None:
    sha256 = promote(registry, 3)

    async def test(client: Client) -> None:
        answer = await client.get("/api/champion?run=a b")
        about = await answer.json()
        assert (about["version"], about["sha256"], about["game"]) == (3, sha256, "reversi4")
        assert answer.headers["ETag"] == f'"{sha256}"'
        file = await client.get(about["file"])
        data = await file.read()
        assert (file.status, hashlib.sha256(data).hexdigest(), len(data)) == (200, sha256, about["size"])
        assert file.headers["ETag"] == f'"{sha256}"'
        assert file.headers["Content-Disposition"] == 'attachment; filename="reversi4-000003.safetensors"'
        for path in ("/api/champion", about["file"]):
            known = await client.get(path, headers={"If-None-Match": f'W/"other", "{sha256}"'})
            assert (known.status, await known.read(), known.headers["ETag"]) == (304, b"", f'"{sha256}"')
            assert (await client.get(path, headers={"If-None-Match": '"other"'})).status == 200
            assert (await client.head(path)).status == 200

    ask(registry, test)


def test_a_request_waits_for_the_next_champion_and_for_a_rollback(registry: Registry) -> None:
    first = promote(registry, 3)

    async def test(client: Client) -> None:
        tag = f'"{first}"'
        assert (await client.get("/api/champion?wait=1", headers={"If-None-Match": tag})).status == 304
        for change, version in ((lambda: promote(registry, 5), 5), (lambda: registry.roll_back(3, "why"), 3)):
            waiting = asyncio.ensure_future(client.get("/api/champion?wait=60", headers={"If-None-Match": tag}))
            await client.get("/api/champion")  # it waits by now, or will see the change at once
            assert not waiting.done()
            await asyncio.to_thread(change)
            answer = await waiting
            assert (answer.status, (await answer.json())["version"]) == (200, version)
            tag = answer.headers["ETag"]

    ask(registry, test)


def test_one_who_knows_none_gets_the_champion_at_once_and_waits_for_the_first(registry: Registry) -> None:
    async def test(client: Client) -> None:
        none = await client.get("/api/champion")
        assert (none.status, await none.text()) == (404, "no model has passed the gate yet\n")
        assert (await client.get("/api/champion?wait=1")).status == 404
        waiting = asyncio.ensure_future(client.get("/api/champion?wait=60"))
        await asyncio.to_thread(promote, registry, 3)
        assert (await (await waiting).json())["version"] == 3
        assert (await client.get("/api/champion?wait=60")).status == 200

    ask(registry, test)


def test_every_version_can_be_had_and_others_are_not_found(registry: Registry) -> None:
    promote(registry, 3)

    async def test(client: Client) -> None:
        assert (await client.get("/api/models/0/model.safetensors")).status == 200
        assert (await client.get("/api/models/000003/model.safetensors")).status == 200
        missing = await client.get("/api/models/7/model.safetensors")
        assert (missing.status, (await missing.text()).count("\n")) == (404, 1)
        for path in ("/api/models/x/model.safetensors", "/api/models/../gated.json", "/api/models/3/card.md"):
            assert (await client.get(path)).status == 404
        for wait in ("61", "-1", "1.5", "x", "9" * 50, "٣"):
            assert (await client.get("/api/champion", params={"wait": wait})).status == 400

    ask(registry, test)


def test_damage_is_said_in_a_line_and_nothing_of_the_file_is_sent(registry: Registry) -> None:
    promote(registry, 3)
    file = Path(registry.gated().path) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"?")

    async def test(client: Client) -> None:
        answer = await client.get("/api/models/3/model.safetensors")
        text = await answer.text()
        assert (answer.status, text.count("\n"), "expected SHA-256" in text) == (503, 1, True)
        shutil.rmtree(registry.url)
        assert (await client.get("/api/champion")).status == 404

    ask(registry, test)


def test_without_a_registry_there_is_nothing_to_follow() -> None:
    async def test(client: Client) -> None:
        answer = await client.get("/api/champion")
        assert (answer.status, await answer.text()) == (404, "this server has no registry of models\n")

    ask(None, test)


def test_only_so_many_requests_wait(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(champion, "MOST_WAITING", 0)

    async def test(client: Client) -> None:
        assert (await client.get("/api/champion?wait=9")).status == 503
        assert (await client.get("/api/champion")).status == 404

    ask(registry, test)


def test_looks_are_shared_and_a_server_that_ends_lets_go(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    sha256 = promote(registry, 3)
    monkeypatch.setattr(champion, "LOOK_S", 3600.0)
    looks = []
    look = registry.champion
    monkeypatch.setattr(registry, "champion", lambda: looks.append(1) or look())

    async def run() -> None:
        app = web.Application()
        ChampionRoutes(lambda request: registry).add_to(app)
        async with TestClient(TestServer(app)) as client:
            known = {"If-None-Match": f'"{sha256}"'}
            waiting = [asyncio.ensure_future(client.get("/api/champion?wait=60", headers=known)) for _ in range(9)]
            assert (await client.get("/api/champion")).status == 200
            await asyncio.gather(app.shutdown(), *waiting)
            assert [(await each).status for each in waiting] == [304] * 9

    asyncio.run(asyncio.wait_for(run(), 30))
    assert len(looks) == 1
