"""How an actor makes games: by search, by the value after the move, by epsilon-greedy play, or from files.

There is one configuration for each, distinguished by its `kind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from reversi.settings import above, at_least, between, require, require_ranges

MAX_RESCORE_EMPTIES = 20
"""Upper bound of `rescore_empties`: with more empty squares few positions are solved within their limit of nodes."""

LEAST_EMPTIES = 4
"""Fewest empty squares that a lesson begins with."""

MAX_LESSONS = 64
"""Upper bound of `lessons`."""


@dataclass(frozen=True, kw_only=True)
class SearchActorConfig:
    """Self-play by search: the settings of one actor process, and the number of processes."""

    kind: Literal["search"]
    """How games are made: by search."""

    count: Annotated[int | None, at_least(1)]
    """Actor processes; null is one for each core of this machine but the learner's, as far as memory goes.
    AlphaZero: 5,000 TPUs."""

    device: Literal["auto", "cpu", "cuda"]
    """Where the network runs; `auto` takes a GPU if torch finds one."""

    threads: Annotated[int, at_least(1)]
    """Threads of the network's inference in one actor.  One process per core with one thread is fastest on CPUs."""

    tree_threads: Annotated[int, at_least(1)]
    """Threads that grow the trees of a group while the network evaluates another group's positions.  1 beside a CPU
    network, which is a hundred times slower than the tree; all cores beside a GPU."""

    games: Annotated[int, at_least(1)]
    """Games that one actor plays at once.  More keep the hardware busier, but each game takes longer to end."""

    groups: Annotated[int, at_least(1)]
    """Groups that take turns with the network; a batch is `games` / `groups`.  With 2 the trees of one grow while the
    network evaluates the other's positions; with 1, tree and network alternate."""

    cache_positions: Annotated[int, at_least(0)]
    """Evaluations that an actor caches until new weights come; symmetric positions share one entry.  0: no cache.
    285 bytes each on 8x8."""

    weights: Literal["latest", "gated"]
    """Which weights play: the learner's newest averaged ones (AlphaZero, KataGo) or the champion (AlphaGo Zero)."""

    backend: Literal["auto", "openvino", "torch"]
    """Inference backend; `auto` takes OpenVINO where it is installed, and torch for a GPU."""

    precision: Literal["auto", "bf16", "float32"]
    """Inference precision; `auto` measures which one this CPU does faster."""

    opening_plies: Annotated[int, between(0, 30)]
    """A game begins with 0 to this many uniformly random plies (drawn per game), so that games differ.  A game that
    would end within them begins without any."""

    temperature: Annotated[float, above(0)]
    """Temperature of the move choice in the first `temperature_plies` plies: moves are drawn in proportion to
    visits^(1/temperature).  AlphaZero: 1.  With Gumbel search the noise at the root takes its place."""

    temperature_plies: Annotated[int, at_least(0)]
    """Plies (openings included) after which the best move is played.  AlphaGo Zero: 30 in Go; short games need fewer,
    because late random moves make results contradictory."""

    rescore_empties: Annotated[int, between(0, MAX_RESCORE_EMPTIES)]
    """Plies of a finished game with at most this many empty squares get exact targets where the solver finds them
    within half a millisecond; earlier plies learn the first exact result in place of the game's.  0: never; at most
    half a board.  AlphaZero: 0."""

    lessons: Annotated[int, between(0, MAX_LESSONS)]
    """Lessons made from every finished game, without network evaluations: the game up to a point, some random moves,
    and then the solver's moves to the end.  AlphaZero: 0."""

    lesson_empties: Annotated[int, between(LEAST_EMPTIES, MAX_RESCORE_EMPTIES)]
    """Most empty squares that a lesson begins with, 4 to 20 and at most half a board."""

    round_batches: Annotated[int, at_least(1)]
    """Most batches per group and round; between rounds an actor takes new weights and can be stopped."""

    round_s: Annotated[float, above(0)]
    """Seconds, above 0, after which a round ends with the batches in progress, although it has not had `round_batches`.
    With `cluster=serial` batches alone count, so that a run repeats exactly."""

    def __post_init__(self) -> None:
        require_ranges(self, "actors")
        require(self.games % self.groups == 0, "actors.games", f"a multiple of actors.groups={self.groups}", self.games)


