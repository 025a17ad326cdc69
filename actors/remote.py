"""Workers on Ray: the adapters between a worker and the actors it talks to, and nothing else."""

from __future__ import annotations

from typing import Any

import ray
from ray.exceptions import ObjectLostError

from actors.worker import Worker

MAX_PUSHES = 2
"""Batches of records under way at once; a worker that is ahead of the replay waits for the oldest."""

WAIT_S = 0.2
"""Longest that an actor with weights waits for newer ones in a round; asking and fetching within a node take 10 ms."""


class RemoteRecords:
    """A `RecordSink` over the replay actor: a push returns when at most `MAX_PUSHES` are unanswered, and there is room.

    The answer says that the records are stored, and whether there was room for more then.
    """

    def __init__(self, replay: Any) -> None:
        self._replay = replay
        self._pending: list[Any] = []

    def push(self, data: bytes) -> None:
        """Send the records; wait for the oldest ones, and for room, if the replay is behind."""
        self._pending.append(self._replay.add.remote(data))
        while len(self._pending) > MAX_PUSHES:
            if not ray.get(self._pending.pop(0)).room:
                ray.get(self._replay.room.remote())

    def settle(self) -> None:
        """Wait until all that was sent is stored, room or not."""
        ray.get(self._pending)
        self._pending.clear()


class RemoteWeights:
    """A `WeightSource` over the weights actor, which answers with a reference into the object store of the cluster.

    Who has weights already plays on with them while the answer, or the archive, is still under way.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._asked: Any = None
        self._coming: Any = None

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        """Return newer weights as soon as they are on this node; those that were lost on their way are asked for again.

        The first weights are waited for, later ones no longer than `WAIT_S`: the next call goes on where this one left.
        """
        wait_s = None if newer_than < 0 else WAIT_S
        if self._coming is None:
            self._asked = self._asked or self._store.fetch.remote(channel, newer_than)
            if not _has_come(self._asked, wait_s):
                return None
            asked, self._asked = self._asked, None
            if (boxed := ray.get(asked)) is None:
                return None
            [self._coming] = boxed
        if not _has_come(self._coming, wait_s):
            return None
        coming, self._coming = self._coming, None
        try:
            return bytes(ray.get(coming))
        except ObjectLostError:  # the weights actor died meanwhile, and its objects with it
            return None


def _has_come(reference: Any, wait_s: float | None) -> bool:
    """Whether what `reference` names is on this node, within `wait_s`; None waits for it."""
    return bool(ray.wait([reference], timeout=wait_s)[0])


class RemoteWorker(Worker):
    """A `Worker` whose source is an actor handle; its sink travels here and is one that waits by itself."""

    def __init__(self, *, weights: Any, records: Any, **rest: Any) -> None:
        super().__init__(weights=RemoteWeights(weights), records=records, **rest)
        self._settle = records.settle if isinstance(records, RemoteRecords) else lambda: None

    def state(self) -> bytes:
        """Return the state once all that it has counted as delivered is stored: what comes after is none of it."""
        self.settled()
        return super().state()

    def settled(self) -> None:
        """Return once all that was delivered is stored; through Redis it is when it was pushed."""
        self._settle()


SelfPlayActor = ray.remote(RemoteWorker)
