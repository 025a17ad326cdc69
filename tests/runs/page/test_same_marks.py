"""The review of the page and `reversi review` say the same of a game, every time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import ClientSession

from reversi.games.notation import PASS
from reversi.games.position import Position
from tests.runs.page.page import served
from tests.scripts.conftest import Reversi


def whole_game(size: int, seed: int) -> list[str]:
    """Return the moves of a game that prefers moves with few replies, passes included."""
    rng, position, moves = np.random.default_rng(seed), Position.start(f"reversi{size}"), list[str]()
    while not position.is_over:
        names = position.legal_moves()
        few = min(rng.permutation(names)[:3], key=lambda name: len(position.play(str(name)).legal_moves()))
        moves.append(str(few))
        position = position.play(moves[-1])
    return moves


async def page_reviews(url: str, size: int, moves: list[str]) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Return what the page is told of a game: at once, after evaluations of its positions and a review that was cut
    off, and while another page has its game reviewed."""

    async def review(session: ClientSession, game: list[str], least: int = -1) -> Any:
        judged: dict[int, dict[str, Any]] = {}
        async with session.ws_connect(f"{url}api/think?size={size}") as socket:
            await socket.send_json({"id": 1, "do": "review", "size": size, "moves": game})
            async for message in socket:
                answer = json.loads(message.data)
                assert answer.get("error") is None, answer
                if answer.get("move"):
                    judged[answer["ply"]] = answer["move"]
                if answer.get("ply") == least:
                    return None
                if "review" in answer:
                    return [judged[ply] for ply in sorted(judged)], answer["review"]
        raise AssertionError("no review")

    async def evaluate(session: ClientSession, game: list[str]) -> None:
        async with session.ws_connect(f"{url}api/think?size={size}") as socket:
            await socket.send_json({"id": 1, "do": "analyse", "size": size, "moves": game})
            async for message in socket:
                if (answer := json.loads(message.data)).get("final") or answer["analysis"]["nodes"] > 2000:
                    return

    async with ClientSession() as session:
        first = await review(session, moves)
        await review(session, whole_game(size, 99), least=size * size // 2)
        for ply in (3, len(moves) // 2):
            await evaluate(session, moves[:ply])
        second, _ = await asyncio.gather(review(session, moves), review(session, whole_game(size, 98)))
    return [first, second]


@pytest.mark.parametrize(("size", "model"), [(6, "shipped"), (8, "shipped"), (6, "network")])
def test_the_page_and_the_command_review_alike(size: int, model: str, registry: Path, reversi: Reversi) -> None:
    moves = whole_game(size, 5)
    chosen = ["--registry", registry] if model == "network" else ["--model", "shipped", "--size", size]
    written = reversi("review", "".join(move for move in moves if move != PASS), *chosen, "--json")
    assert written.code == 0, written.err
    told = json.loads(written.out)
    assert [each["move"] for each in told["moves"]] == moves
    assert any(each["mark"] for each in told["moves"])
    if model == "shipped":
        assert any(each["discs_error"] for each in told["moves"]), "before the solver reaches the end"
    with served(*chosen) as url:
        for judged, whole in asyncio.run(page_reviews(url, size, moves)):
            assert judged == told["moves"]
            assert whole["decided"] == told["decided"]
            assert whole["sums"] == {"X": told["black"], "O": told["white"]}
