"""A worker: self-play in rounds, with fresh weights before each round and records out after it.

It is a plain class that runs in any process; `actors/remote.py` puts it on Ray.  What it needs of others is declared
here: weights come from a `WeightSource`, records go to a `RecordSink`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from actors.config import ActorConfig
from actors.selfplay import SelfPlay
from reversi import archive
from reversi.games.rules import game_named
from reversi.model.evaluate import Evaluator, open_evaluator
from reversi.model.weights import Weights
from reversi.record import Records, encode
from reversi.search.config import SearchConfig

STATE_FORMAT = 1


class WeightSource(Protocol):
    """Where weights come from."""

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        """Return the newest weights archive of `channel` ("latest" or "gated") if its version is newer, else None."""


class RecordSink(Protocol):
    """Where records go."""

    def push(self, data: bytes) -> None:
        """Deliver one batch of records; may wait while the replay has no room."""


@dataclass(frozen=True, kw_only=True)
class ActorReport:
    """What one round of one actor made."""

    games: int
    """Games finished."""
    positions: int
    """Plies searched."""
    simulations: int
    """Visits those searches asked for; with `search.keep_subtree` some of them were made a ply earlier."""
    version: int
    """Version of the weights that played; -1 while there are none yet."""
    playing_s: float
    """Seconds spent playing."""
    waiting_s: float
    """Seconds spent delivering records and waiting for room in the replay."""


class Worker:
    """Plays rounds of self-play.  Same weights, same seed, same device: same records."""

    def __init__(
        self,
        *,
        index: int,
        game: str,
        config: ActorConfig,
        search: SearchConfig,
        seed: int,
        weights: WeightSource,
        records: RecordSink,
        epoch: int = 0,
    ) -> None:
        """`index` numbers the run's actors from 0; with `seed` it decides all of this actor's random choices.

        `epoch` counts the starts of the run, so that a producer that lost its state never reuses a sequence number.
        """
        self.config, self.search_config = config, search
        self.producer = f"actor-{index}-{epoch}"
        self._game, self._weights, self._records = game_named(game), weights, records
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, epoch)))
        self._seed = int(np.random.SeedSequence(seed, spawn_key=(index, epoch)).generate_state(1, np.uint64)[0])
        self._evaluator: Evaluator | None = None
        self._selfplay: SelfPlay | None = None
        self._version = -1
        self._sequence = 0
        self._resumed: dict[str, np.ndarray] = {}

    def round(self) -> ActorReport:
        """Take the newest weights, play `round_plies` plies in every game, deliver the games that ended."""
        start = time.monotonic()
        selfplay = self._with_newest_weights()
        if selfplay is None:
            return ActorReport(games=0, positions=0, simulations=0, version=-1, playing_s=0.0, waiting_s=0.0)
        before = selfplay.searched_positions
        rounds = (selfplay.step(self._version) for _ in range(self.config.round_plies))
        finished = [records for records in rounds if records is not None]
        played = time.monotonic()
        positions = selfplay.searched_positions - before
        self._deliver(finished)
        return ActorReport(
            games=sum(map(len, finished)),
            positions=positions,
            simulations=positions * self.search_config.simulations,
            version=self._version,
            playing_s=played - start,
            waiting_s=time.monotonic() - played,
        )

    def state(self) -> bytes:
        """Return the games in progress, the random state and the counters as an archive."""
        arrays = self._selfplay.arrays() if self._selfplay else self._resumed
        header = {
            "producer": self.producer,
            "sequence": self._sequence,
            "random": self._rng.bit_generator.state,
        }
        return archive.pack("actor", STATE_FORMAT, arrays, header)

    def restore(self, data: bytes) -> None:
        """Go on from `state()`: same games, same random numbers, next sequence number.

        Games of another shape (the run was resumed with another `actors.games`) are left: they are only unfinished.
        """
        arrays, header = archive.unpack(data, "actor", STATE_FORMAT, "actor state")
        self.producer, self._sequence = header["producer"], header["sequence"]
        self._rng.bit_generator.state = header["random"]
        if arrays and len(arrays["own"]) == self.config.games:
            self._resumed = arrays

    def _with_newest_weights(self) -> SelfPlay | None:
        """Return the self-play, its network brought up to date; None while no weights have been published."""
        data = self._weights.fetch(self.config.weights, self._version)
        if data is None:
            return self._selfplay
        weights = Weights.from_bytes(data, "weights from the learner")
        self._version = weights.version
        if self._evaluator is None:
            self._evaluator = open_evaluator(
                weights,
                backend=self.config.backend,
                precision=self.config.precision,
                batch=self.config.games,
                threads=self.config.threads,
            )
            self._selfplay = self._open_selfplay(self._evaluator)
        else:
            self._evaluator.load(weights)
        return self._selfplay

    def _open_selfplay(self, evaluator: Evaluator) -> SelfPlay:
        state = self._rng.bit_generator.state
        selfplay = SelfPlay(self._game, self.config, self.search_config, evaluator, self._rng, self._seed)
        if self._resumed:
            selfplay.restore(self._resumed)
            self._rng.bit_generator.state = state  # opening the games drew numbers; the resumed ones were drawn before
        return selfplay

    def _deliver(self, finished: list[Records]) -> None:
        if finished:
            self._records.push(encode(Records.concatenate(finished), self.producer, self._sequence))
            self._sequence += 1
