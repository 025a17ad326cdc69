"""How a model came about: the run that trained it, what that had spent by then, and the promotions before its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from reversi.model.weights import LARGEST_VERSION
from reversi.settings import at_least, between, require, require_ranges

MOST_PROMOTIONS = 50
"""Most promotions that a model's description holds, the newest."""

MOST_TEXT = 1 << 16
"""Longest text in a description, in characters."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """The run that trains, as its models tell it."""

    run: str
    """Its name for people."""
    algorithm: str
    program: str
    """The program, with its version."""
    machine: str
    """The hardware in words."""
    cores: Annotated[int | None, at_least(1)]
    """Cores that it may use; None on a cluster."""
    configuration: str
    """What determines the training, as YAML, without places and secrets."""

    def __post_init__(self) -> None:
        require_ranges(self, "training")
        for name in ("run", "algorithm", "program", "machine", "configuration"):
            text = getattr(self, name)
            lines = text.split("\n") if name == "configuration" else [text]
            fits = len(text) <= MOST_TEXT and all(line.isprintable() for line in lines)
            require(fits, f"training.{name}", "printable text", text[:80])


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a run had spent when a model was judged."""

    seconds: Annotated[float, at_least(0)]
    """Seconds of training."""
    games: Annotated[int, at_least(0)]
    positions: Annotated[int, at_least(0)]

    def __post_init__(self) -> None:
        require_ranges(self, "spent")


@dataclass(frozen=True, kw_only=True)
class Promotion:
    """A match that made a version the champion."""

    version: Annotated[int, between(0, LARGEST_VERSION)]
    opponent_version: Annotated[int, between(0, LARGEST_VERSION)]
    wins: Annotated[int, between(0, LARGEST_VERSION)]
    draws: Annotated[int, between(0, LARGEST_VERSION)]
    losses: Annotated[int, between(0, LARGEST_VERSION)]
    elo: float
    """Elo difference to the opponent."""

    def __post_init__(self) -> None:
        require_ranges(self, "history")
