"""`Strength`: what champions score against opponents that stay the same, between the matches of the gate.

Elo against one's own ancestors is inflated, and a candidate that beats the champion may have lost to what the champion
beat.  So every champion, and some candidates, play fixed opponents, and a promoted model three older champions.  A
champion whose interval lies below that of an earlier one against the same opponent is reported as fallen.
"""

from __future__ import annotations

import logging
import math
import re
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator.config import GateConfig
from evaluator.contestants import Contestants
from evaluator.match import Match
from evaluator.openings import Openings, load_openings, random_openings
from evaluator.stats import score_of
from reversi.errors import ConfigError, ReversiError
from reversi.games.rules import TICTACTOE, Game
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from reversi.players import Player, make_player

log = logging.getLogger(__name__)

OLDER = 3
"""Older champions that a promoted model plays."""

_OLDER = re.compile("v[0-9]+")
"""The name of an older champion."""


@dataclass(frozen=True, kw_only=True)
class StrengthReport:
    """A finished match against a fixed opponent or an older champion, from the model's view."""

    opponent: str
    """The opponent's name: its specification, or `v12`, an older champion."""
    version: int
    """The model's version."""
    champion: bool
    """Whether it was the champion, or the first model."""
    wins: int
    """Games it won."""
    draws: int
    """Games drawn."""
    losses: int
    """Games it lost."""
    score: float
    """Points per game, a draw counting half."""
    score_low: float
    """Lower end of its 95 % interval."""
    score_high: float
    """Upper end of its 95 % interval."""
    fallen: bool
    """Whether the interval of this champion lies below that of an earlier one."""
    share: float
    """Share of the gate's time spent on all such matches since the run began."""

    @property
    def summary(self) -> str:
        """One line for people."""
        fallen = "; an earlier champion scored more" if self.fallen else ""
        counts = f"{self.wins}-{self.draws}-{self.losses}"
        interval = f"[{self.score_low:.3f}, {self.score_high:.3f}]"
        return f"version {self.version} against {self.opponent}: {counts}, score {self.score:.3f} {interval}{fallen}"


