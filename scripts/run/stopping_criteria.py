"""How far the training of a run is, and when it is finished: by time, by games, or with nothing left to learn."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripts.config.job import RunConfig

IDLE_ROUNDS = 2
"""Rounds of the learner without a step after the last game that end the run; one may have begun before that game."""


class StoppingCriteria:
    """The limits of a run, and what counts against them, over all its sessions."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self.games = 0
        """Games that the replay has taken."""
        self.before_s = 0.0
        """Seconds of training in earlier sessions."""
        self._began: float | None = None
        self._files_read = self._learned = False
        self._idle_rounds = 0

    def begin(self) -> None:
        """Start the clock: training begins."""
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds of training, earlier sessions included; what comes before `begin` is no training."""
        return self.before_s + (0.0 if self._began is None else time.monotonic() - self._began)

    @property
    def time_is_up(self) -> bool:
        """Whether the run has trained for its minutes."""
        return self._time_fraction >= 1.0

    @property
    def games_are_played(self) -> bool:
        """Whether the replay has taken the run's games."""
        return self._games_fraction >= 1.0

    @property
    def fraction(self) -> float:
        """Share of the run that has passed, 0 to 1, by time or by games, whichever is more."""
        return min(1.0, max(self._time_fraction, self._games_fraction))

    @property
    def plays_on(self) -> bool:
        """False when the run's games are played, or all game files are read."""
        return not (self._files_read or self.games_are_played)

    @property
    def training_finished(self) -> bool:
        """True when the time is up, nothing is left to learn from, or the learner has stopped early."""
        return self._learned or self.time_is_up or self._idle_rounds >= IDLE_ROUNDS

    def on_files_read(self) -> bool:
        """Note that all game files are read; return whether that is new."""
        new, self._files_read = not self._files_read, True
        return new

    def on_files_reread(self) -> None:
        """Note that the games of files are delivered again from the first."""
        self._files_read, self._idle_rounds = False, 0

    def on_learner_round(self, steps: int, finished: bool) -> None:
        """Note a round of the learner: its steps, and whether early stopping has ended its training."""
        self._learned |= finished
        self._idle_rounds = 0 if self.plays_on or steps else self._idle_rounds + 1

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps beside `elapsed_s` and `games`."""
        return {
            "files_read": self._files_read,
            "learned": self._learned,
            "idle_rounds": self._idle_rounds,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state()`, once `games` is set; a run that has been given more games plays on."""
        self._files_read, self._learned = bool(state["files_read"]), bool(state["learned"])
        self._idle_rounds = 0 if self.plays_on else int(state["idle_rounds"])

    @property
    def _time_fraction(self) -> float:
        return 0.0 if self._config.minutes is None else self.elapsed_s / (60 * self._config.minutes)

    @property
    def _games_fraction(self) -> float:
        return 0.0 if self._config.games is None else self.games / self._config.games


def raised_limit(minutes: float | None, games: int | None, trained_s: float, played: int) -> str:
    """Return the setting that lets a run go on: the limit that ended it, doubled until it is above what was done.

    A round of many games can go far beyond a small limit.
    """
    if games is not None and (minutes is None or played >= games):
        return f"run.games={_doubled(games, played)}"
    return f"run.minutes={_doubled(minutes or 1.0, trained_s / 60):g}"


def _doubled(limit: float, done: float) -> float:
    limit *= 2
    while limit <= done:
        limit *= 2
    return limit
