"""The player that a model is: its bare policy, or a search of so many simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import Game
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate

if TYPE_CHECKING:
    from reversi.model.weights import Weights

MARGIN_WEIGHT = 0.0
"""`SearchConfig.margin_weight` of a model that plays, where nothing else is asked for."""

SOLVE_EMPTIES = 12
"""`SearchConfig.solve_empties` of such a model: docs/experiments.md 21."""

POLICY_TEMPERATURE = 2.0
"""`SearchConfig.policy_temperature` of such a model: flatter priors find moves that the network thinks little of.  With
`C_PUCT` worth some 20 Elo against self-play's 1 and 1.5 (docs/experiments.md 25)."""

C_PUCT = 0.8
"""`SearchConfig.c_puct` of such a model: values count for more, now that the priors are flatter."""

MIN_VISIT_SHARE = 0.5
"""`SearchConfig.min_visit_share` of such a model: docs/experiments.md 27."""

BOUNDS = True
"""`SearchConfig.bounds` of such a model, some 7 Elo: docs/experiments.md 30."""

WIPEOUTS = True
"""`SearchConfig.wipeouts` of such a model: docs/experiments.md 37."""

_BATCH = 256
"""Positions searched at once; the network gains nothing from more."""


class SearchPlayer:
    """Plays what a search without noise would (`root_action`); with 0 simulations the likeliest action."""

    def __init__(self, name: str, game: Game, evaluate: Evaluate, config: SearchConfig) -> None:
        """The same positions get the same answers: there is no randomness in it, and no memory between calls."""
        self.name = name
        self.config = config
        self.batch = batch_of(config.simulations)
        """Positions that are searched at once."""
        self._search = Search(game, config, evaluate, self.batch)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Search all positions and return the actions to play."""
        return self.judge(own, opp).action

    def judge(self, own: Masks, opp: Masks) -> SearchResult:
        """Search all positions, as many at a time as there are trees, and return what was found."""
        parts = [slice(start, start + self.batch) for start in range(0, max(1, len(own)), self.batch)]
        found = [self._search.run(own[part], opp[part]) for part in parts]
        return found[0] if len(found) == 1 else SearchResult.concatenate(found)


def model_player(
    name: str, game: Game, weights: Weights, config: SearchConfig, *, threads: int = 1, backend: str = "auto"
) -> SearchPlayer:
    """Return the player that searches with `weights`, which must be of `game`, as `config` says."""
    from reversi.model.evaluate import open_evaluator

    weights.check_game(game)
    evaluate = open_evaluator(
        weights,
        backend=backend,
        batch=batch_of(config.simulations),
        threads=threads,
        margin_weight=config.margin_weight,
    )
    return SearchPlayer(name, game, evaluate, config)


def playing_config(
    simulations: int,
    *,
    margin_weight: float = MARGIN_WEIGHT,
    solve_empties: int = SOLVE_EMPTIES,
    c_puct: float = C_PUCT,
    policy_temperature: float = POLICY_TEMPERATURE,
    min_visit_share: float = MIN_VISIT_SHARE,
    bounds: bool = BOUNDS,
    wipeouts: bool = WIPEOUTS,
) -> SearchConfig:
    """Return how a search of `simulations` plays: no noise, and as many leaves at a time as it can bear.

    A search of thousands of simulations gathers several leaves at a time, which fills the network's batch even where
    one position is searched; below 256 simulations it takes one leaf after another, the strongest use of few.  With 0
    simulations it is the bare network, and nothing is solved.
    """
    if simulations == 0:
        return SearchConfig(simulations=0)
    leaves = max(1, min(32, simulations // 128))
    return SearchConfig(
        simulations=simulations,
        leaves=leaves,
        margin_weight=margin_weight,
        solve_empties=solve_empties,
        c_puct=c_puct,
        policy_temperature=policy_temperature,
        min_visit_share=min_visit_share,
        bounds=bool(bounds),
        wipeouts=bool(wipeouts),
    )


def batch_of(simulations: int) -> int:
    """Return how many positions are searched at once: fewer if trees are large, so that all fit 150 MB or so."""
    return max(1, min(_BATCH, 2**19 // (simulations + 1)))
