"""What thinks for the page: opponents of several strengths and one analyzer, one request at a time in one thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from reversi.frontends import review
from reversi.frontends.analysis import Analysis, Analyzer, Limit, deepening
from reversi.games.position import Position
from reversi.games.rules import Game

T = TypeVar("T")

STEPS = (64, 256, 1024, 4096, 16384)
"""Simulations after which a growing analysis is reported; each step searches anew, a third more work in all."""

STEP_S = 10.0
"""Longest time of one step, in seconds; the analysis ends there."""

END_S = 1.0
"""Longest time that the end of the thread is waited for, in seconds; a player, unlike a search, cannot be stopped."""


@dataclass(frozen=True)
class Opponent:
    """An opponent that the page offers."""

    name: str
    """How the page asks for it."""
    label: str
    """How the page shows it."""
    analyzer: Analyzer
    limit: Limit


class Thinker:
    """Answers requests in the order in which they come; an analyzer is never used by two at once."""

    def __init__(self, game: Game, opponents: Sequence[Opponent], default: str, analyzer: Analyzer | None) -> None:
        """`default` names the opponent that the page selects first; without an `analyzer` nothing can be analysed."""
        self.game, self.default = game, default
        self.opponents = {opponent.name: opponent for opponent in opponents}
        assert default in self.opponents
        self._analyzer = analyzer
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="thinker", daemon=True)
        self._thread.start()

    @property
    def can_analyse(self) -> bool:
        """Whether `analyse` and `review` are possible."""
        return self._analyzer is not None

    async def choose(self, position: Position, opponent: Opponent, stop: Callable[[], bool]) -> Analysis:
        """Return the opponent's move in an unfinished position; a forced move is not thought about."""
        legal = position.legal_actions()
        if len(legal) == 1:
            return Analysis.of_move(legal[0])
        return await self._run(partial(opponent.analyzer.choose, position, opponent.limit, stop))

    async def analyse(self, position: Position, stop: Callable[[], bool]) -> AsyncIterator[Analysis]:
        """Yield ever deeper analyses of an unfinished position, up to the last of `STEPS`, as `deepening` does."""
        assert self._analyzer is not None
        analyses = deepening(self._analyzer, position, STEPS, lambda done: stop(), STEP_S)
        while (analysis := await self._run(partial(next, analyses, None))) is not None:
            yield analysis

    async def review(self, positions: Sequence[Position], stop: Callable[[], bool]) -> AsyncIterator[Analysis]:
        """Yield an analysis of each of the unfinished positions, in their order."""
        analyzer = self._analyzer
        assert analyzer is not None
        limit = Limit(review.SIMULATIONS, STEP_S)
        for position in positions:
            analysis = await self._run(partial(analyzer.analyse, position, limit, stop))
            if stop():
                return
            yield analysis

    def close(self) -> None:
        """End the thread; requests must have been stopped.  A player that goes on still ends with the process."""
        self._jobs.put(None)
        self._thread.join(END_S)

    async def _run(self, think: Callable[[], T]) -> T:
        future: Future[T] = Future()
        self._jobs.put((future, think))
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, think = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(think())
            except BaseException as error:  # raised again where the request is answered
                future.set_exception(error)
