"""`GateOpenings`: the openings of a candidate's match."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from evaluator.balance import most_even
from evaluator.config import GateConfig
from evaluator.openings import Openings, load_openings, random_openings
from reversi.errors import ConfigError
from reversi.games.rules import Game
from reversi.players import Player, SearchPlayer

SLICE = 32
"""Positions judged at a time.  One core took 0.3 s for the search of as many with 16 simulations and 6 blocks x 96
channels on 8x8, and 1.1 s with 64; larger slices were not faster."""


class GateOpenings:
    """Openings by candidate: the same for the same candidate and opponent, others for other candidates."""

    def __init__(self, config: GateConfig, game: Game, seed: int) -> None:
        """Read the listed openings, if any; raises ConfigError or UsageError if there are too few for a match."""
        self._config, self._game, self._seed = config, game, seed
        self._listed = load_openings(config.openings, game) if config.openings else None
        self.drawn(0)

    def choose(self, version: int, opponent: Player) -> Generator[None, None, Openings]:
        """Return the openings of the match of candidate `version` against `opponent`; yields after every `SLICE`.

        Of random openings the match plays those with values nearest to 0, if the opponent is a model with a value.
        """
        drawn, count = self.drawn(version), self._config.games // 2
        if len(drawn) == count or not isinstance(opponent, SearchPlayer):
            return drawn.take(np.arange(count))
        values = np.empty(len(drawn), np.float32)
        for rows in slices(len(drawn)):
            values[rows] = opponent.judge(drawn.own[rows], drawn.opp[rows]).value
            yield
        return most_even(drawn, count, values)

    def drawn(self, version: int) -> Openings:
        """Return the openings from which candidate `version`'s match chooses, at least half as many as its games."""
        config, count = self._config, self._config.games // 2
        if self._listed is None:
            return random_openings(
                self._game, config.openings_drawn, config.opening_plies, (self._seed, version), count
            )
        if len(self._listed) < count:
            raise ConfigError(
                f"gate.openings must have at least {count} lines for gate.games={config.games}, "
                f"got {len(self._listed)} in {config.openings}"
            )
        drawn = np.random.default_rng((self._seed, version)).permutation(len(self._listed))[:count]
        return self._listed.take(drawn)


def slices(count: int) -> Iterator[slice]:
    """Yield the parts, `SLICE` long, of `count` positions."""
    return (slice(start, start + SLICE) for start in range(0, count, SLICE))
