"""Borders of other programs: what front ends are told, what started engines answer, what stands on a Redis server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from reversi.games.rules import GAMES
from tests.configs import replay_config
from tests.fuzz.border import Border, Opened, decoded, lines_of

REVERSI8 = GAMES["reversi8"]


def _gtp(folder: Path) -> Opened:
    """A whole session; an engine answers every line and raises nothing."""
    from reversi.frontends.gtp import Gtp

    sound = lines_of(
        "boardsize 6\nclear_board\nplay black c2\n1 genmove white\nshowboard\nundo\nquit\n",
        "time_settings 300 10 1\ntime_left black 9 0\ngenmove b\nreg_genmove w\nfinal_score\nloadsgf nothing.sgf 3\n",
        "list_commands\nknown_command play\nkomi 0.5\nset_game Othello\ngogui-rules_board\ngogui-rules_legal_moves\n",
    )
    return sound, partial(_talked, Gtp)


def _nboard(folder: Path) -> Opened:
    from reversi.frontends.nboard import NBoard

    start = "-" * 14 + "O*----*O" + "-" * 14
    sound = lines_of(
        f"nboard 2\nset depth 6\nset game (;GM[Othello]TY[6]BO[6 {start} *];)\nmove C2/1.0/0.1\nhint 3\ngo\nping 1\n",
        "set contempt 0\nanalyze\nlearn\nmove PA\nhint 99\nquit\n",
    )
    return sound, partial(_talked, NBoard)


def _talked(frontend: Callable[..., Any], data: bytes) -> object:
    """Hold one conversation with a front end on 4x4 and 6x6; its analyzer plays the first move."""
    from tests.reversi.frontends.stubs import lines_of, session_of

    said: list[str] = []
    frontend(session_of("reversi6"), lines_of(data), said.append).serve()
    return said


def _page(folder: Path) -> Opened:
    """What a page sends to `reversi serve`: a game as moves, as text or from a position."""
    from reversi.frontends.web.game import WebGame, parse_object

    sound = lines_of(
        '{"id": 1, "do": "choose", "opponent": "model:64", "start": null, "moves": ["f5", "d6", "c3"]}',
        '{"text": "f5d6c3"}',
        '{"text": "(;GM[2]FF[4]SZ[8];B[f5];W[d6])"}',
        f'{{"start": "{"-" * 27}OX------XO{"-" * 27} O", "moves": []}}',
    )
    return sound, lambda data: WebGame.from_json(parse_object(decoded(data)), REVERSI8).as_json()


def _engine(protocol: str, folder: Path) -> Opened:
    """What a started program writes: it costs that program the game, and nobody else anything."""
    from reversi.players.engines import gtp_client, nboard_client
    from reversi.players.engines.engine import EngineLimits
    from reversi.players.engines.player import EnginePlayer

    module: Any = {"gtp": gtp_client, "nboard": nboard_client}[protocol]
    client = {"gtp": gtp_client.GtpEngine, "nboard": nboard_client.NBoardEngine}[protocol]
    limits = EngineLimits(start_s=0.2, move_s=0.2)
    sound = {
        "gtp": lines_of("= \n\n= \n\n= d3\n\n", "=\n\n=\n\n= resign\n\n"),
        "nboard": lines_of("set myname x\npong 1\npong 2\nstatus x\n=== D3/1.5/0.1\n", "pong 1\npong 2\n=== PA\n"),
    }[protocol]

    def read(data: bytes) -> object:
        with mock.patch.object(module, "EngineProcess", partial(_recorded_program(), data[:32_768])):
            player = EnginePlayer("x", REVERSI8, lambda: client(["x"], REVERSI8, limits), 1)
            try:
                return player.choose_after([[]])
            finally:
                player.close()

    return sound, read


def _recorded_program() -> Any:
    """Return an `EngineProcess` that reads what was recorded through a real pipe, and starts nothing."""
    from collections import deque
    from selectors import EVENT_READ, DefaultSelector

    from reversi.errors import EngineError
    from reversi.players.engines.process import EngineProcess

    class Recorded(EngineProcess):
        def __init__(self, written: bytes, command: Sequence[str]) -> None:
            self._stdout, end = os.pipe()
            os.write(end, written)
            os.close(end)
            self._stderr = -1
            self._selector = DefaultSelector()
            self._selector.register(self._stdout, EVENT_READ)
            self._lines: deque[str] = deque()
            self._rest = self._complaint = b""

        def send(self, line: str) -> None:
            line.encode()

        def stop(self) -> None:
            self._selector.close()
            with contextlib.suppress(OSError):
                os.close(self._stdout)

        def _last_words(self) -> str:
            raise EngineError("it ended")

    return Recorded


def _redis_word(folder: Path) -> Opened:
    """What anybody may have written to the keys by which the learner speaks to producers and to a replay after it."""
    from learner.replay.redis.stream import FlowControl, count_in

    seeds = [FlowControl(7, True).to_bytes(), FlowControl(0, False).to_bytes()]
    return seeds, lambda data: (FlowControl.from_bytes(data), count_in(data))


def _redis_receipt(folder: Path) -> Opened:
    """What anybody may have written to the stream by which a replay tells the next one what it has taken."""
    from learner.replay.deliveries import Receipt
    from learner.replay.memory import MemoryReplay
    from learner.replay.redis.stream import receipt_in
    from learner.replay.samples import POSITIONS

    config = replay_config(capacity_positions=2_000, min_positions=10, window_start=100, bucket_capacity=1_000)
    replay = MemoryReplay(REVERSI8, config, POSITIONS, 1)

    def take(data: bytes) -> None:
        values = data.split(b"\n")
        receipt = receipt_in(dict(zip((name.encode() for name in Receipt._fields), values, strict=False)))
        if receipt is not None:
            replay.count_evicted(receipt)
            replay.report()

    seed = Receipt("actor-0-1", 7, 32, 900, 0)
    return [b"\n".join(str(value).encode() for value in seed)], take


BORDERS: tuple[Border, ...] = (
    Border(
        "GTP",
        "text",
        _gtp,
        (),
        weight=0.2,
        words=(b"play b ", b"genmove w\n", b"undo\n", b"#", b"\t", b"1e308", b"99999"),
    ),
    Border(
        "NBoard",
        "text",
        _nboard,
        (),
        weight=0.2,
        words=(b"move F5\n", b"set depth ", b"go\n", b"ping 1\n", b"hint 9\n"),
    ),
    Border(
        "requests of a page", "text", _page, words=(b'"moves": [', b'"start": ', b'"pass"', b"null", b"1e999", b"[[[[")
    ),
    Border("a GTP engine's answers", "text", partial(_engine, "gtp"), words=(b"= ", b"? ", b"=1 pass", b"\n\n", b"\r")),
    Border("an NBoard engine's answers", "text", partial(_engine, "nboard"), words=(b"=== ", b"pong 1\n", b"/nan/")),
    Border("Redis words", "bytes", _redis_word, refusals=()),
    Border("Redis receipts", "bytes", _redis_receipt, refusals=()),
)
