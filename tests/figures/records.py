"""The records of a thousand actors into one Redis, and the delay to the learner.

The server with its append-only file, a connection for each producer, the actors' `RedisSink`, the records' bytes and
the `RedisReplay` that reads the stream, checks every move and stores are real.  The actors are simulated: they share a
few processes of this machine and repeatedly deliver the same games, at the measured rate of an actor, evenly spread.
There is no network between them and the server.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from statistics import median
from typing import TYPE_CHECKING, Any

from scripts.bench.measure import Row, row
from scripts.bench.process_group import LEAD_S, ProcessGroup, Work
from scripts.bench.setup import Settings, records_of, redis_replay
from tests.figures.weights import p99

if TYPE_CHECKING:
    from learner.replay.redis.replay import RedisReplay
    from learner.replay.redis.sink import RedisSink
    from reversi.record import Records

POSITIONS_PER_S = 560
"""Output of an actor on 8x8 with 4 blocks x 64 and 32 simulations on a CPU without AMX: docs/performance.md."""

ROUND_S = 2.0
"""Seconds between two deliveries of a producer: a round of self-play."""

TURN_S = 10.0
"""Length of a measurement."""

PROCESSES, THREADS = 2, 16
"""Processes that the producers share, and threads in each; a thread serves one producer at a time."""

PROBE_S = 0.1
"""Pause in seconds between two deliveries timed until they are in the ring."""

MEMORY_MB = 1024
"""Memory of the measured server."""


@dataclass(frozen=True)
class Turn:
    """The results of one measurement."""

    pushed: dict[str, float]
    """The producers' rates per second."""
    per_s: dict[str, float]
    """Rates per second: positions taken by the ring, CPU seconds of the server and of the learner's side (reading,
    checking, storing), bytes received by the server."""
    lag_s: list[float]
    """Seconds from the push of a delivery until it is in the ring."""


def bench_records(settings: Settings, actors: int) -> Iterator[Row]:
    """Deliveries of many producers, each at an actor's rate, through one server into the ring."""
    numbers = range(actors)
    shares = [numbers[first::PROCESSES] for first in range(PROCESSES)]
    with redis_replay(settings, MEMORY_MB) as (server, replay):
        client = server.client()
        producers = [functools.partial(_producers, replay.sink(), share, settings) for share in shares]
        with contextlib.closing(ProcessGroup(producers)) as group:
            turns = [_turn(group, replay, client, _games(settings, 1)) for _ in range(settings.repeats)]
        memory_mb = client.info("memory")["used_memory"] / 1e6
    note = (
        f"{actors} simulated actors in {PROCESSES} processes, {settings.game.name}, {POSITIONS_PER_S} "
        f"positions/s each, a delivery every {ROUND_S:g} s, append-only file"
    )
    yield from _rows(turns, memory_mb, note)


def _producers(sink: RedisSink, numbers: Sequence[int], settings: Settings) -> Work:
    """Return the work of some producers: a round in which each pushes once, at its own time."""
    from reversi.record import encode

    records = _games(settings, round(POSITIONS_PER_S * ROUND_S / settings.game.squares))
    sinks = [copy.copy(sink) for _ in numbers]
    sequences, names = count(), [f"bench-{number}-{os.getpid()}" for number in numbers]

    def push(index: int, due_s: float, sequence: int) -> int:
        data = encode(records, names[index], sequence)
        time.sleep(max(0.0, due_s - time.monotonic()))
        began_s = time.monotonic()
        sinks[index].push(data)
        return int(1e6 * (time.monotonic() - began_s))

    def work() -> dict[str, int]:
        start_s, sequence = time.monotonic(), next(sequences)
        due_s = [start_s + ROUND_S * index / len(sinks) for index in range(len(sinks))]
        with ThreadPoolExecutor(THREADS) as pool:
            waits = list(pool.map(push, range(len(sinks)), due_s, [sequence] * len(sinks)))
        time.sleep(max(0.0, start_s + ROUND_S - time.monotonic()))
        return {"positions": len(sinks) * records.positions, "deliveries": len(sinks), "push_us": sum(waits)}

    return work


def _games(settings: Settings, count: int) -> Records:
    """Return `count` games, at least one; a game has about as many positions as the board has squares."""
    import numpy as np

    records = records_of(settings)
    return records.select(np.arange(len(records)) < max(1, count))


def _turn(group: ProcessGroup, replay: RedisReplay, client: Any, probe: Records) -> Turn:
    """Let the producers push for a turn; in the meantime deliver `probe` repeatedly and time its storage."""
    from reversi.record import encode

    lag_s: list[float] = []
    with ThreadPoolExecutor(1) as pool:
        pushing = pool.submit(group.rates, TURN_S)
        time.sleep(2 * LEAD_S)
        before, start_s = _state(replay, client), time.monotonic()
        for sequence in count():
            if (now_s := time.monotonic()) >= start_s + TURN_S - 3 * LEAD_S:
                break
            replay.add(encode(probe, f"probe-{start_s}", sequence))
            lag_s.append(time.monotonic() - now_s)
            time.sleep(PROBE_S)
        after, elapsed_s = _state(replay, client), time.monotonic() - start_s
        rates = pushing.result()
    per_s = {name: (after[name] - before[name]) / elapsed_s for name in after}
    return Turn({name: sum(each[name] for each in rates) for name in rates[0]}, per_s, lag_s)


def _state(replay: RedisReplay, client: Any) -> dict[str, float]:
    """Return the totals taken, spent and received so far; in this process, without the work of the probes."""
    server = client.info("cpu")
    return {
        "taken": replay.report().positions_total,
        "server_cpu_s": server["used_cpu_user"] + server["used_cpu_sys"],
        "learner_cpu_s": time.process_time() - time.thread_time(),
        "bytes": client.info("stats")["total_net_input_bytes"],
    }


def _rows(turns: Sequence[Turn], memory_mb: float, note: str) -> Iterator[Row]:
    def of_each(name: str, unit: str, values: Sequence[float]) -> Row:
        return row(name, list(values), unit, note)

    yield of_each("redis_pushed_positions_per_s", "positions/s", [turn.pushed["positions"] for turn in turns])
    yield of_each("redis_taken_positions_per_s", "positions/s", [turn.per_s["taken"] for turn in turns])
    pushes = [turn.pushed["push_us"] / turn.pushed["deliveries"] / 1000 for turn in turns]
    yield of_each("redis_push_ms", "ms", pushes)
    yield of_each("redis_lag_ms", "ms", [1000 * median(turn.lag_s) for turn in turns])
    yield of_each("redis_lag_p99_ms", "ms", [1000 * p99(turn.lag_s) for turn in turns])
    yield of_each("redis_received_mb_per_s", "MB/s", [turn.per_s["bytes"] / 1e6 for turn in turns])
    yield of_each("redis_server_cores", "cores", [turn.per_s["server_cpu_s"] for turn in turns])
    yield of_each("redis_learner_cores", "cores", [turn.per_s["learner_cpu_s"] for turn in turns])
    yield of_each("redis_memory_mb", "MB", [memory_mb])
    for who in ("server", "learner"):
        carried = [turn.per_s["taken"] / turn.per_s[f"{who}_cpu_s"] / POSITIONS_PER_S for turn in turns]
        yield of_each(f"redis_actors_per_{who}_core", "actors", carried)
