"""A worker: makes games in rounds, fetches new weights before each round and delivers the records after it.

It is a plain class that runs in any process; `actors/remote.py` puts it on Ray.  Weights come from a `WeightSource`,
records go to a `RecordSink`; both protocols are declared here.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from actors.afterstate import AfterstatePlay
from actors.config import (
    ActorConfig,
    AfterstateActorConfig,
    EpsilonActorConfig,
    GamesActorConfig,
    SearchActorConfig,
)
from actors.epsilon import EpsilonPlay
from actors.phases import Phases
from actors.recorded_games import RecordedGameSource, read_games
from actors.selfplay import SelfPlay
from actors.source import ActorCounts, GameSource
from actors.statistics import GameStatistics, GameSums
from reversi import archive
from reversi.games.rules import game_named
from reversi.model.evaluate import Evaluator, Prepared, open_evaluator
from reversi.model.weights import Weights
from reversi.record import Records, batches, encode
from reversi.search.config import SearchConfig

STATE_FORMAT = 6


class WeightSource(Protocol):
    """Where weights come from."""

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        """Return the newest weights archive of `channel` ("latest" or "gated") if its version is newer, else None."""


class RecordSink(Protocol):
    """Where records go."""

    def push(self, data: bytes) -> None:
        """Deliver one batch of records; may block while the replay has no room."""


@dataclass(frozen=True, kw_only=True)
class RoundCounts(ActorCounts, GameSums):
    """What rounds of actors add up to."""

    games: int = 0
    """Games finished."""
    playing_s: float = 0.0
    """Seconds spent playing."""
    waiting_s: float = 0.0
    """Seconds spent delivering records, including the wait for room in the replay."""
    between_s: float = 0.0
    """Seconds since the last round ended: the caller's time, under Ray its share of the actor's time."""


@dataclass(frozen=True, kw_only=True)
class ActorReport(RoundCounts):
    """Results of one round of one actor, with its counts."""

    version: int
    """Version of the weights that played; -1 before the first weights, and for recorded games."""
    sample: bytes = b""
    """Some of the games of the round (`reversi.record.encode`), for people and other learners."""
    finished: bool = False
    """Whether this actor has delivered all its games; only recorded games end."""


class Worker:
    """Makes games according to `config`.  Same weights in the same rounds, same seed, same device: same records."""

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
        incarnation: int = 0,
        background: bool = False,
        keep_every: int | None = None,
    ) -> None:
        """`index` numbers the run's actors from 0; with `seed` it decides all of this actor's random choices.

        incarnation  number of this start of the actor, unique in the run: a producer that lost its state must not
                     reuse a sequence number
        keep_every   every so many games one is part of the report's sample; None: none
        background   end a round of search after `round_s` seconds, and prepare new weights while play continues with
                     the old ones; which games a round has, and which round takes the weights, then varies
        """
        self.config, self.search_config = config, search
        self.producer = f"actor-{index}-{incarnation}"
        self._game, self._weights, self._records = game_named(game), weights, records
        key = (index,) if isinstance(config, GamesActorConfig) else (index, incarnation)
        self._seed = int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])
        self._evaluator: Evaluator | None = None
        self._source: GameSource | None = None
        self._statistics = GameStatistics(self._game, margins=isinstance(config, AfterstateActorConfig))
        self._version = -1
        self._sequence = 0
        self._keep_every, self._games = keep_every, 0
        self._ended_s = 0.0
        self._resumed: dict[str, Any] = {}
        self._resumed_version: int | None = None
        self._pool = ThreadPoolExecutor(1, "weights") if background else None
        self._coming: Future[Prepared] | None = None

    def round(self, progress: float) -> ActorReport:
        """Take the newest weights, play one round, and deliver the games that ended.

        progress  of the run, 0 to 1; selects the point in the schedules of simulations and epsilon
        """
        start = time.monotonic()
        between_s = start - self._ended_s if self._ended_s else 0.0
        source = self._with_newest_weights()
        if source is None:
            return ActorReport(version=-1)
        before = source.counts
        records = source.round(progress, self._version)
        played = time.monotonic()
        if records is not None:
            for data in batches(records, self.producer, self._sequence):
                self._records.push(data)
                self._sequence += 1
        self._ended_s = time.monotonic()
        return ActorReport(
            games=len(records) if records is not None else 0,
            **vars(source.counts - before),
            **vars(self._statistics.of(records) if records is not None else GameSums()),
            version=self._version,
            playing_s=played - start,
            waiting_s=self._ended_s - played,
            between_s=between_s,
            sample=self._sample(records) if records is not None else b"",
            finished=source.finished,
        )

    def _sample(self, records: Records) -> bytes:
        """Return every `keep_every`th game that this worker has finished, of those that are new; b"" for none."""
        if self._keep_every is None:
            return b""
        numbers = self._games + np.arange(len(records))
        self._games += len(records)
        chosen = numbers % self._keep_every == 0
        return encode(records.select(chosen), self.producer, self._sequence) if chosen.any() else b""

    def state(self) -> bytes:
        """Return the games in progress, their search state and the counters as an archive.

        The cache, some megabytes, is included only without `background`, where rounds repeat exactly.
        """
        arrays = self._source.arrays(cache=self._pool is None) if self._source else self._resumed
        arrays = arrays | self._statistics.arrays()
        header = {
            "producer": self.producer,
            "sequence": self._sequence,
            "seed": self._seed,
            "shape": self._shape,
            "version": self._version if self._source else self._resumed_version,
        }
        return archive.pack("actor", STATE_FORMAT, arrays, header)

    def restore(self, data: bytes) -> None:
        """Continue from `state()`: same games, same random numbers, next sequence number.

        Unfinished games are dropped if the run was resumed with settings that change their shape.
        """
        arrays, header = archive.unpack(data, "actor", STATE_FORMAT, "actor state")
        with archive.believing("actor state"):
            self.producer, self._sequence = str(header["producer"]), int(header["sequence"])
            self._statistics.restore(arrays)
            if header["shape"] == self._shape:
                self._seed, self._resumed = int(header["seed"]), arrays
                self._resumed_version = header["version"]

    @property
    def _shape(self) -> list[Any]:
        """Return the settings that must be unchanged for games in progress to continue."""
        config = self.config
        if isinstance(config, SearchActorConfig):
            return self._search_shape(config)
        if isinstance(config, AfterstateActorConfig):
            search = [self._search_shape(config.search)] if config.search_from < 1 else []
            return [config.kind, *search]
        if isinstance(config, EpsilonActorConfig):
            return [config.kind, config.games, config.opponent, config.side]
        return [config.kind, list(config.paths), config.max_games, config.validation_share]

    def _search_shape(self, config: SearchActorConfig) -> list[Any]:
        return [config.games, config.groups, self.search_config.simulations, self.search_config.fast_simulations]

    def _with_newest_weights(self) -> GameSource | None:
        """Return the source of games with the newest weights; None before the first weights."""
        if isinstance(self.config, GamesActorConfig):
            return self._source or self._read(self.config)
        if self._coming is not None:
            if self._coming.done():
                self._take(self._coming.result())
                self._coming = None
            return self._source
        data = self._weights.fetch(self.config.weights, self._version)
        if data is None:
            return self._source
        if self._evaluator is None:
            self._begin(self._with_network(self.config, Weights.from_bytes(data, "weights from the learner")))
        elif self._pool is not None:
            self._coming = self._pool.submit(_prepared, self._evaluator, data)
        else:
            self._take(_prepared(self._evaluator, data))
        return self._source

    def _read(self, config: GamesActorConfig) -> GameSource:
        """Read the files; their games keep name and numbers in every process, so that a replay takes none twice.

        A round is one batch.
        """
        source = RecordedGameSource(config, read_games(config, self._game), self._seed)
        self._begin(source)
        self.producer, self._sequence = source.producer, source.rounds
        return source

    def _begin(self, source: GameSource) -> None:
        """Install `source`, restore a resumed actor's games, and drop cached evaluations of other weights."""
        self._source = source
        if self._resumed:
            with archive.believing("actor state"):
                source.restore(self._resumed)
            if self._resumed_version != self._version:
                source.clear_cache()

    def _with_network(
        self, config: SearchActorConfig | AfterstateActorConfig | EpsilonActorConfig, weights: Weights
    ) -> GameSource:
        """Open the first network and return the source that plays with it."""
        self._version = weights.version
        if isinstance(config, AfterstateActorConfig):
            return self._with_tables(config, weights)
        if isinstance(config, EpsilonActorConfig):
            # float32, so that the best action is the one that a player with the same weights takes
            self._evaluator = open_evaluator(
                weights, backend=config.backend, precision="float32", batch=config.games, threads=config.threads
            )
            return EpsilonPlay(self._game, config, self._evaluator, self._seed)
        return self._searching(config, weights)

    def _with_tables(self, config: AfterstateActorConfig, weights: Weights) -> GameSource:
        """Return the source of games by the value after the move, with that by search behind it if the run has one."""
        search = self._searching(config.search, weights) if config.search_from < 1 else None
        if self._evaluator is None:
            self._evaluator = open_evaluator(weights, batch=1)
        first = AfterstatePlay(self._game, config, self._evaluator, self._seed)
        return first if search is None else Phases(first, search, config.search_from)

    def _searching(self, config: SearchActorConfig, weights: Weights) -> SelfPlay:
        """Open the network and return the source of games by search."""
        self._evaluator = open_evaluator(
            weights,
            backend=config.backend,
            device=config.device,
            precision=config.precision,
            batch=config.games // config.groups,
            threads=config.threads,
            slots=config.groups,
            margin_weight=self.search_config.margin_weight,
        )
        round_s = inf if self._pool is None else config.round_s
        return SelfPlay(self._game, config, self.search_config, self._evaluator, seed=self._seed, round_s=round_s)

    def _take(self, prepared: Prepared) -> None:
        """Install new weights and drop the old ones' cached evaluations."""
        assert self._evaluator is not None
        assert self._source is not None
        self._evaluator.take(prepared)
        self._source.clear_cache()
        self._version = self._evaluator.version


def _prepared(evaluator: Evaluator, data: bytes) -> Prepared:
    """Return the weights of an archive, prepared for `take`."""
    return evaluator.prepare(Weights.from_bytes(data, "weights from the learner"))
