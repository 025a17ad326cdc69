"""The gate on Ray: adapters to the weights actor, and a pause while there is nothing to judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ray

from evaluator.config import GateConfig
from evaluator.gate import Gate
from evaluator.gate_report import GateReport
from reversi.games.rules import game_named
from reversi.model.info import Origin, Owner
from reversi.model.registry import Registry
from reversi.model.training import Spent, Training

IDLE_S = 0.5
"""Seconds that a round with nothing to play takes, so that the driver does not ask again at once."""


class WeightStoreClient:
    """A `CandidateSource` and `ChampionSink` over the weights actor."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._champion: bytes | None = None

    def candidate(self) -> bytes | None:
        """Ask for the newest candidate."""
        data: bytes | None = ray.get(self._store.candidate.remote())
        return data

    def promoted(self, data: bytes) -> None:
        """Hand the champion over, and wait until it is taken."""
        self._champion = data
        ray.get(self._store.promoted.remote(data))

    def keep_champion(self) -> None:
        """Hand the champion over again if the weights actor has lost it with its process."""
        if self._champion is not None and not ray.get(self._store.has_champion.remote()):
            self.promoted(self._champion)


class RemoteGate:
    """A `Gate` that receives and sends weights through an actor handle."""

    def __init__(
        self,
        *,
        config: GateConfig,
        game: str,
        registry: str,
        store: Any,
        seed: int,
        saved: Callable[[], bytes | None],
        begun_from: Origin | None = None,
        owner: Owner | None = None,
        training: Training | None = None,
        **settings: Any,
    ) -> None:
        """Begin with the state that `saved` returns, if any; `settings` are those of `Gate`."""
        self._store = WeightStoreClient(store)
        models = Registry(registry, create=True, begun_from=begun_from, owner=owner, training=training)
        self._gate = Gate(config, game_named(game), models, source=self._store, sink=self._store, seed=seed, **settings)
        if (state := saved()) is not None:
            self._gate.restore(state)

    def round(self, seconds: float, spent: Spent | None = None) -> GateReport:
        """Play for about `seconds`; the run has `spent` so much."""
        self._store.keep_champion()
        report = self._gate.round(seconds, spent)
        if self._gate.blocked or (report.verdict is None and not report.strength and not self._gate.poll()):
            time.sleep(IDLE_S)
        return report

    def poll(self) -> bool:
        """Return whether there is anything to judge."""
        return self._gate.poll()

    def state(self) -> bytes:
        """Return the unfinished work."""
        return self._gate.state()


GateActor = ray.remote(RemoteGate)
