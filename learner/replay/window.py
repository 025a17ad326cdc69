"""The window: how many of the newest positions training draws from; it grows with the total number of positions.

KataGo's power law (Wu 2019, "Accelerating Self-Play Learning in Go", https://arxiv.org/abs/1902.10565, appendix C):
early positions from weak play are dropped soon; later the window grows a little more slowly than the data.
"""

from __future__ import annotations

from learner.replay.config import ReplayConfig


def window_positions(total: int, config: ReplayConfig) -> int:
    """Return W(N) = n0 (1 + beta ((N / n0)^alpha - 1) / alpha) for N = `total` positions since the run began.

    n0 is `window_start`: up to it the window is all positions; the ring's capacity is an upper bound.
    """
    start = config.window_start
    if total <= start:
        return min(total, config.capacity_positions)
    grown = start * (1 + config.beta * ((total / start) ** config.alpha - 1) / config.alpha)
    return min(int(grown), total, config.capacity_positions)
