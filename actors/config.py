"""How an actor makes games: by search, by a network's best action and some chance, or out of files.

One configuration for each way, told apart by its `kind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reversi.errors import ConfigError

MAX_RESCORE_EMPTIES = 20
"""Bound of `rescore_empties`: with more empty squares hardly a position is solved in the time that it is given."""

LEAST_EMPTIES = 4
"""Empty squares that a lesson begins with at least."""

MAX_LESSONS = 64
"""Bound of `lessons`."""


@dataclass(frozen=True, kw_only=True)
class SearchActorConfig:
    """Self-play by search of one actor process, and how many of them there are."""

    kind: Literal["search"]
    """How games are made: by search."""

    count: int | None
    """Actor processes; null takes the machine's cores less one for the learner.  AlphaZero: 5,000 TPUs."""

    device: Literal["auto", "cpu", "cuda"]
    """Where the network runs; `auto` takes a GPU if torch finds one."""

    threads: int
    """Threads of the network's inference in one actor.  One process per core with one thread is fastest on CPUs."""

    tree_threads: int
    """Threads that grow the trees of a group, while the network judges another group's positions.  1 beside a CPU
    network, which is a hundred times slower than the tree; a GPU wants all cores."""

    games: int
    """Games that one actor plays at once.  More fill the hardware, but make a game older when it ends."""

    groups: int
    """Groups that take turns with the network; a batch is `games` / `groups`.  With 2 the trees of one grow while the
    network judges the other's positions; with 1 tree and network alternate."""

    cache_positions: int
    """Positions whose answers an actor remembers until new weights come, equal up to symmetry counted once; 0 is none.
    285 bytes each on 8x8."""

    weights: Literal["latest", "gated"]
    """Which weights play: the learner's newest averaged ones (AlphaZero, KataGo) or the champion (AlphaGo Zero)."""

    backend: Literal["auto", "openvino", "torch"]
    """Inference backend; `auto` takes OpenVINO where it is installed, and torch for a GPU."""

    precision: Literal["auto", "bf16", "float32"]
    """Inference precision; `auto` measures which one this CPU does faster."""

    opening_plies: int
    """A game begins with 0 to this many uniformly random plies (drawn per game), so that games differ.  A game that
    ends among them begins without any."""

    temperature: float
    """Temperature of the move choice in the first `temperature_plies` plies: moves are drawn in proportion to
    visits^(1/temperature).  AlphaZero: 1.  With Gumbel the noise at the root draws instead."""

    temperature_plies: int
    """Plies (openings included) after which the best move is played.  AlphaGo Zero: 30 in Go; short games want fewer,
    because late random moves make contradictory results."""

    rescore_empties: int
    """Empty squares from which on the plies of a finished game teach perfect play, as far as the solver finds it in
    half a millisecond, and those before its first result in place of the game's; 0 never, at most half a board.
    AlphaZero: 0."""

    lessons: int
    """Lessons made of every game that ends, without asking the network: the game with some random moves, and from
    there to its end as the solver plays.  AlphaZero: 0."""

    lesson_empties: int
    """Empty squares that a lesson begins with at most, 4 to 20 and at most half a board."""

    round_batches: int
    """Batches per group and round; between rounds an actor takes new weights and can be stopped.  A round should take
    well under 5 s."""

    def __post_init__(self) -> None:
        _require_count(self.count)
        for name, least in {
            **dict.fromkeys(("threads", "tree_threads", "games", "groups", "round_batches"), 1),
            **dict.fromkeys(("cache_positions", "temperature_plies"), 0),
        }.items():
            if getattr(self, name) < least:
                raise ConfigError(f"actors.{name} must be at least {least}, got {getattr(self, name)}")
        if self.games % self.groups:
            raise ConfigError(f"actors.games must be a multiple of actors.groups={self.groups}, got {self.games}")
        if not 0 <= self.opening_plies <= 30:
            raise ConfigError(f"actors.opening_plies must be from 0 to 30, got {self.opening_plies}")
        if not 0 <= self.rescore_empties <= MAX_RESCORE_EMPTIES:
            got = self.rescore_empties
            raise ConfigError(f"actors.rescore_empties must be from 0 to {MAX_RESCORE_EMPTIES}, got {got}")
        if not 0 <= self.lessons <= MAX_LESSONS:
            raise ConfigError(f"actors.lessons must be from 0 to {MAX_LESSONS}, got {self.lessons}")
        if not LEAST_EMPTIES <= self.lesson_empties <= MAX_RESCORE_EMPTIES:
            expected = f"from {LEAST_EMPTIES} to {MAX_RESCORE_EMPTIES}"
            raise ConfigError(f"actors.lesson_empties must be {expected}, got {self.lesson_empties}")
        if self.temperature <= 0:
            raise ConfigError(f"actors.temperature must be positive, got {self.temperature}")


