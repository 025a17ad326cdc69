"""`Analyzer`: analyses one position at a time for a front end, within a `Limit`, until it is told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reversi.analysis.margin import discs_of
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.games.symmetry import action_table, symmetries_of
from reversi.players import PLAYING, Player, Watch, playing_config, simulations_in
from reversi.search.apv_mcts import Search, SearchResult
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate

MOST_LEAVES = 32
"""Largest batch that an analyzer sends to its network."""


@dataclass(frozen=True)
class Limit:
    """The limits of one analysis; the first one reached ends it.  Without either the analyzer's default applies."""

    simulations: int | None = None
    seconds: float | None = None


UNLIMITED = Limit()
"""Only the analyzer's default applies."""


@dataclass(frozen=True)
class MoveAnalysis:
    """The analysis of one move."""

    action: int
    value: float | None = None
    """Expected result for the side to move, -1 to 1; the sign of the score if there is one.  None if unknown: without
    a visit, unless the move is the best one of a position whose result is proven."""
    visits: int = 0
    """Simulations through the move, or the positions that alpha-beta has searched after it."""
    line: tuple[int, ...] = ()
    """The principal variation, beginning with the action."""
    score: int | None = None
    """The exact margin of perfect play for the side to move; None if unknown."""
    certain: bool = False
    """Whether `value` is proven to be the result of perfect play (its margin may be unknown)."""
    prior: float | None = None
    """The network's policy, before any search; None if the network was not asked."""
    discs: float | None = None
    """Expected margin for the side to move; None if unknown."""
    same_as: int | None = None
    """The action that was searched in its place, since a symmetry of the position exchanges the two; None if this one
    was."""

    def margin(self, game: Game) -> float | None:
        """Return the margin in discs for the side to move: exact, the model's own, or one that follows from the value;
        None if nothing is known."""
        if self.score is not None:
            return float(self.score)
        if self.discs is not None:
            return self.discs
        return None if self.value is None else discs_of(game, self.value)

    def judgement(self, game: Game) -> str:
        """Say what is known, in discs for the side to move: `+4 discs, exact`, `win, proven`, `+3.4 discs`, or of a
        search that counts visits `+3.4 discs, 120 visits`; without discs to count, `value +0.312, 120 visits`."""
        if self.score is not None and game.counts_discs:
            return f"{self.score:+d} discs, exact"
        if self.value is None:
            return "not searched"
        if self.certain:
            return f"{'win' if self.value > 0 else 'loss' if self.value < 0 else 'draw'}, proven"
        expected = f"{self.margin(game):+z.1f} discs" if game.counts_discs else f"value {self.value:+z.3f}"
        if self.discs is not None:
            return expected
        return f"{expected}, {self.visits} visit{'' if self.visits == 1 else 's'}"

    def summary(self, game: Game) -> str:
        """Return the move's name, what is known of it, and its line, in columns."""
        return f"{action_name(game, self.action):<5}{self.judgement(game):<22} {' '.join(self.line_names(game))}"

    def line_names(self, game: Game) -> list[str]:
        """Return the names of the moves of the line."""
        return [action_name(game, action) for action in self.line]

    def as_json(self, game: Game) -> dict[str, Any]:
        """Return the analysis for JSON, with moves by name."""
        return {
            "move": action_name(game, self.action),
            "value": None if self.value is None else round(self.value, 4),
            "score": self.score,
            "discs": None if self.discs is None else round(self.discs, 2),
            "visits": self.visits,
            "certain": self.certain,
            "prior": None if self.prior is None else round(self.prior, 6),
            "line": self.line_names(game),
            "same_as": None if self.same_as is None else action_name(game, self.same_as),
        }


