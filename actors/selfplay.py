"""Self-play: G games in lockstep, one search for all of them per ply, finished games out as records.

A game that ends is replaced at once, so the batch stays full.  A position with one legal action (a pass, mostly) is
played without a search and recorded as UNSEARCHED: it teaches the value heads, not the policy.  With
`search.keep_subtree` every position is searched, so that each game goes on in its own tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from actors.config import ActorConfig
from reversi.games.rules import UNFINISHED, Game, legal_actions_mask, outcomes, play_batch
from reversi.record import OPENING, SEARCHED, UNSEARCHED, Records
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate
from reversi.search.temperature import choose_actions


class SelfPlay:
    """G unfinished games and their histories; `step` plays one ply in each."""

    def __init__(
        self,
        game: Game,
        config: ActorConfig,
        search: SearchConfig,
        evaluate: Evaluate,
        rng: np.random.Generator,
        seed: int = 0,
    ) -> None:
        """`seed` is written into the records; `rng` is where all randomness comes from (children of one seed)."""
        games, plies, actions = config.games, game.max_plies, game.actions
        self.game, self.config, self.rng, self.seed = game, config, rng, seed
        self.search = Search(game, search, evaluate, games, rng)
        self.own = np.zeros(games, np.uint64)  # [G] discs of the side to move
        self.opp = np.zeros(games, np.uint64)  # [G]
        self.plies = np.zeros(games, np.int32)  # [G] plies played, openings included
        self.actions = np.zeros((games, plies), np.uint8)  # [G, plies]
        self.ply_kind = np.zeros((games, plies), np.uint8)  # [G, plies] OPENING, SEARCHED or UNSEARCHED
        self.values = np.zeros((games, plies), np.float16)  # [G, plies] root value for the mover
        self.policies = np.zeros((games, plies, actions), np.uint8)  # [G, plies, A] visits, the largest is 255
        self.searched_positions = 0  # searches made so far, one per searched ply
        self._begin(np.arange(games))

    def step(self, version: int) -> Records | None:
        """Play one ply in every game; return the games that ended with it, stamped with the model `version`, if any."""
        chosen, searched, result = self._choose()
        rows = np.arange(self.config.games)
        self.actions[rows, self.plies] = chosen
        self.ply_kind[rows, self.plies] = np.where(searched, SEARCHED, UNSEARCHED)
        self.values[rows, self.plies] = 0
        self.policies[rows, self.plies] = 0
        if result is not None:
            at = rows[searched]
            self.searched_positions += len(at)
            self.values[at, self.plies[at]] = result.value
            largest = result.visits.max(axis=1, keepdims=True)
            self.policies[at, self.plies[at]] = np.rint(result.visits * (255.0 / largest))
        self.plies += 1
        play_batch(self.game.id, self.own, self.opp, chosen)
        ended = np.flatnonzero(self._outcomes(rows) != UNFINISHED)
        if not len(ended):
            return None
        records = self._records(ended, version)
        self._begin(ended)
        return records

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything that a resumed actor needs besides its random state: the games in progress."""
        names = ("own", "opp", "plies", "actions", "ply_kind", "values", "policies")
        return {name: getattr(self, name) for name in names}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take the games of `arrays()` back; shapes must be this actor's own."""
        for name, array in arrays.items():
            getattr(self, name)[...] = array

    def _choose(self) -> tuple[NDArray[np.int32], NDArray[np.bool_], SearchResult | None]:
        """Return the action of every game [G], which games were searched [G], and the search of those."""
        legal = np.zeros((self.config.games, self.game.actions), np.uint8)
        legal_actions_mask(self.game.id, self.own, self.opp, legal)
        searched = legal.sum(axis=1) > 1
        chosen = legal.argmax(axis=1).astype(np.int32)
        if not searched.any():
            return chosen, searched, None
        if self.search.config.keep_subtree:  # tree b is game b's: no game may be left out, or the trees would shift
            searched[:] = True
        result = self.search.run(self.own[searched], self.opp[searched], noise=True)
        early = self.plies[searched] < self.config.temperature_plies
        temperature = np.where(early, self.config.temperature, 0.0)
        chosen[searched] = choose_actions(result.visits, temperature, self.rng)
        self.search.advance(chosen[searched])
        return chosen, searched, result

    def _begin(self, rows: NDArray[np.int64]) -> None:
        """Start new games in `rows`, each with 0 to `opening_plies` uniformly random plies."""
        self.own[rows], self.opp[rows], self.plies[rows] = self.game.start_own, self.game.start_opp, 0
        length = self.rng.integers(0, self.config.opening_plies + 1, len(rows))
        for ply in range(self.config.opening_plies):
            self._play_random_ply(rows[length > ply])
        over = rows[self._outcomes(rows) != UNFINISHED]  # tic-tac-toe can end within its opening: begin without one
        self.own[over], self.opp[over], self.plies[over] = self.game.start_own, self.game.start_opp, 0

    def _play_random_ply(self, rows: NDArray[np.int64]) -> None:
        rows = rows[self._outcomes(rows) == UNFINISHED]
        own, opp = self.own[rows], self.opp[rows]
        legal = np.zeros((len(rows), self.game.actions), np.uint8)
        legal_actions_mask(self.game.id, own, opp, legal)
        chosen = choose_actions(legal.astype(np.int32), np.ones(len(rows)), self.rng)
        self.actions[rows, self.plies[rows]] = chosen
        self.ply_kind[rows, self.plies[rows]] = OPENING
        self.values[rows, self.plies[rows]] = 0
        self.policies[rows, self.plies[rows]] = 0
        play_batch(self.game.id, own, opp, chosen)
        self.own[rows], self.opp[rows] = own, opp
        self.plies[rows] += 1

    def _outcomes(self, rows: NDArray[np.int64]) -> NDArray[np.int16]:
        out = np.empty(len(rows), np.int16)
        outcomes(self.game.id, self.own[rows], self.opp[rows], out)
        return out

    def _records(self, rows: NDArray[np.int64], version: int) -> Records:
        """Flatten the finished games in `rows`; margins and final boards from the view of the side that moved first."""
        plies = self.plies[rows]
        played = np.arange(self.game.max_plies) < plies[:, None]
        turned = plies % 2 == 1
        own, opp = self.own[rows], self.opp[rows]
        margin = self._outcomes(rows)
        return Records(
            game=self.game.name,
            start_own=np.full(len(rows), self.game.start_own, np.uint64),
            start_opp=np.full(len(rows), self.game.start_opp, np.uint64),
            black_first=np.ones(len(rows), np.uint8),
            plies=plies.copy(),
            actions=self.actions[rows][played],
            policy=self.policies[rows][played],
            value=self.values[rows][played],
            ply_kind=self.ply_kind[rows][played],
            margin=np.where(turned, -margin, margin).astype(np.int8),
            final_own=np.where(turned, opp, own),
            final_opp=np.where(turned, own, opp),
            version=np.full(len(rows), version, np.int32),
            seed=np.full(len(rows), self.seed, np.uint64),
        )
