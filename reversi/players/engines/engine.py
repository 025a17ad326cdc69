"""`Engine`: the interface of a started program, for any protocol; `EngineLimits`: its time limits and restarts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reversi.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class EngineLimits:
    """Time limits and restarts of a program."""

    start_s: float = 30.0
    """Time from the program's start until it has accepted the board."""

    move_s: float = 60.0
    """Time for a move, including the transmission of earlier moves."""

    restarts: int = 5
    """Maximum number of restarts after failures; after one more failure the program forfeits all games that are left.
    The count is reset after a hundred moves without a failure."""

    def __post_init__(self) -> None:
        if not (self.start_s > 0 and self.move_s > 0 and self.restarts >= 0):
            raise ConfigError(f"expected times above 0 and restarts from 0, got {self}")


class Engine(Protocol):
    """A running program that has accepted the game."""

    def choose(self, history: Sequence[int], /) -> int | None:
        """Return its action, unchecked, after these actions from the start position; None if it resigns.

        Raises EngineError if the program fails.
        """

    def stop(self) -> None:
        """End the program, by request first and then by force.  Never fails; may be called again."""