@dataclass(frozen=True, kw_only=True)
class EpsilonActorConfig:
    """Epsilon-greedy games: the network's best action, or with probability epsilon a random one."""

    kind: Literal["epsilon"]
    """How games are made: by the network's best legal action, or with probability epsilon by a random legal one."""

    count: Annotated[int | None, at_least(1)]
    """Actor processes; null is one for each core of this machine but the learner's, as far as memory goes."""

    threads: Annotated[int, at_least(1)]
    """Threads of the network's inference in one actor."""

    games: Annotated[int, at_least(1)]
    """Games that one actor plays at once."""

    opponent: Literal["self", "random"]
    """The other side: the same network, or uniformly random moves, which are not trained on."""

    side: Literal["both", "first", "second"]
    """Which side the network takes against a random opponent: `both` alternates from game to game."""

    random_first: bool
    """Whether the first move of every game is random, whichever side makes it."""

    epsilon: Annotated[float, between(0, 1)]
    """Probability of a random move when the run begins, 0 to 1.  DQN: 1."""

    final_epsilon: Annotated[float, between(0, 1)]
    """Probability of a random move from `epsilon_share` of the run on, 0 to 1.  DQN: 0.1."""

    epsilon_share: Annotated[float, between(0, 1)]
    """Share of the run over which it changes linearly from `epsilon` to `final_epsilon`, 0 to 1.  DQN: 0.02."""

    weights: Literal["latest", "gated"]
    """Which weights play."""

    backend: Literal["auto", "openvino", "torch"]
    """Inference backend; `auto` takes OpenVINO where it is installed."""

    round_games: Annotated[int, at_least(1)]
    """Games after which a round ends; between rounds an actor takes new weights and can be stopped."""

    def __post_init__(self) -> None:
        require_ranges(self, "actors")


@dataclass(frozen=True, kw_only=True)
class AfterstateActorConfig:
    """Games by the best value after the move, with pattern tables."""

    kind: Literal["afterstate"]
    """How games are made: by the value after the move, without search."""

    count: Annotated[int | None, at_least(1)]
    """Actor processes; null is one for each core of this machine, as far as memory goes: the learner is quicker than
    they are."""

    threads: Annotated[int, at_least(1)]
    """Threads that play; one process per core with one thread is as fast."""

    depth: Annotated[int, between(1, 6)]
    """Moves that the mover looks ahead by alpha-beta: 1 takes the best value after the move.  The values that it finds
    are learned, so deeper ones teach more a game, and a game costs about three times as much for each."""

    depth_from: Annotated[float, between(0, 1)]
    """Share of the run from which the mover looks `depth` moves ahead; before it, one."""

    explore: Annotated[float, between(0, 1)]
    """Probability of a uniformly random move in place of the best one."""

    opening_plies: Annotated[int, between(2, 30)]
    """A game begins with 2 to this many uniformly random plies, so that games differ; on smaller boards in proportion.
    A game that would end within them begins without any."""

    long_openings: Annotated[float, between(0, 1)]
    """Share of the games whose opening has a sixth to three quarters of the game's plies instead: they show positions
    that good play does not reach, and in which a search needs values too."""

    exact_empties: Annotated[int, between(0, 20)]
    """The exact solver plays from this many empty squares, at most half a board, to the end.  On 8x8 a game's ending
    takes 0.06 ms with 10, twice to three times as long with every square more."""

    weights: Literal["latest", "gated"]
    """Which weights play."""

    round_games: Annotated[int, at_least(1)]
    """Games of a round; between rounds an actor takes new weights and can be stopped."""

    search_from: Annotated[float, between(0, 1)]
    """Share of the run after which games are made by search, with the tables and the settings of `search`; 1: never."""

    search: SearchActorConfig
    """How games are made then; of it `count`, `threads` and `weights` have no effect."""

    def __post_init__(self) -> None:
        require_ranges(self, "actors")


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

    max_games: Annotated[int | None, at_least(2)]
    """Most games used, chosen by a hash of their moves; null uses all."""

    validation_share: Annotated[float, between(0, 0.5)]
    """Share of the games that is held out for validation, 0 to 0.5; whole games, by a hash of their moves, so that a
    game is on the same side in every run."""

    round_games: Annotated[int, between(1, 20_000)]
    """Games delivered in one round, 1 to 20,000; of more than 1,024 rounds as many more as make it 1,024."""

    column: str | None
    """Header of the column of transcripts in CSV files; null finds `transcript`, `moves` or `game_transcript`."""

    def __post_init__(self) -> None:
        require(self.count in (None, 1), "actors.count", "null or 1", self.count)
        require(len(self.paths) > 0, "actors.paths", "at least one file or pattern", list(self.paths))
        require_ranges(self, "actors")


ActorConfig = SearchActorConfig | AfterstateActorConfig | EpsilonActorConfig | GamesActorConfig


def actor_threads(config: ActorConfig) -> int:
    """Return how many threads one actor process keeps busy."""
    if isinstance(config, SearchActorConfig):
        return max(config.threads, config.tree_threads)
    return config.threads if isinstance(config, AfterstateActorConfig | EpsilonActorConfig) else 1
