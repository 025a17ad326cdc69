"""`Clocks`: both sides' remaining time, and the share of it that a move may take."""

from __future__ import annotations

from dataclasses import dataclass

from reversi.analysis.analyzer import Limit
from reversi.formats.ggf import GgfTime

MARGIN_S = 0.03
"""Time reserved in every move for pipes, scheduling and the last batch of leaves; a controller may count as much."""

RESERVE_S = 0.25
"""Time of a period that is left for a machine that stands still for a moment, of a short one a fifth: the last moves of
a period have no later ones to save time in."""


@dataclass
class _Clock:
    main_s: float
    period_s: float = 0.0
    stones: int = 0
    """Moves still to be made in the period; 0 while the main time runs."""
    told: bool = False
    """Whether the controller said so, so that its periods begin when ours do."""
    increment_s: float = 0.0
    """Added to the main time after every move."""
    extension_s: float = 0.0
    """Added to the main time once, when it has run out."""


class Clocks:
    """Both sides' clocks in terms of GTP's `time_settings`: main time, then `stones` moves in every period."""

    def __init__(self) -> None:
        """Begin without a limit."""
        self._clocks: dict[bool, _Clock] = {}
        self._main_s, self._period_s, self._stones = 0.0, 1.0, 0  # GTP's encoding of no limit

    def set(self, main_s: float, period_s: float, stones: int) -> None:
        """Begin a game with these times; as in GTP, a period with 0 stones means no limit."""
        self._main_s, self._period_s, self._stones = main_s, period_s, stones
        self.restart()

    def restart(self) -> None:
        """Begin another game with the same times."""
        self._clocks.clear()
        if self._period_s == 0 or self._stones > 0:
            for black in (True, False):
                self._clocks[black] = _Clock(self._main_s)
                if self._main_s == 0:
                    self._begin_period(self._clocks[black])

    def tell(self, black: bool, left_s: float, stones: int) -> None:
        """Set a side's remaining time: its main time if `stones` is 0, else the time for that many moves."""
        self._clocks[black] = _Clock(0.0, left_s, stones, told=True) if stones > 0 else _Clock(left_s, told=True)

    def begin(self, black: bool, time: GgfTime | None) -> None:
        """Set a side's time for a whole game; None means no limit."""
        self._clocks.pop(black, None)
        if time is not None:
            self._clocks[black] = _Clock(
                time.main_s, told=True, increment_s=time.increment_s, extension_s=time.extension_s
            )

    def limit(self, given: Limit, black: bool, empties: int) -> Limit:
        """Return the limit of the side's next move: the `given` one, with no more time than the clock allows."""
        share_s = self.share_s(black, empties)
        if share_s is None:
            return given
        return Limit(given.simulations, share_s if given.seconds is None else min(share_s, given.seconds))

    def share_s(self, black: bool, empties: int) -> float | None:
        """Return the time for the side's next move in seconds, None if there is no limit.

        In the main time: an equal share for each move the side may still have to make, plus two; if a period follows,
        at least a move's share of the period.  In a period, but for its reserve: an equal share for each of its
        remaining moves, without what earlier moves left of it where the controller's period may have begun later.
        """
        clock = self._clocks.get(black)
        if clock is None:
            return None
        if clock.stones:
            share_s = (clock.period_s - self._reserve_s()) / clock.stones
            return max(0.0, (share_s if clock.told else min(share_s, self._usual_s())) - MARGIN_S)
        share_s = min(clock.main_s, clock.main_s / ((empties + 1) // 2 + 2) + clock.increment_s)
        if self._stones:
            share_s = max(share_s, self._usual_s())
        return max(0.0, share_s - MARGIN_S)

    def _usual_s(self) -> float:
        """Return a move's share of a whole period."""
        return (self._period_s - self._reserve_s()) / max(1, self._stones)

    def _reserve_s(self) -> float:
        return min(RESERVE_S, self._period_s / 5)

    def spend(self, black: bool, seconds: float) -> None:
        """Subtract the time of a move and what the controller may count beside it, which may never send the remaining
        time."""
        self.count(black, seconds + MARGIN_S)

    def count(self, black: bool, seconds: float) -> None:
        """Subtract the time of a move as the controller counted it."""
        clock = self._clocks.get(black)
        if clock is None:
            return
        if not clock.stones:
            clock.main_s -= seconds
            if clock.main_s <= 0:
                clock.main_s, clock.extension_s = clock.main_s + clock.extension_s, 0.0
            if clock.main_s > 0:
                clock.main_s += clock.increment_s
                return
            seconds = -clock.main_s
            self._begin_period(clock)
        clock.period_s -= seconds
        clock.stones = max(0, clock.stones - 1)
        if clock.stones == 0:
            self._begin_period(clock)

    def _begin_period(self, clock: _Clock) -> None:
        clock.main_s, clock.period_s, clock.stones = 0.0, self._period_s, self._stones
