"""The learner and the weight store on Ray, and the adapters to the actors that they call."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import RayError

from learner.algorithms.reports import FullValidation
from learner.learner import Learner
from learner.replay.columns import SampleColumns
from learner.weight_store import WeightStore
from reversi.games.rules import game_named
from reversi.record import Records

log = logging.getLogger(__name__)

MAX_IN_FLIGHT = 4
"""Unanswered publications to the weights actor; they come every few seconds."""


class RemoteSamples:
    """A `BatchSource` over the replay actor; the next chunk is fetched while the current one is trained on."""

    def __init__(self, replay: Any) -> None:
        self._replay = replay
        self._next: Any = None

    def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        """Return the chunk requested by the last call, and request another of the same size."""
        request, self._next = self._next or self._replay.sample.remote(n_batches, batch), None
        samples: SampleColumns | None = ray.get(request)
        self._next = None if samples is None else self._replay.sample.remote(n_batches, batch)
        return samples

    def rest(self) -> SampleColumns | None:
        """Wait for and return the chunk already requested; None if there is none or the replay had no samples.

        None too if the request failed, as the replay then has not counted it as drawn; the next `sample` asks again.
        """
        request, self._next = self._next, None
        try:
            samples: SampleColumns | None = None if request is None else ray.get(request)
        except RayError as error:
            log.warning("samples requested from the replay did not come: %s", error)
            return None
        return samples


class RemoteSink:
    """A `WeightSink` over the weights actor; publishing does not block the learner."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._in_flight: list[Any] = []
        self._waiting: tuple[bytes, bool] | None = None

    def publish(self, data: bytes, candidate: bool) -> None:
        """Send the archive by value, since objects that a process puts into the object store die with it.

        While `MAX_IN_FLIGHT` versions are unanswered, because the weights actor is down, a version waits here: the
        next one replaces it, and is a candidate if any version that it replaces was one.
        """
        self._waiting = (data, candidate or (self._waiting is not None and self._waiting[1]))
        if self._in_flight:
            _, self._in_flight = ray.wait(self._in_flight, num_returns=len(self._in_flight), timeout=0)
        if len(self._in_flight) < MAX_IN_FLIGHT:
            self._hand_over()

    def settle(self) -> None:
        """Wait until the weights actor has the weights published last."""
        self._hand_over()
        ray.get(self._in_flight)
        self._in_flight = []

    def _hand_over(self) -> None:
        if self._waiting is not None:
            self._in_flight.append(self._store.publish.remote(*self._waiting))
            self._waiting = None

    def newest(self) -> int:
        """Return the highest version that the weights actor has, -1 if none."""
        version: int = ray.get(self._store.newest.remote())
        return version


class RemoteLearner(Learner):
    """A `Learner` whose source and sink are actors."""

    def __init__(
        self,
        *,
        game: str,
        source: Any,
        sink: Any,
        newest: Callable[[], int],
        saved: Callable[[], bytes | None],
        init: Callable[[], bytes | None],
        validation: Callable[[], Records | None],
        **rest: Any,
    ) -> None:
        """Begin with the state that `saved` returns, if any, else with the weights that `init` returns, if any.

        newest  returns the highest version in the registry: a learner that has died may have published versions after
                its last checkpoint, and they are not used again
        """
        self._samples, self._weights = RemoteSamples(source), RemoteSink(sink)
        version = max(newest(), self._weights.newest())
        super().__init__(
            game=game_named(game),
            source=self._samples,
            sink=self._weights,
            newest=version,
            validation=validation(),
            **rest,
        )
        if (state := saved()) is not None:
            self.restore(state)
        elif (weights := init()) is not None:
            self.begin_from(weights)

    def offer_candidate(self) -> FullValidation:
        """Validate and offer the averaged weights; once they are offered the weights actor has the candidate."""
        validation = super().offer_candidate()
        self._weights.settle()
        return validation

    def state(self) -> bytes:
        """Return the learner's state with the chunk already requested, since the replay has counted it as drawn."""
        if (samples := self._samples.rest()) is not None:
            self.hold(samples)
        return super().state()


class RemoteWeightStore:
    """A `WeightStore` that answers with object references: a hundred bytes, whatever the size of a version.

    A version is put into the object store once, when it arrives, and dropped when no channel holds it any more; fetches
    that have begun still complete.  A node fetches it once, from a random one of the nodes that have it, and all actors
    of the node share that copy; nodes that ask before any other has it are sent it from here.  The references belong to
    this process: they survive the learner, and are lost with this process.
    """

    def __init__(self) -> None:
        self._store = WeightStore()
        self._references: dict[int, Any] = {}

    def publish(self, data: bytes, candidate: bool) -> None:
        """Store the learner's newest weights."""
        self._store.publish(data, candidate)
        self._put_held()

    def newest(self) -> int:
        """Return the version of the learner's newest weights, -1 before the first."""
        return self._store.version("latest")

    def has_champion(self) -> bool:
        """Return whether the gate has stored a champion here, which is lost with this process."""
        return self._store.version("gated") >= 0

    def candidate(self) -> bytes | None:
        """Remove and return the waiting candidate; None if there is none."""
        return self._store.candidate()

    def promoted(self, data: bytes) -> None:
        """Store the gate's new champion."""
        self._store.promoted(data)
        self._put_held()

    def fetch(self, channel: str, newer_than: int) -> list[Any] | None:
        """Return the archive of `channel` if it is newer, as a reference in a list (Ray would resolve a bare one)."""
        version = self._store.version(channel)
        return [self._references[version]] if version > newer_than else None

    def _put_held(self) -> None:
        known = self._references
        self._references = {
            version: known[version] if version in known else ray.put(data) for version, data in self._store.held()
        }


LearnerActor = ray.remote(RemoteLearner)
WeightActor = ray.remote(RemoteWeightStore)
