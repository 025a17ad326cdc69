"""A server that is told to end while a player thinks."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import ClientSession

ROOT = Path(__file__).parents[3]


PLAYER_THAT_CANNOT_BE_STOPPED = """
import asyncio, time
from reversi.analysis.analyzer import Limit
from reversi.frontends.web.server import WebServer
from reversi.frontends.web.site import serve
from reversi.frontends.web.selection import Opponent, Selection
from tests.reversi.frontends.stubs import FirstMove
from reversi.games.rules import GAMES


class Slow(FirstMove):
    def analyse(self, position, limit, stop, /):
        print("thinking", flush=True)
        time.sleep(60)

game = GAMES["reversi4"]
selection = Selection([Opponent("slow", "slow", Slow(game), Limit())], "slow", "slow")
asyncio.run(serve(WebServer(selection, "127.0.0.1").application(), "127.0.0.1", 0, lambda url: print(url, flush=True)))
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
