"""Workers on Ray: the adapters between a worker and the actors it talks to, and nothing else."""

from __future__ import annotations

from typing import Any

import ray

from actors.worker import Worker

MAX_PUSHES = 2
"""Batches of records under way at once; a worker that is ahead of the replay waits for the oldest."""


class RemoteRecords:
    """A `RecordSink` over the replay actor: a push returns when at most `MAX_PUSHES` are unanswered."""

    def __init__(self, replay: Any) -> None:
        self._replay = replay
        self._pending: list[Any] = []

    def push(self, data: bytes) -> None:
        """Send the records; wait for the oldest ones if the replay has not taken them yet."""
        self._pending.append(self._replay.add.remote(data))
        while len(self._pending) > MAX_PUSHES:
            ray.get(self._pending.pop(0))


class RemoteWeights:
    """A `WeightSource` over the weights actor, which answers with a reference into the node's object store."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        """Ask for newer weights; the bytes are fetched once per node."""
        boxed = ray.get(self._store.fetch.remote(channel, newer_than))
        return None if boxed is None else bytes(ray.get(boxed[0]))


class RemoteWorker(Worker):
    """A `Worker` whose source is an actor handle; its sink travels here and is one that waits by itself."""

    def __init__(self, *, weights: Any, records: Any, **rest: Any) -> None:
        super().__init__(weights=RemoteWeights(weights), records=records, **rest)


SelfPlayActor = ray.remote(RemoteWorker)
