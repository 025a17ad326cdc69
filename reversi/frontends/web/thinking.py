"""What thinks for the page: opponents of several strengths and one analyzer, one request at a time in one thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread

from reversi.frontends.analysis import Analysis, Analyzer, Limit
from reversi.games.position import Position
from reversi.games.rules import Game

STEPS = (64, 256, 1024, 4096, 16384)
"""Simulations after which a growing analysis is reported; each step searches anew, a third more work in all."""

REVIEW_SIMULATIONS = 256
"""Simulations per position in the review of a game."""

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

    def __init__(
        self,
        game: Game,
        opponents: Sequence[Opponent],
        default: str,
        analyzer: Analyzer | None,
        reviewer: Analyzer | None = None,
    ) -> None:
        """`default` names the opponent that the page selects first; without an `analyzer` nothing can be analysed.

        `reviewer` analyses the positions of a review; by default the analyzer does.
        """
        self.game, self.default = game, default
        self.opponents = {opponent.name: opponent for opponent in opponents}
        assert default in self.opponents
        self._analyzer, self._reviewer = analyzer, reviewer or analyzer
        self._jobs: SimpleQueue[tuple[Future[Analysis], Callable[[], Analysis]] | None] = SimpleQueue()
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
        return await self._run(opponent.analyzer, position, opponent.limit, stop)

    async def analyse(self, position: Position, stop: Callable[[], bool]) -> AsyncIterator[Analysis]:
        """Yield ever deeper analyses of an unfinished position, until its result is known, `stop`, or the last step."""
        assert self._analyzer is not None
        for simulations in STEPS:
            analysis = await self._run(self._analyzer, position, Limit(simulations, STEP_S), stop)
            if stop():
                return
            yield analysis
            if analysis.best.score is not None or analysis.best.certain or analysis.seconds > STEP_S / 2:
                return

    async def review(self, positions: Sequence[Position], stop: Callable[[], bool]) -> AsyncIterator[Analysis]:
        """Yield an analysis of each of the unfinished positions, in their order."""
        assert self._reviewer is not None
        for position in positions:
            analysis = await self._run(self._reviewer, position, Limit(REVIEW_SIMULATIONS, STEP_S), stop)
            if stop():
                return
            yield analysis

    def close(self) -> None:
        """End the thread; requests must have been stopped.  A player that goes on still ends with the process."""
        self._jobs.put(None)
        self._thread.join(END_S)

    async def _run(self, analyzer: Analyzer, position: Position, limit: Limit, stop: Callable[[], bool]) -> Analysis:
        future: Future[Analysis] = Future()
        self._jobs.put((future, lambda: analyzer.analyse(position, limit, stop)))
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, analyse = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(analyse())
            except BaseException as error:  # raised again where the request is answered
                future.set_exception(error)
