"""A bad network between a run and its Redis: a relay freezes, cuts connections, or delays data as packet loss does.

    run --127.0.0.1:PORT--> relay --socket--> the drill's own Redis server

TCP resends a lost packet until it arrives: on a connection, loss causes delays (0.2 s, doubling), never a gap.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from learner.replay.redis.embedded import EmbeddedServer
from tests.faults.drill.acknowledged import AcknowledgedLog
from tests.faults.drill.losses import MEMORY_MB, stop_and_compare
from tests.faults.drill.outcome import Outcome
from tests.faults.drill.run import DrillRun, drill_run

T = TypeVar("T")

FREEZE_S = 30.0
"""Seconds without any relaying, while all connections stay open."""

CUTS, CUT_EVERY_S = 5, (0.5, 3.0)
"""Number of cuts of all connections in one drill, and the range of the random seconds between two cuts."""

LOSS, LOSS_S, SLOW_S = 0.05, (0.2, 0.4, 0.8), 30.0
"""Share of pieces lost, their possible delays in seconds, and the seconds that the loss lasts."""

PIECE_BYTES = 1 << 16

DEAF_S = 15.0
"""A driver without a new row of metrics for this many seconds is blocked by the network; rows come every five."""


class Relay:
    """Passes bytes between its port and a unix socket, in a thread of its own, until `close`."""

    def __init__(self, target: str) -> None:
        """`target` is the socket's path."""
        self._target, self._chance = target, random.Random(1)
        self._writers: set[asyncio.StreamWriter] = set()
        self._loss = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._thread.start()
        self._passable = asyncio.Event()
        self._passable.set()
        self._server = self._done(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def freeze(self) -> None:
        """Stop relaying; connections stay open, new ones are accepted but not answered."""
        self._loop.call_soon_threadsafe(self._passable.clear)

    def thaw(self) -> None:
        """Relay again, beginning with what was held back."""
        self._loop.call_soon_threadsafe(self._passable.set)

    def cut(self) -> None:
        """Reset every connection, with whatever is in transit on it."""
        self._loop.call_soon_threadsafe(self._abort)

    def lose(self, share: float) -> None:
        """Delay this share of all pieces, like lost packets that are sent again; 0 for none."""
        self._loss = share

    def close(self) -> None:
        """End the relay with every connection."""
        self._done(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _done(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _end(self) -> None:
        self._server.close()
        self._abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._passable.wait()
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_unix_connection(self._target)
            self._writers |= {writer, back}
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one direction, in order, until either end breaks."""
        with contextlib.suppress(OSError):
            while data := await reader.read(PIECE_BYTES):
                await self._passable.wait()
                if self._chance.random() < self._loss:
                    await asyncio.sleep(self._chance.choice(LOSS_S))
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()

    def _abort(self) -> None:
        reset = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s: the other end sees a reset, not a normal end
        for writer in self._writers:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            writer.transport.abort()
        self._writers.clear()


@contextmanager
def _run_over_relay(
    folder: Path, overrides: Sequence[str]
) -> Iterator[tuple[DrillRun, AcknowledgedLog, Relay, EmbeddedServer]]:
    """Yield a run that reaches its Redis through a relay, and the log of acknowledged deliveries, which bypasses it."""
    with contextlib.ExitStack() as ends:
        server = ends.enter_context(
            contextlib.closing(EmbeddedServer(folder / "redis", memory_mb=MEMORY_MB, append_only=True))
        )
        relay = ends.enter_context(contextlib.closing(Relay(server.server.url.removeprefix("unix://"))))
        there = ["replay=redis", f"replay.url=redis://127.0.0.1:{relay.port}/0"]
        run, acknowledged = ends.enter_context(drill_run(folder, [*overrides, *there], server=server.server))
        assert acknowledged is not None
        yield run, acknowledged, relay, server


def _disturbed(
    drill: str,
    folder: Path,
    overrides: Sequence[str],
    times: int,
    disturb: Callable[[Relay, random.Random], None],
    seen: str,
) -> Outcome:
    """Disturb the network, then wait for the next delivery; the driver must not be blocked at any time."""
    chance = random.Random(1)
    went_on_s, deaf = [], False
    with _run_over_relay(folder, overrides) as (run, acknowledged, relay, server):
        for _ in range(times):
            time.sleep(chance.uniform(2, 5))
            disturb(relay, chance)
            deaf |= run.metrics_age_s() > DEAF_S
            over_ms = int(1000 * time.time())
            went_on_s.append(run.wait_for(lambda: acknowledged.newest_ms > over_ms, "a delivery after it"))  # noqa: B023
        stopped = stop_and_compare(run, acknowledged, server=server.server)
    kept = stopped.whole and not deaf
    return stopped.outcome(drill, asked=times, went_on_s=went_on_s, kept=kept, seen=seen)


def frozen_network(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Freeze every connection to Redis for 30 s."""

    def freeze(relay: Relay, chance: random.Random) -> None:
        relay.freeze()
        time.sleep(FREEZE_S)
        relay.thaw()

    seen = "games/s falls to 0 and comes back; everything else goes on"
    return _disturbed("frozen-network", folder, overrides, kills, freeze, seen)


def cut_network(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Cut every connection to Redis, several times at random moments."""

    def cut(relay: Relay, chance: random.Random) -> None:
        for _ in range(CUTS):
            time.sleep(chance.uniform(*CUT_EVERY_S))
            relay.cut()

    return _disturbed("cut-network", folder, overrides, kills, cut, "nothing; connections are made anew")


def slow_network(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Lose one packet in twenty for half a minute; TCP turns the loss into delay."""

    def lose(relay: Relay, chance: random.Random) -> None:
        relay.lose(LOSS)
        time.sleep(SLOW_S)
        relay.lose(0.0)

    return _disturbed("slow-network", folder, overrides, kills, lose, "fewer games/s meanwhile")
