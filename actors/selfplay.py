"""Self-play: G games at once, in groups that take turns with the network, finished games out as records.

While the network evaluates the positions of one group, the next group's trees grow, so that the network always has a
batch waiting.  A game that ends is replaced at once, so every batch is full.  A position with one legal action (mostly
a pass) is played without a search and recorded as UNSEARCHED: it trains the value heads, not the policy.
"""

from __future__ import annotations

import time
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.advance import Answers, Context, SelfPlayParams, advance
from actors.config import SearchActorConfig
from actors.games import EndedGames, begin_games, copy_games, make_games, pack_games, unpack_games
from actors.lessons import Lessons
from actors.rescore import Rescorer
from actors.source import GAME_COUNTS, ActorCounts
from reversi.capacity import require_memory
from reversi.games.bitboard import Masks
from reversi.games.rules import Game
from reversi.games.symmetry import action_table
from reversi.kernels.threads import Threads
from reversi.patterns.tables import has_tables
from reversi.record import Records
from reversi.search.cache import cache_bytes, forget_all, make_cache, pack_cache, store, unpack_cache
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Pipeline, tables_of
from reversi.search.packing import pack_trees, unpack_trees
from reversi.search.params import params_of
from reversi.search.tree import make_trees, trees_bytes


def check_memory(game: Game, config: SearchActorConfig, search: SearchConfig) -> None:
    """Raise ConfigError for an actor whose trees and cache this process may not have."""
    simulations = max(search.simulations, search.fast_simulations)
    needed = trees_bytes(game, config.games, simulations) + cache_bytes(game, config.cache_positions)
    require_memory(
        needed,
        f"{config.games:,} games of {simulations:,} simulations and {config.cache_positions:,} cached evaluations",
        "lower actors.games, search.simulations or actors.cache_positions",
    )


