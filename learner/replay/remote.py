"""The replay on Ray: a thin asynchronous actor over `MemoryReplay`; its `sample` and `room` wait."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ray

from learner.replay.columns import SampleColumns, SampleKind
from learner.replay.config import ReplayConfig
from learner.replay.memory import MemoryReplay
from learner.replay.transport import AddReport, ReplayReport
from reversi.games.rules import game_named

SAMPLE_WAIT_S = 1.0
"""Longest a `sample` call waits for tokens before it answers None, so that the learner hears a stop."""


def restored_memory(
    game: str,
    config: ReplayConfig,
    kind: SampleKind,
    seed: int,
    rejected_dir: str | None,
    saved: Callable[[], bytes | None],
) -> MemoryReplay:
    """Return a replay that begins with the state that `saved` returns, if any.

    It must be called before the actor answers any call that waits.
    """
    memory = MemoryReplay(game_named(game), config, kind, seed, Path(rejected_dir) if rejected_dir else None)
    if (state := saved()) is not None:
        memory.restore(state)
    return memory


class AsyncReplay:
    """A `MemoryReplay` for many callers in one event loop; an `add` is stored and answered at once, `room` waits."""

    def __init__(
        self,
        *,
        game: str,
        config: ReplayConfig,
        kind: SampleKind,
        seed: int,
        rejected_dir: str | None,
        saved: Callable[[], bytes | None],
    ) -> None:
        """`saved` returns the state to begin with; None if there is none."""
        self._replay = restored_memory(game, config, kind, seed, rejected_dir, saved)
        self._process = secrets.token_hex(8)
        self._changed = asyncio.Condition()
        self._stopped = False
        self._releases = 0

    async def add(self, data: bytes) -> AddReport:
        """Store one delivery; the report says whether its sender has to wait for `room`."""
        report = self._replay.add(data)
        await self._notify()
        return report

    async def room(self) -> None:
        """Return when there is room, or at the next `release`; senders wait here while the token bucket is full."""
        seen = self._releases
        await self._until(lambda: self._replay.room() or self._releases > seen)

    async def release(self) -> None:
        """End every waiting `room` call: its records are stored, and the sender's state can be saved."""
        self._releases += 1
        await self._notify()

    async def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        """Return samples as soon as there are tokens, or None after `SAMPLE_WAIT_S`."""
        samples: SampleColumns | None = None

        def drawn() -> bool:
            nonlocal samples
            samples = self._replay.sample(n_batches, batch)
            return samples is not None

        try:
            await asyncio.wait_for(self._until(drawn), SAMPLE_WAIT_S)
        except TimeoutError:
            return None
        await self._notify()
        return samples

    async def stop(self) -> None:
        """End every waiting call, and let none wait from now on."""
        self._stopped = True
        await self._notify()

    async def report(self) -> ReplayReport:
        """Return contents and totals."""
        return replace(self._replay.report(), process=self._process)

    async def state(self) -> bytes:
        """Return the whole state as an archive."""
        return self._replay.state()

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._stopped or condition())

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


ReplayActor = ray.remote(AsyncReplay)
