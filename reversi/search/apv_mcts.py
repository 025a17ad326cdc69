"""APV-MCTS: asynchronous policy and value search of many games in lockstep, a batch of leaves at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import Game
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate
from reversi.search.puct import expand_leaves, select_leaves
from reversi.search.root import keep_subtrees, mix_noise, plant, read_priors, read_visits, root_degrees
from reversi.search.tree import make_leaves, make_trees


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What the search found in each of B positions; a finished game has an exact value and zeros else."""

    visits: NDArray[np.int32]  # [B, A]  simulations through each action of the root
    value: NDArray[np.float32]  # [B]     mean value of the root, its own evaluation included, for the side to move
    policy: NDArray[np.float32]  # [B, A]  visits, scaled to sum to 1; the prior where there is no visit
    prior: NDArray[np.float32]  # [B, A]  the network's policy over the legal actions, before noise


class Search:
    """Searches up to `capacity` positions of one game at once; each has a tree of its own.

    Without noise a position's result depends on nothing but the position, the config and the network's answers; noise
    is drawn from `rng`.
    """

    def __init__(
        self, game: Game, config: SearchConfig, evaluate: Evaluate, capacity: int, rng: np.random.Generator
    ) -> None:
        self.game = game
        self.config = config
        self.evaluate = evaluate
        self.capacity = capacity
        self._rng = rng
        self._simulations = config.simulations  # what the trees have room for
        self._trees = make_trees(game, capacity, config.simulations)
        self._leaves = make_leaves(capacity * config.leaves)
        self._advanced = False

    def run(self, own: Masks, opp: Masks, *, simulations: int | None = None, noise: bool = False) -> SearchResult:
        """Search B <= capacity positions and return what was found.

        simulations  visits of each root's actions, those of a kept subtree included; by default the config's
        noise        mix Dirichlet noise into the roots' priors, as self-play does

        A subtree is kept if `config.keep_subtree` and `advance` told the ply that led here; else the tree is fresh.
        """
        games = own.shape[0]
        assert games <= self.capacity, f"expected at most {self.capacity} positions, got {games}"
        simulations = self.config.simulations if simulations is None else simulations
        self._make_room(simulations)
        keep, self._advanced = self._advanced, False
        self._expand(plant(self._trees, self.game.id, own, opp, keep, self._leaves))
        prior = np.zeros((games, self.game.actions), np.float32)
        read_priors(self._trees, prior)
        if noise and self.config.dirichlet_weight > 0:
            self._mix_noise(games)
        self._simulate(games, simulations)
        return self._result(prior)

    def advance(self, actions: NDArray[np.int32]) -> None:
        """Play `actions[b]` in every tree b of the last `run`, so that the next one can go on with the subtree."""
        if self.config.keep_subtree:
            keep_subtrees(self._trees, actions)
            self._advanced = True

    def _make_room(self, simulations: int) -> None:
        """Replace the trees by larger ones if `simulations` do not fit."""
        if simulations > self._simulations:
            self._simulations = simulations
            self._trees = make_trees(self.game, self.capacity, simulations)

    def _simulate(self, games: int, simulations: int) -> None:
        """Let every tree grow to `simulations`, a batch of leaves at a time."""
        config, trees, leaves, game_id = self.config, self._trees, self._leaves, self.game.id
        settings = (config.leaves, config.c_puct, config.fpu_reduction, config.virtual_loss)
        while count := select_leaves(trees, game_id, games, simulations, *settings, leaves):
            self._expand(count)

    def _expand(self, count: int) -> None:
        """Evaluate the first `count` leaves and back them up."""
        if count:
            leaves = self._leaves
            logits, value = self.evaluate(leaves.own[:count], leaves.opp[:count])
            expand_leaves(self._trees, self.game.id, leaves, count, logits, value)

    def _mix_noise(self, games: int) -> None:
        """Draw Dirichlet noise as scaled gamma draws, one call for all roots."""
        degrees = np.empty(games, np.int32)
        root_degrees(self._trees, degrees)
        alpha = self.config.dirichlet_alpha / np.maximum(degrees, 1)
        noise = self._rng.standard_gamma(alpha[:, None], (games, self.game.actions))
        mix_noise(self._trees, noise, self.config.dirichlet_weight)

    def _result(self, prior: NDArray[np.float32]) -> SearchResult:
        """Read the roots."""
        visits = np.zeros(prior.shape, np.int32)
        value = np.empty(prior.shape[0], np.float32)
        read_visits(self._trees, visits, value)
        simulations = visits.sum(axis=1, dtype=np.int32, keepdims=True)
        policy = np.where(simulations > 0, visits / np.maximum(simulations, 1), prior).astype(np.float32)
        return SearchResult(visits=visits, value=value, policy=policy, prior=prior)
