"""`Mind`: what chooses moves behind a protocol, one position at a time, within a budget, until it is told to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from reversi.games.position import Position
from reversi.games.rules import Game
from reversi.players import MARGIN_WEIGHT, Player, playing_config
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.config import MAX_SIMULATIONS, SearchConfig
from reversi.search.evaluate import Evaluate

MOST_LEAVES = 32
"""Largest batch that a mind asks its network for."""

SIMULATIONS_PER_S = 250_000
"""Simulations that a tree has room for, for each second it may grow; only the smallest networks judge as many."""


@dataclass(frozen=True)
class Budget:
    """What a mind may spend on one move; whichever ends first.  Without either it spends what it thinks right."""

    simulations: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Judgement:
    """What is thought of one move."""

    action: int
    value: float | None = None
    """Expected result for the side to move, -1 to 1; None if nobody knows."""
    visits: int = 0
    line: tuple[int, ...] = ()
    """The action and what is expected to follow."""
    score: int | None = None
    """The exact margin at the end of perfect play, for the side to move, where it is known."""
    certain: bool = False
    """Whether `value` is the result of perfect play, of which the margin is not known."""


@dataclass(frozen=True)
class Thought:
    """What a mind found in one position."""

    moves: tuple[Judgement, ...]
    """Best first; a mind that only chooses gives one."""
    nodes: int
    seconds: float

    @property
    def best(self) -> Judgement:
        """The move to play."""
        return self.moves[0]


class Mind(Protocol):
    """Chooses and judges moves of one game."""

    name: str
    game: Game
    heeds_budget: bool
    """Whether a budget changes what it does."""

    def think(self, position: Position, budget: Budget, stop: Callable[[], bool], /) -> Thought:
        """Return what it thinks of a position that is not over, soon after `stop` turns true."""
        ...


class PlayerMind:
    """A player as it is: it chooses, cannot be hurried, and does not say what it thinks."""

    heeds_budget = False

    def __init__(self, game: Game, player: Player) -> None:
        self.name, self.game = player.name, game
        self._player = player

    def think(self, position: Position, budget: Budget, stop: Callable[[], bool], /) -> Thought:
        """Ask the player."""
        start_s = time.monotonic()
        own, opp = np.array([position.own], np.uint64), np.array([position.opp], np.uint64)
        action = int(self._player.choose(own, opp)[0])
        return Thought((Judgement(action, line=(action,)),), 1, time.monotonic() - start_s)


class SearchMind:
    """A network and a tree search, which can end at any batch of leaves."""

    heeds_budget = True

    def __init__(
        self, name: str, game: Game, evaluate: Evaluate, simulations: int, margin_weight: float = MARGIN_WEIGHT
    ) -> None:
        """`simulations` is what a move gets when its budget says nothing; `evaluate` must know `margin_weight`, too."""
        self.name, self.game = name, game
        self._evaluate, self._simulations, self._margin_weight = evaluate, simulations, margin_weight
        self._search = self._make_search(self._playing(simulations))

    def think(self, position: Position, budget: Budget, stop: Callable[[], bool], /) -> Thought:
        """Search until the budget is spent, the last batch of leaves included, or `stop` is true."""
        watch = _Watch(budget.seconds, stop)
        config = self._config(budget)
        if config != self._search.config:
            self._search = self._make_search(config)
        own, opp = np.array([position.own], np.uint64), np.array([position.opp], np.uint64)
        result = self._search.run(own, opp, stop=watch)
        return Thought(tuple(self._moves(result)), 1 + int(result.visits.sum()), watch.seconds)

    def _moves(self, result: SearchResult) -> Iterator[Judgement]:
        """Yield the moves of the only root, best first; where the result is known without a tree, the best ones."""
        value, found = float(result.value[0]), self._search.report(0)
        if not found:
            best = sorted(np.flatnonzero(result.policy[0]).tolist(), key=lambda action: action != result.action[0])
            yield from (Judgement(action, value, line=(action,), certain=True) for action in best)
        walked = bool(result.visits.any())  # without a walk the network's value of the root is all there is
        for move in found:
            said = move.value if move.visits else None if walked else value
            yield Judgement(move.action, said, move.visits, move.line, certain=move.certain)

    def warm_up(self) -> None:
        """Meet every batch size and the first simulations now, so that no move pays for it: well under a second."""
        own, opp = (np.full(MOST_LEAVES, mask, np.uint64) for mask in (self.game.start_own, self.game.start_opp))
        size = 1
        while size <= MOST_LEAVES:
            self._evaluate(own[:size], opp[:size])
            size *= 2
        self.think(Position.start(self.game), Budget(simulations=2), lambda: False)

    def _config(self, budget: Budget) -> SearchConfig:
        """Return how to search: with the leaves of so many simulations as may come, in a tree that has room for them.

        A tree that is limited by time has room for a power of two, so that few of them are made.
        """
        if budget.seconds is None:
            return self._playing(self._simulations if budget.simulations is None else budget.simulations)
        expected = budget.seconds * SIMULATIONS_PER_S
        room = min(MAX_SIMULATIONS, 1 << max(10, math.ceil(math.log2(max(1.0, min(expected, MAX_SIMULATIONS))))))
        if budget.simulations is not None:
            room = min(room, budget.simulations)
        return self._playing(room)

    def _playing(self, simulations: int) -> SearchConfig:
        return playing_config(simulations, margin_weight=self._margin_weight)

    def _make_search(self, config: SearchConfig) -> Search:
        return Search(self.game, config, self._evaluate, 1)


class _Watch:
    """Says when a search must end: `stop` is true, or the next batch, if it takes as long as the last, is too late."""

    def __init__(self, limit_s: float | None, stop: Callable[[], bool]) -> None:
        self._start_s = self._last_s = time.monotonic()
        self._end_s = math.inf if limit_s is None else self._start_s + limit_s
        self._stop = stop

    def __call__(self) -> bool:
        now_s = time.monotonic()
        batch_s, self._last_s = now_s - self._last_s, now_s
        return now_s + batch_s > self._end_s or self._stop()

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.monotonic() - self._start_s
