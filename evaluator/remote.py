"""The gate on Ray: adapters to the weights actor, and a pause while there is nothing to judge."""

from __future__ import annotations

import time
from typing import Any

import ray

from evaluator.config import GateConfig
from evaluator.gate import Gate
from evaluator.gate_report import GateReport
from reversi.games.rules import game_named
from reversi.model.registry import Registry

IDLE_S = 0.5
"""Seconds that a round with nothing to play takes, so that the driver does not ask again at once."""


class WeightStoreClient:
    """A `CandidateSource` and `ChampionSink` over the weights actor."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def candidate(self) -> bytes | None:
        """Ask for the newest candidate."""
        data: bytes | None = ray.get(self._store.candidate.remote())
        return data

    def promoted(self, data: bytes) -> None:
        """Hand the champion over, and wait until it is taken."""
        ray.get(self._store.promoted.remote(data))


class RemoteGate:
    """A `Gate` that receives and sends weights through an actor handle."""

    def __init__(self, *, config: GateConfig, game: str, registry: str, store: Any, seed: int, **settings: Any) -> None:
        """`settings` are those of `Gate`."""
        ends, made = WeightStoreClient(store), Registry(registry, create=True)
        self._gate = Gate(config, game_named(game), made, source=ends, sink=ends, seed=seed, **settings)

    def round(self, seconds: float) -> GateReport:
        """Play for about `seconds`."""
        report = self._gate.round(seconds)
        if self._gate.blocked or (report.verdict is None and not self._gate.poll()):
            time.sleep(IDLE_S)
        return report

    def poll(self) -> bool:
        """Return whether there is anything to judge."""
        return self._gate.poll()

    def state(self) -> bytes:
        """Return the unfinished work."""
        return self._gate.state()

    def restore(self, data: bytes) -> None:
        """Continue from `state()`."""
        self._gate.restore(data)


GateActor = ray.remote(RemoteGate)
