"""The replay's settings: how much is kept, the window that samples are drawn from, how often a position is used."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from reversi.settings import require, require_ranges


@dataclass(frozen=True, kw_only=True)
class ReplayConfig:
    """The replay's sizes, its window and the reuse limit."""

    kind: Literal["memory", "redis"] = "memory"
    """`memory`: the ring of one process, saved with the run; `redis`: `RedisReplayConfig`, which has more fields."""

    capacity_positions: int = 1_000_000
    """Positions the ring holds, at least 1; new ones replace the oldest. 102 bytes each on 8x8; memory is used only as
    the ring fills. At most what a saved replay has room for, 4 GiB: 41 million on 8x8. Raise it until the window fits.
    AlphaGo Zero: the last 500,000 games (AlphaZero: not stated)."""

    window_start: int = 100_000
    """Total positions up to which the window holds them all, n0 of KataGo's power law, at least 1. Lower it if early,
    weak games slow a short run. AlphaZero has a window of fixed size; KataGo: 250,000."""

    alpha: float = 0.75
    """Exponent of the window's growth, above 0 and at most 1 (the window grows as fast as the data). KataGo: 0.75."""

    beta: float = 0.4
    """Slope of the window at `window_start`, from 0 (a window of fixed size, as AlphaGo Zero's) to 1. KataGo: 0.4."""

    reuse: float = 4.0
    """Most times that a position is trained on, on average, above 0. 4 to 8 works well, 10 to 30 ruins the value head;
    raise it if the learner waits for actors. AlphaGo Zero: 1 to 2 (700,000 steps of 2,048, 4.9 million games)."""

    bucket_capacity: int = 100_000
    """Tokens (samples that may be drawn) at which the actors are told to wait; at least one draw of the learner.
    Smaller values keep actors and learner closer together. AlphaZero: unbounded."""

    min_positions: int = 10_000
    """Positions before the first sample is drawn, at least 1: a network trained on a handful of games overfits to
    them. AlphaZero: not stated."""

    def __post_init__(self) -> None:
        require_ranges(
            self,
            "replay",
            capacity_positions=(1, inf),
            window_start=(1, inf),
            beta=(0, 1),
            bucket_capacity=(1, inf),
            min_positions=(1, inf),
        )
        require(0 < self.alpha <= 1, "replay.alpha", "above 0 and at most 1", self.alpha)
        require(0 < self.reuse < inf, "replay.reuse", "above 0", self.reuse)
        require(
            self.min_positions <= self.capacity_positions,
            "replay.min_positions",
            f"at most replay.capacity_positions ({self.capacity_positions})",
            self.min_positions,
        )
