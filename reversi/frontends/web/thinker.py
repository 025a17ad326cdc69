"""What thinks for the page: one request's step at a time in one thread, so that all connections take turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

from reversi.analysis.analyzer import Analysis, Analyzer, Limit, deepening
from reversi.analysis.review import Reviewer
from reversi.frontends.web.selection import Opponent
from reversi.games.position import Position

T = TypeVar("T")

STEPS = (64, 256, 1024, 4096, 16384)
"""Simulations after which a growing analysis is reported; each step searches anew, a third more work in all."""

STEP_S = 10.0
"""Longest time of one step, in seconds; the analysis ends there."""

SLICE_S = 0.25
"""Time of a step of an analysis or review after which it makes way for others that wait, in seconds.  It begins anew
when it has its next turn, then with twice the time: so it ends, and at most half of its work is lost."""

MOVE_S = 0.5
"""Time of a move without a limit of time while others wait, in seconds; alone it takes what it takes."""

NEARLY = 0.9
"""Share of its time that a move must have for nothing to be missed."""

CROWD = 20
"""Games at once for which a move's time suffices."""

REMEMBERED = 4096
"""Most positions of reviews that are remembered, the newest: those of some seventy games."""

END_S = 1.0
"""Longest time that the end of the thread is waited for, in seconds; a player, unlike a search, cannot be stopped."""


class Stop:
    """Stops a request: its step that runs soon ends, one that waits for its turn is taken back."""

    def __init__(self) -> None:
        self._event = Event()
        self._waiting: Future[Any] | None = None

    def __call__(self) -> bool:
        """Return whether the request is stopped."""
        return self._event.is_set()

    def set(self) -> None:
        """Stop the request; whoever waits for its next step gets CancelledError unless that has begun."""
        self._event.set()
        if self._waiting is not None:
            self._waiting.cancel()

    def take_back(self, step: Future[Any]) -> None:
        """Let `set` cancel this step, at once if the request is stopped already."""
        self._waiting = step
        if self():
            step.cancel()


class Thinker:
    """Runs the steps of requests in the order in which they come; an analyzer is never used by two at once.

    A request has one step at a time in the queue, so those of several connections take turns.
    """

    def __init__(self) -> None:
        self._steps: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._reviewed: dict[tuple[Reviewer, Position], Analysis] = {}
        """What reviews found, oldest first: a review that is asked for again goes on where it was."""
        self._thread = Thread(target=self._work, name="thinker", daemon=True)
        self._thread.start()

    async def choose(self, opponent: Opponent, position: Position, stop: Stop) -> tuple[Analysis, bool]:
        """Return the opponent's move in an unfinished position, and whether it was thought about less for the sake of
        others that wait; a forced move is not thought about."""
        legal = position.legal_actions()
        if len(legal) == 1:
            return Analysis.of_move(legal[0]), False
        asked_s, analyzer = time.monotonic(), opponent.analyzer

        def think() -> tuple[Analysis, bool]:
            limit = shared(opponent.limit, self._steps.qsize(), time.monotonic() - asked_s)
            end = stop if opponent.limit.seconds is not None else _Hurry(self._steps, stop)
            analysis = analyzer.choose(position, limit, end)
            return analysis, analyzer.uses_limit and is_shortened(analysis, limit, opponent.limit)

        return await self._run(think, stop)

    async def analyse(self, analyzer: Analyzer, position: Position, stop: Stop) -> AsyncIterator[Analysis]:
        """Yield ever deeper analyses of an unfinished position, up to the last of `STEPS`, as `deepening` does."""
        done, turn = 0, _Turn(self._steps, stop)
        while done < len(STEPS):
            analyses = deepening(analyzer, position, STEPS[done:], lambda _: turn.is_over(), STEP_S)
            while True:
                analysis = await self._run(partial(turn.give, partial(next, analyses, None)), stop)
                if turn.was_cut:
                    break
                if analysis is None:
                    return
                yield analysis
                done += 1

    async def review(
        self, reviewer: Reviewer, positions: Sequence[Position], stop: Stop
    ) -> AsyncIterator[tuple[int, Analysis]]:
        """Yield the index and the analysis of each unfinished position, from the last one back: the end of a game is
        solved in no time, and prepares the solver for what comes before."""
        turn = _Turn(self._steps, stop)
        for index in reversed([index for index, position in enumerate(positions) if not position.is_over]):
            key = reviewer, positions[index]
            while (analysis := self._reviewed.get(key)) is None:
                think = partial(reviewer.analyse, positions[index], turn.is_over)
                found = await self._run(partial(turn.give, think), stop)
                if stop():
                    return
                if not turn.was_cut:
                    self._remember(key, found)
            yield index, analysis

    def _remember(self, key: tuple[Reviewer, Position], analysis: Analysis) -> None:
        self._reviewed[key] = analysis
        if len(self._reviewed) > REMEMBERED:
            del self._reviewed[next(iter(self._reviewed))]

    async def do(self, work: Callable[[], T]) -> T:
        """Return the result of work that has its turn like a step."""
        return await self._run(work, Stop())

    def close(self) -> None:
        """End the thread; requests must have been stopped.  A player that goes on still ends with the process."""
        self._steps.put(None)
        self._thread.join(END_S)

    async def _run(self, think: Callable[[], T], stop: Stop) -> T:
        """Return the result of a step when it has had its turn; CancelledError if it is stopped before."""
        future: Future[T] = Future()
        stop.take_back(future)
        self._steps.put((future, think))
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while (step := self._steps.get()) is not None:
            future, think = step
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(think())
            except BaseException as error:  # raised again where the request is answered
                future.set_exception(error)


