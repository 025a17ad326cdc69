"""What an actor does between two searches: how many games, how they open, how moves are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reversi.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ActorConfig:
    """Self-play of one actor process, and how many of them there are."""

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

    round_batches: int
    """Batches per group and round; between rounds an actor takes new weights and can be stopped.  A round should take
    well under 5 s."""

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise ConfigError(f"actors.count must be null or at least 1, got {self.count}")
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
        if self.temperature <= 0:
            raise ConfigError(f"actors.temperature must be positive, got {self.temperature}")
