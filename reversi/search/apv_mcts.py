"""APV-MCTS: tree search with policies and values of a network, for many positions in lockstep, a batch of leaves at a
time.

AlphaGo's search of this name ("asynchronous policy and value MCTS", Nature 529, 2016) evaluates leaves while other
threads search on; here all trees advance together, and in self-play two groups of games alternate (`actors/selfplay`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import Game, game_named
from reversi.games.symmetry import SYMMETRIES, action_table, are_first, transform_masks
from reversi.patterns.tables import has_tables
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate, tables_of
from reversi.search.exact import solve_roots
from reversi.search.params import params_of
from reversi.search.report import ActionReport, is_proven, report
from reversi.search.root import drop_root_edges, read_priors, read_roots, set_roots
from reversi.search.simulation import expand_leaves, grow_trees, select_leaves
from reversi.search.tree import make_leaves, make_trees

SLICE = 256
"""Simulations of a tree between two looks at the clock where tables evaluate the leaves: half a millisecond."""


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The results of B searches; a finished game has its exact value, zeros elsewhere, and the action -1.

    In a decided position (`exact.is_decided`) value and action are exact, the policy has equal shares for the best
    moves, and visits and prior are zero; a search for `every_move` has them there too.
    """

    visits: NDArray[np.int32]  # [B, A]  simulations through each action of the root
    value: NDArray[np.float32]  # [B]     for the side to move.  PUCT: mean value of the root, its own evaluation
    #                                      included, with tables that of the best move; Gumbel: expected value of the
    #                                      improved policy
    policy: NDArray[np.float32]  # [B, A]  PUCT: visits, scaled to sum to 1; Gumbel: the improved policy; without
    #                                      simulations the prior
    prior: NDArray[np.float32]  # [B, A]  the network's policy over the legal actions, before `policy_temperature`
    action: NDArray[np.int32]  # [B]     the action to play (see `root_action`); -1 in a finished game

    @classmethod
    def concatenate(cls, parts: Sequence[SearchResult]) -> SearchResult:
        """Join the results of several searches in order."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


class Search:
    """Searches up to `capacity` positions of one game at once, each in its own tree.

    A result depends only on the position, the config and the network's outputs: there is no noise, and every search
    begins with an empty tree.  Self-play, which needs noise and kept subtrees, has its own kernel over the same trees.
    """

    def __init__(
        self,
        game: Game | str,
        config: SearchConfig,
        evaluate: Evaluate,
        capacity: int,
        *,
        every_move: bool = False,
        symmetric: bool = False,
    ) -> None:
        """Make the trees.

        every_move  for analysis with PUCT: moves whose result is proven get no more simulations, and the search goes on
                    until that is true of all, where a search for a move to play ends once the root's result is
        symmetric   for analysis: of the moves that symmetries of a position exchange only the first is searched, and a
                    network evaluates the position as the mean of its eight orientations
        """
        assert not (every_move and config.method == "gumbel"), "expected puct for a search of every move"
        game = game_named(game)
        self.game = game
        self.config = config
        self.evaluate = evaluate
        self.capacity = capacity
        self._symmetric = symmetric
        self._params = params_of(config, tables=has_tables(tables_of(evaluate)), every_move=every_move)
        self._trees = make_trees(game, capacity, config.simulations)
        self._leaves = make_leaves(capacity * config.leaves)
        self._played = np.empty(0, np.int32)  # [B]  of the last run

    def run(self, own: Masks, opp: Masks, *, stop: Callable[[], bool] | None = None) -> SearchResult:
        """Search B <= capacity positions and return the results.

        stop  called before every batch of leaves or slice of simulations; true ends the search with the results so far
        """
        games = own.shape[0]
        assert games <= self.capacity, f"expected at most {self.capacity} positions, got {games}"
        waiting = set_roots(self._trees, self.game.id, self._params, own, opp, self._leaves)
        if has_tables(tables := tables_of(self.evaluate)):
            grow_trees(self._trees, self.game.id, games, self.config.simulations, 0, self._params, tables)
        elif self._symmetric:
            self._expand(waiting, self._evaluate_all_round)
        else:
            self._expand(waiting, self.evaluate)
        if self._symmetric:
            self._search_one_of_equals(own, opp)
        self._simulate(games, stop or _never)
        return self._result(own, opp)

    def report(self, b: int) -> list[ActionReport]:
        """Return a report of every action of position b of the last `run`: the one to play first, then by visits."""
        return report(self._trees, b, int(self._played[b]))

    def is_proven(self, b: int) -> bool:
        """Return whether the result of perfect play is known in position b of the last `run`."""
        return is_proven(self._trees, b)

    def _simulate(self, games: int, stop: Callable[[], bool]) -> None:
        """Grow every tree to the config's simulations, or until `stop` returns true: a batch of leaves at a time, or,
        with tables, a slice of simulations."""
        trees, leaves, params = self._trees, self._leaves, self._params
        simulations, width, tables = self.config.simulations, self.config.leaves, tables_of(self.evaluate)
        if has_tables(tables):
            while not stop() and grow_trees(trees, self.game.id, games, simulations, SLICE, params, tables):
                pass
            return
        while not stop() and (count := select_leaves(trees, self.game.id, games, simulations, width, params, leaves)):
            self._expand(count, self.evaluate)

    def _evaluate_all_round(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate positions as the mean of their eight orientations."""
        logits, value = np.zeros((len(own), self.game.actions), np.float32), np.zeros(len(own), np.float32)
        for s, images in enumerate(action_table(self.game)):
            turned_logits, turned_value = self.evaluate(
                *(transform_masks(self.game.id, masks, s) for masks in (own, opp))
            )
            logits += turned_logits[:, images] / np.float32(SYMMETRIES)
            value += turned_value / np.float32(SYMMETRIES)
        return logits, value

    def _search_one_of_equals(self, own: Masks, opp: Masks) -> None:
        """Take from the roots all but the first of moves that symmetries of the position exchange."""
        first = np.array([are_first(self.game, *masks) for masks in zip(own, opp, strict=True)], np.bool_)
        if not first.all():
            drop_root_edges(self._trees, first)

    def _expand(self, count: int, evaluate: Evaluate) -> None:
        """Evaluate the first `count` leaves and back them up."""
        if count:
            leaves = self._leaves
            logits, value = evaluate(leaves.own[:count], leaves.opp[:count])
            expand_leaves(self._trees, self.game.id, self._params, leaves, count, logits, value)

    def _result(self, own: Masks, opp: Masks) -> SearchResult:
        """Read the roots."""
        games, shape = own.shape[0], (own.shape[0], self.game.actions)
        visits, policy, prior = np.zeros(shape, np.int32), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        value, action = np.empty(games, np.float32), np.empty(games, np.int32)
        read_priors(self._trees, prior)
        read_roots(self._trees, self._params, visits, value, policy, action)
        policy = np.where(visits.any(axis=1, keepdims=True), policy, prior)
        solve_roots(self.game.id, self._params, own, opp, value, policy, action)
        self._played = action
        return SearchResult(visits=visits, value=value, policy=policy, prior=prior, action=action)


def _never() -> bool:
    return False
