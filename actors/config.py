"""How an actor makes games: by search, by a network's best action and some chance, or out of files.

One configuration for each way, told apart by its `kind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from reversi.settings import require, require_ranges

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
        require_ranges(
            self,
            "actors",
            count=(1, inf),
            threads=(1, inf),
            tree_threads=(1, inf),
            games=(1, inf),
            groups=(1, inf),
            cache_positions=(0, inf),
            opening_plies=(0, 30),
            temperature_plies=(0, inf),
            rescore_empties=(0, MAX_RESCORE_EMPTIES),
            lessons=(0, MAX_LESSONS),
            lesson_empties=(LEAST_EMPTIES, MAX_RESCORE_EMPTIES),
            round_batches=(1, inf),
        )
        require(self.games % self.groups == 0, "actors.games", f"a multiple of actors.groups={self.groups}", self.games)
        require(self.temperature > 0, "actors.temperature", "above 0", self.temperature)


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
        require_ranges(
            self,
            "actors",
            count=(1, inf),
            threads=(1, inf),
            games=(1, inf),
            epsilon=(0, 1),
            final_epsilon=(0, 1),
            epsilon_share=(0, 1),
            round_games=(1, inf),
        )


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
        require(self.count in (None, 1), "actors.count", "null or 1", self.count)
        require(len(self.paths) > 0, "actors.paths", "at least one file or pattern", list(self.paths))
        require_ranges(self, "actors", max_games=(2, inf), validation_share=(0, 0.5), round_games=(1, 20_000))


ActorConfig = SearchActorConfig | EpsilonActorConfig | GamesActorConfig


def actor_threads(config: ActorConfig) -> int:
    """Return the threads that one actor process keeps busy."""
    if isinstance(config, SearchActorConfig):
        return max(config.threads, config.tree_threads)
    return config.threads if isinstance(config, EpsilonActorConfig) else 1
