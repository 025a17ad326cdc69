"""Games of the engine that people start, `reversi gtp` with a model of patterns, against a clock that is not its own.

One engine plays both sides of every game after some random plies.  The clock runs from the command's first byte to the
answer's last, pipes included; a share above 1 is a game lost on time.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from reversi.games.position import Position
from scripts.bench.measure import Row, row
from scripts.bench.setup import Settings

RANDOM_PLIES = 10
"""Random plies that a game begins with."""

ENGINE = (sys.executable, "-m", "scripts.cli", "gtp", "--model", "shipped")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The times of a game as in GTP's `time_settings`, and whether every move is preceded by `time_left`."""

    main_s: float
    period_s: float = 0
    stones: int = 0
    told: bool = False

    def __str__(self) -> str:
        period = f", then {self.stones} moves in {self.period_s:g} s" if self.stones else ""
        return f"{self.main_s:g} s{period}, time_left {'sent' if self.told else 'not sent'}"


CLOCKS = {
    "clock_used": Limits(main_s=2),
    "clock_told_used": Limits(main_s=2, told=True),
    "clock_periods_used": Limits(main_s=0.5, period_s=1, stones=10),
}


@dataclass
class Side:
    """One side's clock."""

    limits: Limits
    left_s: float = field(init=False)
    stones: int = 0
    used: float = 0.0
    """Largest share of a main time without periods, or of a period, that was taken."""

    def __post_init__(self) -> None:
        self.left_s = self.limits.main_s

    def spend(self, seconds: float) -> None:
        """Count a move."""
        self.left_s -= seconds
        if not self.limits.stones:
            self.used = 1 - self.left_s / self.limits.main_s
            return
        if not self.stones:
            if self.left_s >= 0:
                return
            self._begin_period(-self.left_s)
        self.used = max(self.used, 1 - self.left_s / self.limits.period_s)
        self.stones -= 1
        if not self.stones:
            self._begin_period(0)

    def _begin_period(self, spent_s: float) -> None:
        self.left_s, self.stones = self.limits.period_s - spent_s, self.limits.stones


class Engine:
    """The program."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(ENGINE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.ask("genmove b")  # loads the kernels

    def ask(self, command: str) -> str:
        """Send a command and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer.startswith("="), f"{command}: {answer}"
        self._process.stdout.readline()
        return answer[1:].strip()

    def close(self) -> None:
        """End it."""
        self.ask("quit")
        self._process.wait()


def bench_clocks(settings: Settings, games: int) -> Iterator[Row]:
    """Yield, for every kind of clock, the largest share of its time that a side took in each of its part of `games`."""
    engine, draws = Engine(), random.Random(1)
    for name, limits in CLOCKS.items():
        count = max(1, games // len(CLOCKS))
        used = [share for _ in range(count) for share in play_game(engine, settings, limits, draws)]
        over = sum(share > 1 for share in used)
        yield row(name, used, "of the time", f"{count} games of both sides, {limits}; {over} overrun")
    engine.close()


def play_game(engine: Engine, settings: Settings, limits: Limits, draws: random.Random) -> list[float]:
    """Play a game and return what either side took."""
    engine.ask("clear_board")
    engine.ask(f"time_settings {limits.main_s:g} {limits.period_s:g} {limits.stones}")
    position, sides = Position.start(settings.game), {True: Side(limits), False: Side(limits)}
    for _ in range(RANDOM_PLIES):
        if not position.is_over:
            move = draws.choice(position.legal_moves())
            engine.ask(f"play {'b' if position.black_to_move else 'w'} {move}")
            position = position.play(move)
    while not position.is_over:
        side, color = sides[position.black_to_move], "b" if position.black_to_move else "w"
        start_s = time.monotonic()
        if limits.told:
            engine.ask(f"time_left {color} {side.left_s:.3f} {side.stones}")
        move = engine.ask(f"genmove {color}")
        side.spend(time.monotonic() - start_s)
        position = position.play(move)
    return [side.used for side in sides.values()]
