"""Workers on Ray: the adapters between a worker and the actors it talks to, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import ObjectLostError

from actors.worker import Worker

MAX_PUSHES = 2
"""Unanswered batches of records; a worker that is ahead of the replay waits for the oldest."""

WAIT_S = 0.2
"""Longest that an actor with weights waits for newer ones in a round; a request and a fetch on one node take 10 ms."""


class RemoteRecords:
    """A `RecordSink` over the replay actor: `push` returns when at most `MAX_PUSHES` are unanswered and there is room.

    An answer means that the records are stored, and says whether there was room for more at that time.
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
        """Wait until all records sent are stored, whether or not there is room for more."""
        ray.get(self._pending)
        self._pending.clear()


class RemoteWeights:
    """A `WeightSource` over the weights actor, which answers with a reference into the object store of the cluster.

    An actor that has weights continues with them while the answer or the archive is in transit.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._request: Any = None
        self._coming: Any = None

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        """Return newer weights as soon as they are on this node; weights lost in transit are requested again.

        The first weights are waited for, later ones at most `WAIT_S`: the next call continues where this one stopped.
        """
        wait_s = None if newer_than < 0 else WAIT_S
        if self._coming is None:
            self._request = self._request or self._store.fetch.remote(channel, newer_than)
            if not _has_come(self._request, wait_s):
                return None
            request, self._request = self._request, None
            if (boxed := ray.get(request)) is None:
                return None
            [self._coming] = boxed
        if not _has_come(self._coming, wait_s):
            return None
        coming, self._coming = self._coming, None
        try:
            return bytes(ray.get(coming))
        except ObjectLostError:  # the weights actor died, and its objects with it
            return None


def _has_come(reference: Any, wait_s: float | None) -> bool:
    """Return whether the object of `reference` is on this node within `wait_s`; None waits until it is."""
    return bool(ray.wait([reference], timeout=wait_s)[0])


class RemoteWorker(Worker):
    """A `Worker` whose weight source is an actor handle; its record sink is passed in and waits by itself."""

    def __init__(
        self,
        *,
        weights: Any,
        records: Any,
        incarnation: Callable[[], int],
        saved: Callable[[], bytes | None],
        **rest: Any,
    ) -> None:
        """Begin with the state that `saved` returns, if any, else with new games under a producer name of its own."""
        super().__init__(weights=RemoteWeights(weights), records=records, incarnation=incarnation(), **rest)
        if (state := saved()) is not None:
            self.restore(state)
        self._settle = records.settle if isinstance(records, RemoteRecords) else lambda: None

    def state(self) -> bytes:
        """Return the state once all records that it counts as delivered are stored."""
        self.settled()
        return super().state()

    def settled(self) -> None:
        """Return once all delivered records are stored; over Redis they are when `push` returns."""
        self._settle()


SelfPlayActor = ray.remote(RemoteWorker)