class Strength:
    """Matches of the newest champion, or of a candidate, one after the other.  A match that a stop or a death cuts
    short is played again from its beginning."""

    def __init__(self, config: GateConfig, game: Game, registry: Registry, seed: int, *, by_clock: bool) -> None:
        """by_clock  keep to the configured share of the time; else every round plays a whole match, so that equal runs
                  have equal rounds

        Raises ConfigError for an opponent that cannot be played.
        """
        self._config, self._game, self._registry = config, game, registry
        self._seed, self._by_clock = seed, by_clock
        self._contestants = Contestants(config, game)
        self._fixed = () if game.id == TICTACTOE else config.opponents
        try:
            for name in self._fixed:
                self._opponent(name)
        except ReversiError as error:
            raise ConfigError(f"gate.opponents: {error}") from error
        self._openings = _openings(config, game, seed) if self._fixed else None
        self._weights: Weights | None = None
        self._champion = False
        self._pending: list[str] = []
        self._match: Match | None = None
        self._best: dict[str, float] = {}
        self._results: list[dict[str, Any]] = []
        self._candidates = 0
        self._spent_s = self._before_s = 0.0
        self._began_s = time.monotonic()

    def judged(self, weights: Weights, champions: list[int], *, promoted: bool) -> None:
        """Let a model that has been judged play next, if it is due.

        champions  versions of all champions so far, oldest first; a promoted one is the last of them
        """
        self._candidates += not promoted
        every = self._config.opponent_every
        due = promoted or (every and self._candidates % every == 0 and not self._pending)
        if not self._fixed or not due:
            return
        self._weights, self._champion, self._match, self._results = weights, promoted, None, []
        older = [f"v{champions[index]}" for index in older_champions(len(champions) - 1)] if promoted else []
        self._pending = [*self._fixed, *older]

    @property
    def due(self) -> bool:
        """Whether a match is to be played now."""
        return bool(self._pending) and (not self._by_clock or self.share < self._config.opponent_share)

    @property
    def share(self) -> float:
        """Share of the gate's time spent on these matches."""
        return self._spent_s / max(self._clock_s, 1e-9)

    @property
    def _clock_s(self) -> float:
        return self._before_s + time.monotonic() - self._began_s

    def round(self, seconds: float) -> StrengthReport | None:
        """Play for about `seconds`; return a match that is finished.

        What is only measured never ends a run: a match whose models cannot be read is left out, with a warning.
        """
        assert self._weights is not None
        name, began_s = self._pending[0], time.monotonic()
        try:
            if self._match is None:
                self._match = self._match_against(name, self._weights)
            done = self._match.round(seconds if self._by_clock else math.inf)
            self._spent_s += time.monotonic() - began_s
            if not done:
                return None
            self._pending.pop(0)
            return self._finished(name, self._match, self._weights)
        except ReversiError as error:
            log.warning("no result of version %d against %s: %s", self._weights.version, name, error)
            self._pending = [other for other in self._pending if other != name]
            return None

    def _finished(self, name: str, match: Match, weights: Weights) -> StrengthReport:
        score, self._match = score_of(match.result()), None
        low, high = score.interval
        report = StrengthReport(
            opponent=name,
            version=weights.version,
            champion=self._champion,
            wins=score.wins,
            draws=score.draws,
            losses=score.losses,
            score=score.score,
            score_low=low,
            score_high=high,
            fallen=self._champion and high < self._best.get(name, 0.0),
            share=self.share,
        )
        if self._champion:
            self._best[name] = max(low, self._best.get(name, 0.0))
            counts = {key: getattr(score, key) for key in ("wins", "draws", "losses")}
            self._results.append({"name": name, **counts, "points": score.score, "low": low, "high": high})
            if not self._pending:
                self._registry.add_opponents(weights.version, self._results)
        return report

    def state(self) -> tuple[dict[str, Any], Weights | None]:
        """Return what is not finished, as JSON values, and the model that plays; {} where nothing ever plays.

        Without times unless it goes by the clock: two equal runs have equal states.
        """
        if not self._fixed:
            return {}, None
        header = {
            "champion": self._champion,
            "pending": self._pending,
            "best": self._best,
            "results": self._results,
            "candidates": self._candidates,
            **({"spent_s": self._spent_s, "clock_s": self._clock_s} if self._by_clock else {}),
        }
        return header, self._weights if self._pending else None

    def restore(self, header: dict[str, Any], weights: Weights | None) -> None:
        """Continue from `state()`; opponents that the configuration no longer has are left out."""
        self._weights, self._champion = weights, bool(header["champion"])
        known = [name for name in header["pending"] if name in self._fixed or _OLDER.fullmatch(name)]
        self._pending = known if weights is not None and self._fixed else []
        self._best, self._results = dict(header["best"]), list(header["results"])
        self._candidates = int(header["candidates"])
        self._spent_s, self._before_s = float(header.get("spent_s", 0)), float(header.get("clock_s", 0))
        self._began_s = time.monotonic()

    def _match_against(self, name: str, weights: Weights) -> Match:
        assert self._openings is not None
        openings, older = self._openings, name not in self._fixed
        opponent = self._contestants.playing(self._registry.load(self._registry.get(int(name[1:])))) if older else None
        return Match(
            self._game,
            self._contestants.playing(weights),
            opponent or self._opponent(name),
            openings,
            2 * len(openings),
            games_at_once=self._config.games_at_once,
        )

    def _opponent(self, name: str) -> Player:
        return make_player(name, self._game, registry=self._registry.url, seed=self._seed)


def older_champions(number: int) -> list[int]:
    """Return which of the champions 0, 1, ... champion `number` plays: the largest powers of two below it, so that
    several in a row play the same ones."""
    powers = [1 << bit for bit in range(number.bit_length()) if 1 << bit < number]
    return ([0] if number else []) + powers if len(powers) < OLDER else powers[-OLDER:]


def _openings(config: GateConfig, game: Game, seed: int) -> Openings:
    """Return the openings of all these matches, fewer where the game has fewer."""
    count = config.opponent_games // 2
    if config.openings is None:
        return random_openings(game, count, config.opening_plies, seed, least=1)
    listed = load_openings(config.openings, game)
    return listed.take(np.arange(min(count, len(listed))))
