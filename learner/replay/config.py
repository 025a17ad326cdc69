"""The replay's settings: how much is kept, the window that samples are drawn from, how often a position is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from reversi.settings import FINITE_ABOVE_0, above, at_least, between, require, require_ranges


@dataclass(frozen=True, kw_only=True)
class ReplayConfig:
    """The replay's sizes, its window and the reuse limit."""

    kind: Literal["memory", "redis"]
    """`memory`: the ring of one process, saved with the run; `redis`: `RedisReplayConfig`, which has more fields."""

    capacity_positions: Annotated[int, at_least(1)]
    """Positions the ring holds, at least 1; new ones replace the oldest. 102 bytes each on 8x8; memory is used only as
    the ring fills. At most what a saved replay has room for, 4 GiB: 41 million on 8x8. Raise it until the window fits.
    AlphaGo Zero: the last 500,000 games (AlphaZero: not stated)."""

    window_start: Annotated[int, at_least(1)]
    """Total positions up to which the window holds them all, n0 of KataGo's power law, at least 1. Lower it if early,
    weak games slow a short run. AlphaZero has a window of fixed size; KataGo: 250,000."""

    alpha: Annotated[float, above(0, 1)]
    """Exponent of the window's growth, above 0 and at most 1 (the window grows as fast as the data). KataGo: 0.75."""

    beta: Annotated[float, between(0, 1)]
    """Slope of the window at `window_start`, from 0 (a window of fixed size, as AlphaGo Zero's) to 1. KataGo: 0.4."""

    reuse: Annotated[float, FINITE_ABOVE_0]
    """Most times that a position is trained on, on average, above 0. 4 to 8 works well, 10 to 30 ruins the value head;
    raise it if the learner waits for actors. AlphaGo Zero: 1 to 2 (700,000 steps of 2,048, 4.9 million games)."""

    bucket_capacity: Annotated[int, at_least(1)]
    """Tokens (samples that may be drawn) at which the actors are told to wait; at least one draw of the learner.
    Smaller values keep actors and learner closer together. AlphaZero: unbounded."""

    min_positions: Annotated[int, at_least(1)]
    """Positions before the first sample is drawn, at least 1: a network trained on a handful of games overfits to
    them. AlphaZero: not stated."""

    def __post_init__(self) -> None:
        require_ranges(self, "replay")
        require(
            self.min_positions <= self.capacity_positions,
            "replay.min_positions",
            f"at most replay.capacity_positions ({self.capacity_positions})",
            self.min_positions,
        )
