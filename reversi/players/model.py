"""A model as a player: its bare policy, or a search."""

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
"""Default of `SearchConfig.margin_weight` in play."""

SOLVE_EMPTIES = 12
"""Default of `SearchConfig.solve_empties` in play: docs/experiments.md 21."""

POLICY_TEMPERATURE = 2.0
"""Default of `SearchConfig.policy_temperature` in play: flatter priors find moves with low network priors.  Together
with `C_PUCT` it gains about 20 Elo over self-play's 1 and 1.5 (docs/experiments.md 25)."""

C_PUCT = 0.8
"""Default of `SearchConfig.c_puct` in play: with flatter priors, values get more weight."""

MIN_VISIT_SHARE = 0.5
"""Default of `SearchConfig.min_visit_share` in play: docs/experiments.md 27."""

BOUNDS = True
"""Default of `SearchConfig.bounds` in play, about 7 Elo: docs/experiments.md 30."""

WIPEOUTS = True
"""Default of `SearchConfig.wipeouts` in play: docs/experiments.md 37."""

_BATCH = 256
"""Positions searched at once; larger batches do not make the network faster."""


class SearchPlayer:
    """Plays the action of a search without noise (`root_action`); with 0 simulations the likeliest action."""

    def __init__(self, name: str, game: Game, evaluate: Evaluate, config: SearchConfig) -> None:
        """The player is deterministic and keeps no state between calls."""
        self.name = name
        self.config = config
        self.batch = batch_of(config.simulations)
        """Number of positions searched at once."""
        self._search = Search(game, config, evaluate, self.batch)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Search all positions and return the actions to play."""
        return self.judge(own, opp).action

    def judge(self, own: Masks, opp: Masks) -> SearchResult:
        """Search all positions, `batch` at a time, and return the results."""
        parts = [slice(start, start + self.batch) for start in range(0, max(1, len(own)), self.batch)]
        found = [self._search.run(own[part], opp[part]) for part in parts]
        return found[0] if len(found) == 1 else SearchResult.concatenate(found)


def model_player(
    name: str, game: Game, weights: Weights, config: SearchConfig, *, threads: int = 1, backend: str = "auto"
) -> SearchPlayer:
    """Return the player that searches with `weights` and `config`; the weights must be for `game`."""
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
    """Return the config of a search of `simulations` in play, without noise.

    A search of thousands of simulations gathers several leaves at a time, which fills the network's batch even for a
    single position; below 256 simulations it takes one leaf at a time, which is strongest.  With 0 simulations the bare
    network plays, and nothing is solved.
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
    """Return the number of positions searched at once: fewer for large trees, so that all fit in about 150 MB."""
    return max(1, min(_BATCH, 2**19 // (simulations + 1)))
