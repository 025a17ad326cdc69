"""`Engine`: what a started program can do, whatever it speaks; `EngineLimits`: how long it is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reversi.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class EngineLimits:
    """How much patience a program gets."""

    start_s: float = 30.0
    """From the program's start until it has agreed to the board."""

    move_s: float = 60.0
    """For a move, the moves before it that it has to be told included."""

    restarts: int = 5
    """How often a program that failed is started again; after one more failure it gives up all games that are left.
    Failures are forgotten after a hundred moves without one."""

    def __post_init__(self) -> None:
        if not (self.start_s > 0 and self.move_s > 0 and self.restarts >= 0):
            raise ConfigError(f"expected times above 0 and restarts from 0, got {self}")


class Engine(Protocol):
    """A program that runs and has agreed to play; every method raises EngineError when it does not do as it should."""

    def choose(self, history: Sequence[int], /) -> int | None:
        """Return what it answers after these actions from the start position, unchecked; None if it resigns."""
        ...

    def stop(self) -> None:
        """End the program: ask it to, then make it.  Never fails, may be called again."""
        ...
