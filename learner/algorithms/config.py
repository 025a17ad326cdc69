"""What the AlphaZero algorithm learns from a sample: the weight of every head and the mix of the value target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reversi.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class AlphaZeroConfig:
    """Policy and value targets from search and result, and KataGo's two auxiliary targets."""

    name: Literal["alphazero"]
    """Which algorithm; its targets and losses are in `learner/algorithms/alphazero.py`."""

    value_weight: float
    """Weight of the win-draw-loss cross-entropy against the policy's.  AlphaZero: 1."""

    margin_weight: float
    """Weight of the squared error of the final margin (in shares of the board).  AlphaZero: 0."""

    owner_weight: float
    """Weight of the squared error of each square's final owner, averaged over squares.  AlphaZero: 0; KataGo: 1.5/N^2
    a square; the head costs little and teaches the tower where discs survive."""

    value_mix: float
    """Share of the search's root value in the value target, 0 to 1; the rest is the result.  AlphaZero: 0.  Up to 0.2
    softens the noise of single games; more makes the network believe itself."""

    def __post_init__(self) -> None:
        for name in ("value_weight", "margin_weight", "owner_weight"):
            if not 0 <= getattr(self, name) <= 100:
                raise ConfigError(f"algorithm.{name} must be from 0 to 100, got {getattr(self, name)}")
        if not 0 <= self.value_mix <= 1:
            raise ConfigError(f"algorithm.value_mix must be from 0 to 1, got {self.value_mix}")
