"""A model as a player: its bare policy, a tree search, or alpha-beta."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from reversi.alphabeta.alphabeta import AlphaBeta
from reversi.errors import UsageError
from reversi.games.bitboard import Masks
from reversi.games.rules import NO_ACTION, Game, game_named, only_reply
from reversi.patterns.tables import NO_TABLES, has_tables
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.config import MAX_SIMULATIONS, SearchConfig
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

SIMULATIONS_PER_S = 250_000
"""Capacity of a tree in simulations per second of its time limit; only pattern networks evaluate as many."""

PATTERN_SEARCH: Literal["alphabeta", "mcts"] = "alphabeta"
"""The search of a network of patterns that is named without one: the stronger one at equal time."""

PATTERN_SECONDS = 0.5
"""Its time for each move."""

NODES_PER_SIMULATION = 16
"""Positions that alpha-beta searches in the time of a simulation with patterns: 6.5 against 0.4 million a second."""


class SearchPlayer:
    """Plays the action of a search without noise (`root_action`); with 0 simulations the likeliest action."""

    def __init__(
        self, name: str, game: Game, evaluate: Evaluate, config: SearchConfig, seconds: float | None = None
    ) -> None:
        """The player keeps no state between calls, and without a time for each position, `seconds`, it is
        deterministic."""
        self.name, self.game = name, game
        self.config = config
        self.batch = batch_of(config.simulations) if seconds is None else 1
        """Number of positions searched at once."""
        self._search = Search(game, config, evaluate, self.batch)
        self._seconds = seconds
        if seconds is not None:  # one round loads the kernels, so that the first move keeps its time
            start = np.array([game.start_own], np.uint64), np.array([game.start_opp], np.uint64)
            self._search.run(*start, stop=iter((False, True)).__next__)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Search all positions and return the actions to play."""
        return self.judge(own, opp).action

    def judge(self, own: Masks, opp: Masks) -> SearchResult:
        """Search all positions, `batch` at a time, and return the results."""
        parts = [slice(start, start + self.batch) for start in range(0, max(1, len(own)), self.batch)]
        results = [self._search.run(own[part], opp[part], stop=Watch(self._seconds)) for part in parts]
        return results[0] if len(results) == 1 else SearchResult.concatenate(results)


class AlphaBetaModelPlayer:
    """Plays the best move of alpha-beta over a model's margin, one position after another."""

    def __init__(
        self,
        name: str,
        search: AlphaBeta,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """With a depth or `nodes`, positions to search, a move depends on the position alone; with a time the table is
        kept from move to move."""
        self.name, self.game = name, search.game
        self._search, self._depth, self._nodes, self._seconds = search, depth, nodes, seconds

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Search the positions in which there is a choice."""
        return np.array([self._choose(*position) for position in zip(own, opp, strict=True)], np.int32)

    def _choose(self, own: np.uint64, opp: np.uint64) -> int:
        reply = only_reply(self._search.game.id, own, opp)
        if reply != NO_ACTION:
            return reply
        limits = {"depth": self._depth, "nodes": self._nodes, "seconds": self._seconds}
        found = self._search.run(int(own), int(opp), fresh=self._seconds is None, **limits)  # type: ignore[arg-type]
        return found.actions[0]


class Watch:
    """The `stop` of a search: true if `stop` is, or if another batch as long as the last would exceed the limit."""

    def __init__(self, limit_s: float | None, stop: Callable[[], bool] = lambda: False) -> None:
        self._start_s = self._last_s = time.monotonic()
        self._end_s = math.inf if limit_s is None else self._start_s + limit_s
        self._stop = stop

    def __call__(self) -> bool:
        """Return whether the search ends."""
        now_s = time.monotonic()
        batch_s, self._last_s = now_s - self._last_s, now_s
        return now_s + batch_s > self._end_s or self._stop()

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._start_s


def model_player(
    name: str,
    game: Game | str,
    weights: Weights,
    config: SearchConfig,
    *,
    seconds: float | None = None,
    threads: int = 1,
    backend: str = "auto",
) -> SearchPlayer:
    """Return the player that searches with `weights` and `config`, for so many `seconds` at most; the weights must be
    for `game`."""
    from reversi.model.evaluate import open_evaluator

    game = game_named(game)
    weights.check_game(game)
    evaluate = open_evaluator(
        weights,
        backend=backend,
        batch=batch_of(config.simulations) if seconds is None else config.leaves,
        threads=threads,
        margin_weight=config.margin_weight,
    )
    return SearchPlayer(name, game, evaluate, config, seconds)


def plays_alphabeta(weights: Weights) -> bool:
    """Return whether a model that is named alone plays alpha-beta."""
    return weights.network.head == "margin" and PATTERN_SEARCH == "alphabeta"


def alphabeta_of(game: Game, weights: Weights) -> AlphaBeta:
    """Return alpha-beta over the margin of `weights`, which must be for `game`.

    Raises UsageError for a network that is not made of patterns: alpha-beta evaluates positions one by one.
    """
    from reversi.model.evaluate import open_evaluator

    weights.check_game(game)
    tables = open_evaluator(weights).tables if weights.network.head == "margin" else NO_TABLES
    if not has_tables(tables):
        raise UsageError(f"expected a network of patterns for alpha-beta with a model, got {weights.network}")
    return AlphaBeta(game, tables)


def simulations_in(seconds: float) -> int:
    """Return the simulations for which a tree needs room in this time: a power of two, so that few different trees are
    allocated."""
    expected = min(seconds * SIMULATIONS_PER_S, MAX_SIMULATIONS)
    return min(MAX_SIMULATIONS, 1 << max(10, math.ceil(math.log2(max(1.0, expected)))))


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
