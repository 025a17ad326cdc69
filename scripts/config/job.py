"""`JobConfig`: a whole training job, built from Hydra's composed configuration.

A tunable number has its value in one YAML file under `conf/`, and its meaning, unit and range in the dataclass of the
part that it configures.  Nothing below `scripts/` ever sees a `DictConfig`.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from actors.config import (
    ActorConfig,
    AfterstateActorConfig,
    EpsilonActorConfig,
    GamesActorConfig,
    SearchActorConfig,
    actor_threads,
)
from evaluator import MOST_GAMES
from evaluator.config import GateConfig
from learner.algorithms.config import AlgorithmConfig, AlphaZeroConfig, DqnConfig
from learner.config import LearnerConfig, PatternLearnerConfig
from learner.replay.config import ReplayConfig
from learner.replay.redis.config import RedisReplayConfig
from reversi.capacity import cores, memory_bytes
from reversi.errors import ConfigError, UsageError
from reversi.games.rules import game_named
from reversi.model.config import NetworkConfig
from reversi.model.info import Origin
from reversi.search.config import MAX_SIMULATIONS, SearchConfig
from reversi.settings import LATER, above, at_least, between, build, require, require_ranges
from reversi.urls import has_password, masked
from scripts.config.cluster import ClusterConfig, RayClusterConfig
from scripts.config.tracking import TrackingConfig

ACTOR_BYTES, OTHERS_BYTES = 600 << 20, 5 << 29
"""Memory of an actor, and of all other processes of a run together (docs/cluster.md, Sizing): a run that chooses its
number of actors itself has no more of them than the machine's memory takes."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One training run: its name, its length, its randomness."""

    name: str
    """Folder of the run under `dir`; an existing name is refused, and `resume=` continues that run."""

    dir: str
    """Folder that holds the runs."""

    minutes: float | None
    """Most minutes of training, including earlier sessions of a resumed run.  Schedules that follow a run's progress,
    such as the learning rate, span this time, or `games` if those are done sooner.  null, allowed with `games`, means
    no time limit: nothing then depends on a clock."""

    games: Annotated[int | None, at_least(1)]
    """Games, including lessons, that the replay takes before play ends; the learner then uses what the reuse cap still
    allows.  null means no such limit.  Rounds are played to their end, so there may be a few more."""

    seed: int
    """Seed of every random choice: same seed, `cluster=serial`, `minutes: null` and same machine give the same run,
    however often it is stopped and resumed."""

    checkpoint_minutes: Annotated[float, above(0)]
    """Minutes between two saves of the whole run; a crash loses at most this much."""

    summary_games: int
    """Games against each fixed player at the end of the run; 0 turns these matches off."""

    summary_simulations: Annotated[int, between(0, MAX_SIMULATIONS)]
    """Simulations per move of the champion in those games; 0 uses its network without search."""

    keep_games: Annotated[int, at_least(0)] = field(default=5000, metadata=LATER)
    """Games of self-play, the newest of a sample, that the run keeps in its folder for its page and for `reversi data`,
    with the gate's matches; 0 keeps none.  Some 3 KB a game on 8x8."""

    keep_every: Annotated[int, at_least(1)] = field(default=50, metadata=LATER)
    """Every so many games of an actor one belongs to that sample; 1 takes all."""

    def __post_init__(self) -> None:
        fits = re.fullmatch(r"\w[\w.+-]*", self.name) is not None
        require(fits, "run.name", "a name of letters, digits and ._+-, which begins with a letter or digit", self.name)
        if self.minutes is None and self.games is None:
            raise ConfigError("run.minutes must be a number where run.games is null, or the run has no end, got null")
        require("://" not in self.dir, "run.dir", "a folder (registry.url takes URLs)", self.dir)
        fits = self.minutes is None or 0 < self.minutes < math.inf
        require(fits, "run.minutes", "null or a positive number", self.minutes)
        require(0 <= self.seed < 2**63, "run.seed", "from 0 to 2**63 - 1", self.seed)
        require_ranges(self, "run")
        games = self.summary_games
        fits = 0 <= games <= MOST_GAMES and games % 2 == 0
        require(fits, "run.summary_games", f"even and from 0 to {MOST_GAMES}", games)


@dataclass(frozen=True, kw_only=True)
class GameConfig:
    """The game to learn."""

    name: str
    """`reversi4`, `reversi6`, `reversi8` or `tictactoe`."""

    def __post_init__(self) -> None:
        try:
            game_named(self.name)
        except UsageError as error:
            raise ConfigError(f"game.name: {error}") from error


@dataclass(frozen=True, kw_only=True)
class RegistryConfig:
    """Where gated models are published."""

    url: str | None
    """Any fsspec URL or folder; null is the folder `registry` of the run.  Keys and passwords belong in the
    environment, where the URL's driver looks for them, since others can read command lines and run folders."""
    keep_rejected: Annotated[int | None, at_least(1)]
    """Newest rejected candidates that keep their weights; null keeps all.  Of older ones the card and the match stay.
    A candidate has 2.9 MB in the default job, which makes 11 GB of them a day.  Lower it where the disk is small."""

    def __post_init__(self) -> None:
        require_ranges(self, "registry")
        if self.url is not None and has_password(self.url):
            raise ConfigError(
                f"registry.url must not hold a password, which would end in process lists and in the run's folder, "
                f"got {masked(self.url)!r}; put it into the environment, as the driver of the URL wants it"
            )