class SelfPlay:
    """G unfinished games, their trees and the cache they share; `play` continues all of them.  A `GameSource`."""

    finished = False
    """Self-play never runs out of games."""

    def __init__(
        self,
        game: Game,
        config: SearchActorConfig,
        search: SearchConfig,
        network: Pipeline,
        *,
        seed: int,
        round_s: float = inf,
    ) -> None:
        """`network` has a slot for each of `config.groups`; all randomness comes from `seed` (64 bits).

        round_s  seconds after which `round` takes no more batches
        """
        check_memory(game, config, search)
        self._round_s = round_s
        self.game, self.config, self.search, self.network, self.seed = game, config, search, network, seed
        self._search_params = params_of(search, tables=has_tables(tables_of(network)))
        self._action_table = action_table(game)
        self._threads = Threads(config.tree_threads)
        self._cache = make_cache(game, config.cache_positions)
        self._trees = make_trees(game, config.games, max(search.simulations, search.fast_simulations))
        self._batch = config.games // config.groups
        self._no_answers = np.zeros((0, game.actions), np.float32), np.zeros(0, np.float32)
        self.games = make_games(game, config.games)
        self._unrescored = make_games(game, config.games)
        self._unrescored_rows = np.zeros(0, np.int64)
        self._rescorer = Rescorer(game, self._search_params, config.rescore_empties, self._threads)
        self._lessons = Lessons(
            game,
            self._search_params,
            seed=seed,
            count=config.lessons,
            empties=config.lesson_empties,
            threads=self._threads,
        )
        self._ended = EndedGames(game, max(config.games, self._lessons.room), seed)
        self._submitted: dict[int, tuple[Masks, Masks]] = {}
        self._begun = 0
        self._begin(np.arange(config.games))
        if self._asks:
            for group in range(config.groups):
                self._advance(group, *self._no_answers, search.simulations)

    @property
    def counts(self) -> ActorCounts:
        """Counts over all games so far."""
        state = self.games.state
        return ActorCounts(**{name: state[name].sum().item() for name in GAME_COUNTS})

    def round(self, progress: float, version: int) -> Records | None:
        """Play `round_batches` batches per group, or for `round_s` seconds, with the scheduled number of simulations at
        `progress`."""
        last = self.search.simulations
        first = last if self.search.first_simulations is None else self.search.first_simulations
        simulations = round(first + (last - first) * min(max(progress, 0.0), 1.0))
        return self.play(self.config.round_batches, version, simulations, self._round_s)

    def play(self, batches: int, version: int, simulations: int | None = None, most_s: float = inf) -> Records | None:
        """Evaluate `batches` batches of every group; return the games that ended, or None if none did.

        With pattern tables a batch is a game in every row, from its start to its end.

        After `most_s` seconds no more batches begin; every group has had as many as the others, and at least one.

        version      of the network, stored in the records
        simulations  of a full search that begins in this call; by default, and at most, the config's

        No batch is pending between two calls: the network may be replaced and `arrays` may be called.
        """
        simulations = self.search.simulations if simulations is None else simulations
        deadline = time.monotonic() + most_s
        asks = self._asks
        for group in range(self.config.groups if asks else 0):
            self._submit(group)
        for batch in range(batches):
            is_last = batch + 1 == batches or time.monotonic() >= deadline
            for group in range(self.config.groups):
                logits, value = self.network.collect(group) if asks else self._no_answers
                if asks:
                    store(self._cache, *self._submitted[group], logits, value)
                self._advance(group, logits, value, simulations)
                self._replace_ended(group, version)
                if asks and not is_last:
                    self._submit(group)
            if is_last:
                break
        self._finish(version)
        return self._ended.take(version)

    def clear_cache(self) -> None:
        """Empty the cache, since the network has changed."""
        forget_all(self._cache)

    def arrays(self, *, cache: bool = True) -> dict[str, NDArray[Any]]:
        """Return the state that a resumed actor needs: the games in progress and their trees.

        cache  add the cache: without it the same games are played, but the first ones end some batches later
        """
        packed = {**pack_games(self.games), **pack_trees(self._trees), "begun": np.array([self._begun])}
        return packed | pack_cache(self._cache) if cache else packed

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the games of `arrays()`; the shapes must be this actor's own."""
        unpack_games(self.games, arrays)
        unpack_trees(self._trees, arrays)
        self._begun = int(arrays["begun"][0])
        if "cache_rows" in arrays:
            unpack_cache(self._cache, arrays)

    @property
    def _asks(self) -> bool:
        """Whether the games wait for the network; with tables they do not."""
        return not has_tables(tables_of(self.network))

    def _rows(self, group: int) -> slice:
        return slice(group * self._batch, (group + 1) * self._batch)

    def _submit(self, group: int) -> None:
        leaves = self.games.state[self._rows(group)]
        self._submitted[group] = np.ascontiguousarray(leaves["leaf_own"]), np.ascontiguousarray(leaves["leaf_opp"])
        self.network.submit(group, *self._submitted[group])

    def _advance(self, group: int, logits: NDArray[np.float32], value: NDArray[np.float32], simulations: int) -> None:
        """Give the games of a group their evaluations and play on, on all tree threads."""
        config, start = self.config, group * self._batch
        params = SelfPlayParams(
            game_id=self.game.id,
            seed=np.uint64(self.seed),
            simulations=simulations,
            fast_simulations=self.search.fast_simulations,
            full_share=self.search.full_share,
            temperature=config.temperature,
            temperature_plies=config.temperature_plies,
            dirichlet_alpha=self.search.dirichlet_alpha,
            dirichlet_weight=self.search.dirichlet_weight,
            keep_subtree=self.search.keep_subtree,
        )
        context = Context(
            games=self.games,
            trees=self._trees,
            cache=self._cache,
            tables=tables_of(self.network),
            action_table=self._action_table,
            search=self._search_params,
            params=params,
        )
        answers = Answers(start=start, logits=logits, value=value)

        def part(first: int, last: int) -> None:
            advance(context, answers, start + first, start + last)

        self._threads.each(part, self._batch)

    def _replace_ended(self, group: int, version: int) -> None:
        """Set the group's ended games aside and begin others in their rows."""
        rows = group * self._batch + np.flatnonzero(self.games.state["over"][self._rows(group)])
        if not len(rows):
            return
        if len(self._unrescored_rows) + len(rows) > len(self._unrescored.state):
            self._finish(version)
        copy_games(self.games, rows, self._unrescored, len(self._unrescored_rows))
        self._unrescored_rows = np.concatenate((self._unrescored_rows, rows))
        self._begin(rows)

    def _finish(self, version: int) -> None:
        """Rescore the finished games and make their lessons, in large batches that keep the solver's threads busy.

        Positions with a policy target are counted in the rows that the games were in.
        """
        rows, finished = np.arange(len(self._unrescored_rows)), self._unrescored
        before = finished.state["positions"][rows].copy()
        self._rescorer.rescore(finished, rows)
        self._ended.put(finished, rows, version)
        for lessons in self._lessons.of(finished, rows):
            self._ended.put(*lessons, version)
        np.add.at(self.games.state["positions"], self._unrescored_rows, finished.state["positions"][rows] - before)
        self._unrescored_rows = self._unrescored_rows[:0]

    def _begin(self, rows: NDArray[np.int64]) -> None:
        start_own, start_opp = np.uint64(self.game.start_own), np.uint64(self.game.start_opp)
        begin_games(
            self.games,
            self.game.id,
            rows,
            first_number=self._begun,
            start_own=start_own,
            start_opp=start_opp,
            seed=np.uint64(self.seed),
            opening_plies=self.config.opening_plies,
        )
        self._begun += len(rows)
