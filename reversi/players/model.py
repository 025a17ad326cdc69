"""A model as a player: its bare policy, or a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import Game, game_named
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate

if TYPE_CHECKING:
    from reversi.model.weights import Weights

PLAYING = SearchConfig.puct(
    simulations=64,  # `playing_config` takes the number
    fpu_reduction=0.2,  # KataGo's
    solve_empties=12,  # docs/experiments.md 21
    policy_temperature=2.0,  # flatter priors find moves with low network priors; with `c_puct` about 20 Elo: 25
    c_puct=0.8,  # with flatter priors, values get more weight
    min_visit_share=0.5,  # 27
    backup_temperature=0.2,  # truer values, the same strength: 46
    bounds=True,  # about 7 Elo: 30
    wipeouts=True,  # 37
)
"""The search in play; the numbers are entries of docs/experiments.md."""

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
        results = [self._search.run(own[part], opp[part]) for part in parts]
        return results[0] if len(results) == 1 else SearchResult.concatenate(results)


def model_player(
    name: str, game: Game | str, weights: Weights, config: SearchConfig, *, threads: int = 1, backend: str = "auto"
) -> SearchPlayer:
    """Return the player that searches with `weights` and `config`; the weights must be for `game`."""
    from reversi.model.evaluate import open_evaluator

    game = game_named(game)
    weights.check_game(game)
    evaluate = open_evaluator(
        weights,
        backend=backend,
        batch=batch_of(config.simulations),
        threads=threads,
        margin_weight=config.margin_weight,
    )
    return SearchPlayer(name, game, evaluate, config)


def playing_config(simulations: int, **changes: Any) -> SearchConfig:
    """Return the config of a search of `simulations` in play, without noise: `PLAYING` with these `changes`.

    A search of thousands of simulations gathers several leaves at a time, which fills the network's batch even for a
    single position; below 256 simulations it takes one leaf at a time, which is strongest.  With 0 simulations the bare
    network plays, and nothing is solved.
    """
    if simulations == 0:
        return SearchConfig.puct(simulations=0, c_puct=PLAYING.c_puct, fpu_reduction=PLAYING.fpu_reduction)
    leaves = max(1, min(32, simulations // 128))
    return replace(PLAYING, simulations=simulations, leaves=leaves, **changes)


def batch_of(simulations: int) -> int:
    """Return the number of positions searched at once: fewer for large trees, so that all fit in about 150 MB."""
    return max(1, min(_BATCH, 2**19 // (simulations + 1)))