@dataclass(frozen=True, kw_only=True)
class JobConfig:
    """A whole training job: one field per group of `conf/`."""

    run: RunConfig
    game: GameConfig
    algorithm: AlgorithmConfig
    network: NetworkConfig
    search: SearchConfig
    actors: ActorConfig
    replay: ReplayConfig | RedisReplayConfig
    learner: LearnerConfig
    gate: GateConfig
    cluster: ClusterConfig
    registry: RegistryConfig
    tracking: TrackingConfig
    init: Any
    """Model of the same game and network whose weights the run begins with, as its version 0; all else is new.
    `gated`, `latest`, `shipped`, a version, or a model's folder, such as models/000012 in a registry at any URL; null
    begins from nothing."""
    begun_from: Origin | None
    """What `init` stood for when the run began; written by the program."""

    def __post_init__(self) -> None:
        fits = self.init is None or (type(self.init) is int and self.init >= 0) or isinstance(self.init, str)
        require(fits, "init", "null or the name of a model", self.init)
        if has_password(str(self.init)):
            raise ConfigError(f"init must not hold a password, got {masked(str(self.init))!r}")
        draw, each = self.learner.batch * self.learner.chunk_batches, ""
        if isinstance(self.learner, PatternLearnerConfig):  # a sample is a game
            squares = game_named(self.game.name).squares
            draw, each = draw * squares, f" x {squares} positions"
        if draw > self.replay.bucket_capacity:
            raise ConfigError(
                f"replay.bucket_capacity must be at least one draw of the learner, learner.batch x "
                f"learner.chunk_batches{each} = {draw}, got {self.replay.bucket_capacity}"
            )
        if isinstance(self.algorithm, AlphaZeroConfig) and self.algorithm.value_mix and self.search.margin_weight:
            raise ConfigError(
                f"algorithm.value_mix must be 0 where search.margin_weight is not, got {self.algorithm.value_mix:g}: "
                f"values of such a search mix margins with results, and the target is a result"
            )
        if isinstance(self.algorithm, AlphaZeroConfig) and not self.algorithm.margin_weight:
            margins = self.search.margin_weight
            require(
                margins == 0, "search.margin_weight", "0 where algorithm.margin_weight is: nobody learns it", margins
            )
        if isinstance(self.algorithm, DqnConfig) and isinstance(self.actors, EpsilonActorConfig):
            fits = not self.algorithm.every_move or self.actors.opponent == "self"
            expected = "self with algorithm.every_move, which takes the other side for as good"
            require(fits, "actors.opponent", expected, self.actors.opponent)

    @property
    def keep_every(self) -> int | None:
        """Every how many games of an actor one is kept; None where none is, as of games that come from files."""
        keeps = self.run.keep_games > 0 and not isinstance(self.actors, GamesActorConfig)
        return self.run.keep_every if keeps else None

    @property
    def repeats(self) -> bool:
        """Whether the job depends only on counts, not on a clock or another process, so that all its runs are equal."""
        return self.cluster.kind == "serial" and self.run.minutes is None and self.replay.kind == "memory"

    @property
    def actor_count(self) -> int:
        """Actor processes of this job on this machine."""
        if isinstance(self.actors, GamesActorConfig):
            return 1
        if self.actors.count is not None:
            return self.actors.count
        free = cores() if self.learner_waits else cores() - 1
        return max(1, min(free // actor_threads(self.actors), (memory_bytes() - OTHERS_BYTES) // ACTOR_BYTES))

    @property
    def learner_waits(self) -> bool:
        """Whether the learner needs no core of its own: tables learn a game in less time than it is played."""
        return isinstance(self.actors, AfterstateActorConfig)

    def actors_of(self, group: str) -> ActorConfig:
        """Return how the actors of a group of a Ray cluster make games: `actors` with the group's own settings."""
        assert isinstance(self.cluster, RayClusterConfig)
        values = dataclasses.asdict(self.actors) | self.cluster.actors[group].settings
        return build(type(self.actors), values, f"cluster.actors.{group}.settings")

    @property
    def actor_device(self) -> Literal["auto", "cpu", "cuda"]:
        """Where the actors' network runs; only search can keep a GPU busy."""
        return self.actors.device if isinstance(self.actors, SearchActorConfig) else "cpu"


def job_of(values: Mapping[str, Any]) -> JobConfig:
    """Build the job from the composed configuration; a missing, unknown or wrongly typed value is a ConfigError."""
    absent: dict[str, Any] = {"init": None, "begun_from": None, "tracking": {}}  # old runs
    return build(JobConfig, absent | dict(values), "")


def with_absolute_paths(job: JobConfig) -> JobConfig:
    """Return the job with absolute paths of the files that its processes open, which are not where this one is."""
    registry, gate, actors = job.registry, job.gate, job.actors
    if registry.url is not None and "://" not in registry.url:
        registry = dataclasses.replace(registry, url=os.path.abspath(registry.url))
    if gate.openings is not None:
        gate = dataclasses.replace(gate, openings=os.path.abspath(gate.openings))
    if isinstance(actors, GamesActorConfig):
        actors = dataclasses.replace(actors, paths=tuple(map(os.path.abspath, actors.paths)))
    return dataclasses.replace(job, registry=registry, gate=gate, actors=actors)


def check_threads(job: JobConfig, cores: int) -> None:
    """Raise ConfigError for a job with more threads than `cores`: Ray would wait for cores, or all would be slow."""
    each = actor_threads(job.actors)
    wanted = job.actor_count * each + (0 if job.learner_waits else job.learner.threads)
    if wanted > max(2, cores):
        raise ConfigError(
            f"this job needs {wanted} threads but the machine allows {max(2, cores)}: actors.count={job.actor_count} "
            f"of {each} each (the larger of actors.threads and actors.tree_threads), and "
            f"learner.threads={job.learner.threads}; lower one"
        )
