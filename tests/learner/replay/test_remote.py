"""The delivery van in an event loop, without Ray: who waits, for what, and that a stop releases everyone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from learner.replay import remote
from learner.replay.remote import AsyncReplay
from learner.replay.samples import POSITIONS
from reversi.record import encode
from tests.configs import replay_config
from tests.random_games import random_records

SOON_S = 30.0
"""Longest that an answer may take which waits for nothing, on a machine that has much else to do."""

CONFIG = replay_config(capacity_positions=5000, window_start=100, reuse=1.0, bucket_capacity=100, min_positions=40)


def batch(sequence: int) -> bytes:
    """Some 110 positions."""
    return encode(random_records("reversi4", 10, seed=sequence), "a", sequence)


def opened(saved: bytes | None = None) -> AsyncReplay:
    return AsyncReplay(game="reversi4", config=CONFIG, seed=0, rejected_dir=None, kind=POSITIONS, saved=lambda: saved)


async def begun(call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Start a call and let it run until it waits."""
    task = asyncio.create_task(call)
    await asyncio.sleep(0.02)
    return task


def test_an_actor_waits_for_the_learner_and_its_records_are_already_there() -> None:
    async def scene() -> None:
        replay = opened()
        added = await asyncio.wait_for(replay.add(batch(0)), SOON_S)
        assert (added.games, added.room) == (10, False)
        waiting = await begun(replay.room())
        assert not waiting.done()
        assert (await replay.report()).games_total == 10
        assert await replay.sample(1, 100) is not None
        await asyncio.wait_for(waiting, SOON_S)

    asyncio.run(scene())


def test_a_release_answers_who_waits_for_room_now_and_nobody_later() -> None:
    async def scene() -> None:
        replay = opened()
        await replay.add(batch(0))
        waiting = [await begun(replay.room()) for _ in range(3)]
        await replay.release()
        await asyncio.wait_for(asyncio.gather(*waiting), SOON_S)
        assert not (await begun(replay.room())).done()

    asyncio.run(scene())


def test_the_learner_waits_for_actors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "SAMPLE_WAIT_S", 2 * SOON_S)

    async def scene() -> None:
        replay = opened()
        sampling = await begun(replay.sample(2, 20))
        assert not sampling.done()
        await begun(replay.add(batch(0)))
        samples = await asyncio.wait_for(sampling, SOON_S)
        assert len(samples) == 40

    asyncio.run(scene())


def test_the_learner_hears_none_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert remote.SAMPLE_WAIT_S <= 1.0
    monkeypatch.setattr(remote, "SAMPLE_WAIT_S", 0.1)
    start = time.monotonic()
    assert asyncio.run(opened().sample(1, 8)) is None
    assert 0.1 <= time.monotonic() - start < SOON_S


def test_a_stop_answers_every_call_that_waits_and_later_ones_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "SAMPLE_WAIT_S", 2 * SOON_S)

    async def scene() -> None:
        replay = opened()
        assert [(await replay.add(batch(sequence))).games for sequence in range(3)] == [10, 10, 10]
        waiting = [await begun(replay.room()) for _ in range(3)]
        assert not any(call.done() for call in waiting)
        await replay.stop()
        await asyncio.wait_for(asyncio.gather(*waiting), SOON_S)
        await asyncio.wait_for(replay.room(), SOON_S)
        assert await asyncio.wait_for(replay.sample(1, 8), SOON_S) is None

    asyncio.run(scene())


def test_many_actors_and_a_learner_never_stall_and_never_overuse() -> None:
    async def scene() -> None:
        replay = opened()
        batches = iter(range(30))

        async def actor() -> None:
            for sequence in batches:
                await replay.add(batch(sequence))
                await replay.room()

        actors = asyncio.gather(*(actor() for _ in range(3)))
        drawn = 0
        while not actors.done():
            samples = await replay.sample(1, 50)
            drawn += 0 if samples is None else len(samples)
        report = await replay.report()
        assert report.games_total == 300
        assert report.samples_total == drawn <= report.positions_total
        assert report.tokens < 100

    asyncio.run(asyncio.wait_for(scene(), SOON_S))


def test_a_replay_begins_with_the_state_that_was_saved() -> None:
    async def scene() -> None:
        one = opened()
        await begun(one.add(batch(0)))
        two = opened(await one.state())
        assert await two.report() == replace(await one.report(), process=(await two.report()).process)

    asyncio.run(scene())