@dataclass(frozen=True)
class Analysis:
    """The analysis of one position."""

    moves: tuple[MoveAnalysis, ...]
    """Best first; an analyzer that only chooses a move gives one."""
    nodes: int
    """Positions that the search, or the solver if it scored the moves, looked at."""
    seconds: float
    value: float | None = None
    """Expected result of the position for the side to move, -1 to 1; None if unknown."""
    proven: bool = False
    """Whether `value` is proven to be the position's result of perfect play, which the best move reaches.  A best move
    that is `certain` does not suffice: after a proven draw another move may still win."""

    @classmethod
    def of_move(cls, action: int, nodes: int = 0, seconds: float = 0.0) -> Analysis:
        """Return an analysis that only says which move to play."""
        return cls((MoveAnalysis(action, line=(action,)),), nodes, seconds)

    @property
    def best(self) -> MoveAnalysis:
        """The move to play."""
        return self.moves[0]

    @property
    def judged_best(self) -> MoveAnalysis:
        """The move to play; if its own value is unknown, with that of the position."""
        return self.best if self.best.value is not None else replace(self.best, value=self.value)

    @property
    def complete(self) -> bool:
        """Whether the result of every move is proven, so that a longer analysis would find nothing more."""
        return all(move.certain for move in self.moves)

    @property
    def visits(self) -> int:
        """The search's simulations, a measure of its depth; 0 where the solver decides."""
        return sum(move.visits for move in self.moves)


def with_images(position: Position, moves: Iterable[MoveAnalysis]) -> tuple[MoveAnalysis, ...]:
    """Return the moves, each followed by those that symmetries of the position exchange with it.

    These are one move: they have the same values, its line turned, and share its visits and priors.  Of several that
    are among `moves` the first one counts.
    """
    symmetries = symmetries_of(position.game, position.own, position.opp)
    if len(symmetries) == 1:
        return tuple(moves)
    table, shown = action_table(position.game)[symmetries], list[MoveAnalysis]()
    for move in moves:
        if all(move.action != each.action for each in shown):
            images, first = np.unique(table[:, move.action], return_index=True)
            order = sorted(range(len(images)), key=lambda i: first[i])  # the move itself, turned by nothing, first
            shown += (_image(move, table[first[i]], place, len(images)) for place, i in enumerate(order))
    mass = sum(move.prior for move in shown if move.prior is not None)
    return tuple(replace(move, prior=move.prior / mass) if move.prior else move for move in shown)


def _image(move: MoveAnalysis, turn: NDArray[np.int32], place: int, of: int) -> MoveAnalysis:
    """Return the image of a move with its share of the visits, which adds up to all of them."""
    visits = move.visits // of + (place < move.visits % of)
    line = tuple(turn[list(move.line)].tolist())
    return replace(
        move, action=int(turn[move.action]), visits=visits, line=line, same_as=move.action if place else None
    )


class Analyzer(Protocol):
    """Analyses positions of one game."""

    name: str
    game: Game
    uses_limit: bool
    """Whether the limit has an effect."""

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Return the analysis of every move of an unfinished position, soon after `stop` turns true at the latest."""

    def choose(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Return an analysis for the sake of its best move: it may end as soon as that is known."""


def deepening(
    analyzer: Analyzer,
    position: Position,
    steps: Iterable[int],
    stop: Callable[[int], bool],
    step_s: float | None = None,
) -> Iterator[Analysis]:
    """Yield ever deeper analyses of an unfinished position, until nothing can be added or the next would take too long.

    steps   the simulations of each analysis; each searches anew
    stop    called with the number of analyses done, before and during the next one, of which nothing is yielded then;
            the first analysis is yielded in any case
    step_s  time limit of an analysis in seconds; one that took more than half of it is the last
    """
    visits = 0
    for done, simulations in enumerate(steps):
        analysis = analyzer.analyse(position, Limit(simulations, step_s), partial(stop, done))
        before, visits = visits, analysis.visits
        if done and (stop(done) or (visits <= before and not analysis.complete)):
            return
        yield analysis
        if analysis.complete or (step_s is not None and analysis.seconds > step_s / 2) or stop(done + 1):
            return


class PlayerAnalyzer:
    """Adapts a `Player`: always returns its move alone; ignores the limit and `stop`."""

    uses_limit = False

    def __init__(self, game: Game, player: Player) -> None:
        self.name, self.game = player.name, game
        self._player = player

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        """Return the player's move."""
        start_s = time.monotonic()
        action = int(self._player.choose(*position.as_batch())[0])
        return Analysis.of_move(action, 1, time.monotonic() - start_s)

    choose = analyse