@dataclass(frozen=True, kw_only=True)
class EpsilonActorConfig:
    """Games of a network's best actions, with a chance of a random one: how Q-learning explores."""

    kind: Literal["epsilon"]
    """How games are made: by the network's best legal action, or with chance epsilon by any legal one."""

    count: int | None
    """Actor processes; null takes the machine's cores less one for the learner."""

    threads: int
    """Threads of the network's inference in one actor."""

    games: int
    """Games that one actor plays at once."""

    opponent: Literal["self", "random"]
    """Who the other side is: the same network, or uniformly random moves, of which nothing is learned."""

    side: Literal["both", "first", "second"]
    """Which side the network takes against a random opponent: `both` in turns, or always the same."""

    random_first: bool
    """Whether the first move of every game is random, whoever makes it."""

    epsilon: float
    """Chance of a random move when the run begins, 0 to 1.  DQN: 1."""

    final_epsilon: float
    """Chance of a random move from `epsilon_share` of the run on, 0 to 1.  DQN: 0.1."""

    epsilon_share: float
    """Share of the run in which it falls from the one to the other in a straight line, 0 to 1.  DQN: 0.02."""

    weights: Literal["latest", "gated"]
    """Which weights play."""

    backend: Literal["auto", "openvino", "torch"]
    """Inference backend; `auto` takes OpenVINO where it is installed."""

    round_games: int
    """Games after which a round ends; between rounds an actor takes new weights and can be stopped."""

    def __post_init__(self) -> None:
        _require_count(self.count)
        for name in ("threads", "games", "round_games"):
            _require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        for name in ("epsilon", "final_epsilon", "epsilon_share"):
            _require(0 <= getattr(self, name) <= 1, name, "from 0 to 1", getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class GamesActorConfig:
    """Games that were played elsewhere, read from files, once each, in a random order."""

    kind: Literal["games"]
    """How games are made: they are read."""

    count: int | None
    """Actor processes; only 1 (or null, which is 1 here)."""

    paths: tuple[str, ...]
    """Files, or patterns such as `games/*.wtb`: WTHOR (`.wtb`), CSV with a column of transcripts (`.csv`), transcripts
    one a line (`.txt`), GGF (`.ggf`), SGF (`.sgf`)."""

    max_games: int | None
    """Games that are used, drawn at random from all; null uses all."""

    validation_share: float
    """Share of the games that is kept aside and never trained on, 0 to 0.5; whole games, by a hash of their moves, so
    that the same game is on the same side in every run."""

    round_games: int
    """Games delivered in one round, 1 to 20,000."""

    column: str | None = None
    """Header of the column of transcripts in CSV files; null finds `transcript`, `moves` or `game_transcript`."""

    def __post_init__(self) -> None:
        _require(self.count in (None, 1), "count", "null or 1", self.count)
        _require(len(self.paths) > 0, "paths", "at least one file or pattern", list(self.paths))
        _require(self.max_games is None or self.max_games >= 2, "max_games", "null or at least 2", self.max_games)
        _require(0 <= self.validation_share <= 0.5, "validation_share", "from 0 to 0.5", self.validation_share)
        _require(1 <= self.round_games <= 20_000, "round_games", "from 1 to 20000", self.round_games)


ActorConfig = SearchActorConfig | EpsilonActorConfig | GamesActorConfig


def actor_threads(config: ActorConfig) -> int:
    """Return the threads that one actor process keeps busy."""
    if isinstance(config, SearchActorConfig):
        return max(config.threads, config.tree_threads)
    return config.threads if isinstance(config, EpsilonActorConfig) else 1


def _require_count(count: int | None) -> None:
    _require(count is None or count >= 1, "count", "null or at least 1", count)


def _require(fits: bool, name: str, expected: str, got: object) -> None:
    if not fits:
        raise ConfigError(f"actors.{name} must be {expected}, got {got}")
