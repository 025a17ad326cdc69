"""The learner and the weights on Ray: adapters to the actors they talk to, and nothing else."""

from __future__ import annotations

from typing import Any

import ray

from learner.algorithms.losses import ValidationReport
from learner.broadcast import WeightStore
from learner.learner import Learner
from learner.replay.rows import Rows
from reversi.games.rules import game_named

MOST_UNDER_WAY = 4
"""Versions that the weights actor has not answered for and that are held for it; they come every few seconds."""


class RemoteSamples:
    """A `BatchSource` over the replay actor; the next chunk is on its way while this one is trained on."""

    def __init__(self, replay: Any) -> None:
        self._replay = replay
        self._next: Any = None

    def sample(self, n_batches: int, batch: int) -> Rows | None:
        """Return the chunk asked for last time, and ask for another of the same size."""
        if self._next is None:
            self._next = self._replay.sample.remote(n_batches, batch)
        samples: Rows | None = ray.get(self._next)
        self._next = None if samples is None else self._replay.sample.remote(n_batches, batch)
        return samples

    def rest(self) -> Rows | None:
        """Return the chunk that is on its way, if one is and it comes; there is none after that."""
        samples: Rows | None = None if self._next is None else ray.get(self._next)
        self._next = None
        return samples


class RemoteSink:
    """A `WeightSink` over the weights actor; the learner does not wait for it."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._under_way: list[Any] = []
        self._kept: tuple[bytes, bool] | None = None

    def publish(self, data: bytes, candidate: bool) -> None:
        """Hand the archive over by value: what a process puts into the object store dies with it.

        While `MOST_UNDER_WAY` versions are unanswered, as when the weights actor is away, a version only waits here:
        the next one takes its place, and is a candidate if one of those that it replaces was to be one.
        """
        self._kept = (data, candidate or (self._kept is not None and self._kept[1]))
        if self._under_way:
            _, self._under_way = ray.wait(self._under_way, num_returns=len(self._under_way), timeout=0)
        if len(self._under_way) < MOST_UNDER_WAY:
            self._hand_over()

    def settle(self) -> None:
        """Wait until the weights published last are there."""
        self._hand_over()
        ray.get(self._under_way)
        self._under_way = []

    def _hand_over(self) -> None:
        if self._kept is not None:
            self._under_way.append(self._store.publish.remote(*self._kept))
            self._kept = None

    def newest(self) -> int:
        """Return the highest version that is there, -1 if none is."""
        version: int = ray.get(self._store.newest.remote())
        return version


class RemoteLearner(Learner):
    """A `Learner` whose source and sink are actor handles."""

    def __init__(self, *, game: str, source: Any, sink: Any, newest: int, **rest: Any) -> None:
        """A learner that goes on from a checkpoint has published more since then: those versions are taken too."""
        self._samples, self._weights = RemoteSamples(source), RemoteSink(sink)
        newest = max(newest, self._weights.newest())
        super().__init__(game=game_named(game), source=self._samples, sink=self._weights, newest=newest, **rest)

    def offer_candidate(self, look: bool = True) -> ValidationReport | None:
        """Publish and offer the averaged weights; whoever asks for the candidate from now on finds it."""
        report = super().offer_candidate(look)
        self._weights.settle()
        return report

    def state(self) -> bytes:
        """Return the learner's state; the replay has counted the chunk that is on its way, so it is part of it."""
        if (samples := self._samples.rest()) is not None:
            self.hold(samples)
        return super().state()


class RemoteStore:
    """A `WeightStore` that hands out references: its answers are a hundred bytes, however large a version is.

    A version is put into the object store once, when it comes, and dropped when no channel holds it any more; who is
    still fetching it then gets it to its end.  A node fetches it once, from one of the nodes that have it, at random,
    and all actors of the node share that copy; nodes that ask before anyone has it are all sent it from here.  The
    references are this process's: a learner that dies takes none along, and with this process go all of them.
    """

    def __init__(self) -> None:
        self._store = WeightStore()
        self._references: dict[int, Any] = {}

    def publish(self, data: bytes, candidate: bool) -> None:
        """Take the learner's newest weights."""
        self._store.publish(data, candidate)
        self._put_held()

    def newest(self) -> int:
        """Return the version of the learner's newest weights, -1 before the first."""
        return self._store.version("latest")

    def candidate(self) -> bytes | None:
        """Hand out the waiting candidate, once."""
        return self._store.candidate()

    def promoted(self, data: bytes) -> None:
        """Take the gate's new champion."""
        self._store.promoted(data)
        self._put_held()

    def fetch(self, channel: str, newer_than: int) -> list[Any] | None:
        """Return a reference to the archive of `channel`, boxed lest Ray fetch it, if it is newer; else None."""
        version = self._store.version(channel)
        return [self._references[version]] if version > newer_than else None

    def _put_held(self) -> None:
        known = self._references
        self._references = {
            version: known[version] if version in known else ray.put(data) for version, data in self._store.held()
        }


LearnerActor = ray.remote(RemoteLearner)
WeightActor = ray.remote(RemoteStore)