class SearchAnalyzer:
    """Tree searches with a network; they can be stopped between batches of leaves."""

    uses_limit = True

    def __init__(
        self,
        name: str,
        game: Game | str,
        evaluate: Evaluate,
        simulations: int,
        margin_weight: float = PLAYING.margin_weight,
        seconds: float | None = None,
    ) -> None:
        """`simulations`, or, if given, `seconds` are the default without a limit; `evaluate` must be opened with the
        same `margin_weight`."""
        self.name, self.game = name, game_named(game)
        self._evaluate, self._margin_weight = evaluate, margin_weight
        self._usual = Limit(simulations) if seconds is None else Limit(seconds=seconds)
        self._searches: dict[bool, Search] = {}

    def analyse(
        self, position: Position, limit: Limit = UNLIMITED, stop: Callable[[], bool] = lambda: False, /
    ) -> Analysis:
        """Search until the limit is reached, the last batch of leaves included, the result of every move is proven, or
        `stop` is true."""
        return self._analyse(True, position, limit, stop)

    def choose(
        self, position: Position, limit: Limit = UNLIMITED, stop: Callable[[], bool] = lambda: False, /
    ) -> Analysis:
        """Search as `analyse` does, but only until the result of the position is proven."""
        return self._analyse(False, position, limit, stop)

    def _analyse(self, every_move: bool, position: Position, limit: Limit, stop: Callable[[], bool]) -> Analysis:
        position.expect_game(self.game)
        limit = self._usual if limit == UNLIMITED else limit
        watch, config = Watch(limit.seconds, stop), self._config(limit)
        search = self._searches.get(every_move)
        if search is None or search.config != config:
            search = self._searches[every_move] = Search(
                self.game, config, self._evaluate, 1, every_move=every_move, symmetric=True
            )
        result = search.run(*position.as_batch(), stop=watch)
        return analysis_of(position, search, result, 0, watch.seconds)

    def warm_up(self) -> None:
        """Run every batch size and a first search, so that the first move is not delayed; well under a second."""
        own, opp = (np.full(MOST_LEAVES, mask, np.uint64) for mask in (self.game.start_own, self.game.start_opp))
        size = 1
        while size <= MOST_LEAVES:
            self._evaluate(own[:size], opp[:size])
            size *= 2
        self.analyse(Position.start(self.game), Limit(simulations=2), lambda: False)

    def _config(self, limit: Limit) -> SearchConfig:
        """Return the config for a limit; its `simulations` size the tree."""
        if limit.seconds is None:
            assert limit.simulations is not None
            return self._playing(limit.simulations)
        room = simulations_in(limit.seconds)
        if limit.simulations is not None:
            room = min(room, limit.simulations)
        return self._playing(room)

    def _playing(self, simulations: int) -> SearchConfig:
        return playing_config(simulations, margin_weight=self._margin_weight)


def analysis_of(position: Position, search: Search, result: SearchResult, b: int, seconds: float) -> Analysis:
    """Return the analysis of `position`, number b of the last `run` of a symmetric search, which took `seconds`."""
    moves = with_images(position, _moves_of(search, result, b))
    nodes = 1 + int(result.visits[b].sum())
    return Analysis(moves, nodes, seconds, float(result.value[b]), search.is_proven(b))


def _moves_of(search: Search, result: SearchResult, b: int) -> Iterator[MoveAnalysis]:
    """Yield the moves of a root, best first; where the result is known without a tree, only the best moves."""
    value, reports = float(result.value[b]), search.report(b)
    if not reports:
        best = sorted(np.flatnonzero(result.policy[b]).tolist(), key=lambda action: action != result.action[b])
        yield from (MoveAnalysis(action, value, line=(action,), certain=True) for action in best)
    for move in reports:
        prior = float(result.prior[b, move.action])
        yield MoveAnalysis(move.action, move.value, move.visits, move.line, certain=move.certain, prior=prior)
