"""Many games at once against one `reversi serve`: the seconds from a move to the opponent's reply.

Every game has its own WebSocket, as every page has.  A person who does not think plays at once, so that all games want
a reply all the time.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aiohttp import ClientSession

from reversi.games.position import Position
from reversi.games.rules import Game
from reversi.model.registry import Registry
from scripts.bench.measure import Row, row
from scripts.bench.setup import Settings, random_weights

MOVES = 8
"""Replies that each game asks for, from a position after some random plies on."""


def bench_pages(settings: Settings, games: int) -> Iterator[Row]:
    """Yield the seconds a move of one game alone and of `games` at once, with the shipped model's default strength and
    with 4,000 simulations of a network."""
    with tempfile.TemporaryDirectory() as place:
        registry = Registry(place, create=True)
        registry.publish(random_weights(settings), "promoted", None)
        served = {
            "shipped model, 0.4 s": (["--model", "shipped", "--size", str(settings.size)], "page"),
            f"{settings.network}, 4,000 simulations": (["--registry", place], "page_network"),
        }
        for what, (arguments, name) in served.items():
            with serving(arguments) as url:
                for count in (1, games):
                    seconds, shortened = asyncio.run(replies(url, settings.game, count))
                    late = sum(each > 1 for each in seconds)
                    note = f"{len(seconds)} moves, {late} over a second, {shortened} shortened"
                    about = f"{what}, {settings.game.name}, {count} at once: {note}"
                    yield row(f"{name}_{count}_games_s", seconds, "s a move", about)


@contextmanager
def serving(arguments: Sequence[str]) -> Iterator[str]:
    """Run `reversi serve` and yield its address."""
    command = [sys.executable, "-m", "scripts.cli", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+/", process.stdout.readline())
        assert found, "expected the address of the page"
        yield found[0]
        process.send_signal(signal.SIGTERM)


async def replies(url: str, game: Game, count: int) -> tuple[list[float], int]:
    """Return the seconds of every reply in so many games at once, and how many were shortened."""
    async with ClientSession() as session:
        played = await asyncio.gather(*(_play(session, url, game, seed) for seed in range(count)))
    return [each for seconds, _ in played for each in seconds], sum(shortened for _, shortened in played)


async def _play(session: ClientSession, url: str, game: Game, seed: int) -> tuple[list[float], int]:
    draws, position, moves = random.Random(seed), Position.start(game), list[str]()
    seconds, shortened = list[float](), 0
    async with session.ws_connect(f"{url}api/think") as socket:
        while len(seconds) < MOVES and not position.is_over:
            mine = len(moves) < 2 * seed % 30 or len(moves) % 2 == 0  # the games are at different stages
            if mine or position.legal_moves() == ["pass"]:
                move = draws.choice(position.legal_moves())
            else:
                begin_s = time.monotonic()
                await socket.send_json({"id": 1, "do": "choose", "opponent": "model", "moves": moves})
                answer = json.loads((await socket.receive(timeout=100)).data)
                assert "analysis" in answer, answer
                seconds.append(time.monotonic() - begin_s)
                shortened += answer["shortened"]
                move = answer["analysis"]["moves"][0]["move"]
                await socket.receive(timeout=100)  # the last answer, without an analysis
            moves.append(move)
            position = position.play(move)
    return seconds, shortened