def shared(limit: Limit, waiting: int, waited_s: float) -> Limit:
    """Return the limit of a move for which others wait: its time, or `MOVE_S`, is divided among all, and what the move
    has waited is taken from it, down to a share of `CROWD`; so twenty moves of half a second each come within a second.

    waiting   how many others wait; a move without a limit of time for which nobody waits has none
    waited_s  how long this move has waited, in seconds
    """
    if limit.seconds is None and not waiting:
        return limit
    seconds = MOVE_S if limit.seconds is None else limit.seconds
    left_s = max(seconds - waited_s, seconds / CROWD)
    return Limit(limit.simulations, min(seconds / (1 + waiting), left_s))


def is_shortened(analysis: Analysis, given: Limit, usual: Limit) -> bool:
    """Return whether an analysis with the limit `given` is less than one with the `usual` limit would have been."""
    if analysis.proven:
        return False
    if usual.seconds is not None and (given.seconds or 0.0) >= NEARLY * usual.seconds:
        return False
    return usual.simulations is None or analysis.nodes < usual.simulations


class _Hurry:
    """The `stop` of a move without a limit of time: ends each part of it, the solver and then the search, that has had
    its share of `MOVE_S` while others wait, also those that came later."""

    def __init__(self, others: SimpleQueue[Any], stop: Stop) -> None:
        self._others, self._stop, self._begun_s = others, stop, time.monotonic()

    def __call__(self) -> bool:
        now_s, waiting = time.monotonic(), self._others.qsize()
        if waiting and now_s - self._begun_s >= MOVE_S / (1 + waiting):
            self._begun_s = now_s
            return True
        return self._stop()


class _Turn:
    """The turns of a request's steps: each ends when the request is stopped, or after its time if others wait."""

    def __init__(self, others: SimpleQueue[Any], stop: Stop) -> None:
        self._others, self._stop = others, stop
        self._slice_s, self._end_s = SLICE_S, 0.0
        self.was_cut = False
        """Whether the last turn ended for the sake of others, so that its result is not the whole."""

    def give(self, think: Callable[[], T]) -> T:
        """Return what `think`, which asks `is_over`, makes of the next turn; after one that was cut it is longer."""
        self._slice_s = 2 * self._slice_s if self.was_cut else SLICE_S
        self._end_s = time.monotonic() + self._slice_s
        self.was_cut = False
        return think()

    def is_over(self) -> bool:
        """Return whether the turn ends."""
        if self._stop():
            return True
        self.was_cut = self.was_cut or (time.monotonic() >= self._end_s and not self._others.empty())
        return self.was_cut
