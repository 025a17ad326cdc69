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

    threads: int
    """Threads of the network's inference in one actor.  One process per core with one thread is fastest on CPUs."""

    games: int
    """Games that one actor plays in lockstep: the batch of its network.  More fill the hardware, but make a game older
    when it ends.  256 is near the peak of a CPU with AMX."""

    weights: Literal["latest", "gated"]
    """Which weights play: the learner's newest averaged ones (AlphaZero, KataGo) or the champion (AlphaGo Zero)."""

    backend: Literal["auto", "openvino", "torch"]
    """Inference backend; `auto` takes OpenVINO where it is installed."""

    precision: Literal["auto", "bf16", "float32"]
    """Inference precision; `auto` measures which one this CPU does faster."""

    opening_plies: int
    """A game begins with 0 to this many uniformly random plies (drawn per game), so that games differ.  At most 8: no
    Reversi game can end that early."""

    temperature: float
    """Temperature of the move choice in the first `temperature_plies` plies: moves are drawn in proportion to
    visits^(1/temperature).  AlphaZero: 1."""

    temperature_plies: int
    """Plies (openings included) after which the most visited move is played.  AlphaGo Zero: 30 in Go; short games want
    fewer, because late random moves make contradictory results."""

    round_plies: int
    """Lockstep plies per round; between rounds an actor takes new weights and can be stopped.  A round should take
    well under 5 s."""

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise ConfigError(f"actors.count must be null or at least 1, got {self.count}")
        for name in ("threads", "games", "round_plies"):
            if getattr(self, name) < 1:
                raise ConfigError(f"actors.{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.opening_plies <= 8:
            raise ConfigError(f"actors.opening_plies must be from 0 to 8, got {self.opening_plies}")
        if self.temperature <= 0:
            raise ConfigError(f"actors.temperature must be positive, got {self.temperature}")
        if self.temperature_plies < 0:
            raise ConfigError(f"actors.temperature_plies must not be negative, got {self.temperature_plies}")
