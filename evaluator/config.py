"""`GateConfig`: when a candidate replaces the champion; `LadderConfig`: who is rated against whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reversi.engines.engine import EngineLimits
from reversi.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """When a candidate replaces the champion.  AlphaZero has no gate; AlphaGo Zero's is the default."""

    games: int = 400
    """Games per match; even, since every opening is played twice with the colours swapped.  AlphaGo Zero: 400."""

    wins: int = 220
    """Points that promote; see `rule`.  220 of 400 let an equal candidate pass once in 40 matches, one that is 35 Elo
    stronger every other time.  AlphaGo Zero: 220 (55 %)."""

    rule: Literal["wins", "score"] = "wins"
    """What counts as a point: a won game only (`wins`), or a draw as half a point too (`score`).  Where strong players
    draw often, as on 8x8, `wins` asks for far more than 55 % of the decided games.  AlphaGo Zero: no draws in Go."""

    simulations: int = 16
    """Simulations per move of both sides, which search as models play (`players/model.py`).  Few show what a network
    has learned: of two pairs the better one led by 53 and 61 Elo with 16, by 30 and 17 with 64.  AlphaGo Zero: 1600."""

    solve_empties: int = 0
    """`SearchConfig.solve_empties` of both sides.  Solved endings hide what a candidate has learned about them:
    four candidates on 6x6 led by 36, 29, 41 and 32 Elo with 12, by 68, 56, 45 and 47 with 0."""

    opening_plies: int | None = None
    """Uniformly random plies before a game begins; null takes the fewest that give enough distinct openings to choose
    from, 6 for 400 games on 6x6 and 8x8.  More give more openings, and more lopsided ones.  Not used with `openings`.
    AlphaGo Zero: none, its games differ by temperature."""

    opening_choice: int = 4
    """Random openings per one that is played: of so many times as many as a match needs, it plays those that the
    champion finds most even, since most others are won by the same side whoever plays it; where there are fewer, of all
    there are.  1 takes them as they come.  Not used with `openings`.  AlphaGo Zero: none."""

    openings: str | None = None
    """A file with one opening per line, such as `f5d6c3`, of which a match draws as many as it needs; null draws random
    plies."""

    lockstep: int = 128
    """Games in progress at once.  Half of them share a batch of the network, so with fewer inference is slower; with
    more, more games are unfinished, and lost, when the verdict is certain."""

    truth_positions: int = 300
    """Positions with few empty squares, solved when the gate starts, on which the moves of every candidate are checked:
    metrics, without a say in the verdict.  0 is none; so is tic-tac-toe."""

    truth_empties: int = 12
    """Most empty squares of those positions, of a third of the board at most; the least are a sixth of the board."""

    truth_simulations: int = 64
    """Simulations per move with which they are checked, without the solver, which would be right about all of them."""

    threads: int = 1
    """Threads of the network's inference."""

    backend: Literal["auto", "openvino", "torch"] = "auto"
    """Inference backend; `auto` takes OpenVINO where it is installed."""

    @property
    def openings_drawn(self) -> int:
        """Random openings from which those of a match are chosen, if there are so many."""
        return self.games // 2 * self.opening_choice

    def __post_init__(self) -> None:
        if self.games < 2 or self.games % 2:
            raise ConfigError(f"gate.games must be even and at least 2, got {self.games}")
        if not 1 <= self.wins <= self.games:
            raise ConfigError(f"gate.wins must be from 1 to gate.games ({self.games}), got {self.wins}")
        if self.rule not in ("wins", "score"):
            raise ConfigError(f"gate.rule must be wins or score, got {self.rule!r}")
        for name in ("simulations", "truth_simulations"):
            if not 0 <= getattr(self, name) <= 100_000:
                raise ConfigError(f"gate.{name} must be from 0 to 100000, got {getattr(self, name)}")
        if self.opening_plies is not None and not 0 <= self.opening_plies <= 30:
            raise ConfigError(f"gate.opening_plies must be null or from 0 to 30, got {self.opening_plies}")
        if not 1 <= self.opening_choice <= 100:
            raise ConfigError(f"gate.opening_choice must be from 1 to 100, got {self.opening_choice}")
        if self.lockstep < 2 or self.lockstep % 2:
            raise ConfigError(f"gate.lockstep must be even and at least 2, got {self.lockstep}")
        if not 0 <= self.truth_positions <= 100_000:
            raise ConfigError(f"gate.truth_positions must be from 0 to 100000, got {self.truth_positions}")
        if not 1 <= self.truth_empties <= 20:
            raise ConfigError(f"gate.truth_empties must be from 1 to 20, got {self.truth_empties}")
        if self.threads < 1:
            raise ConfigError(f"gate.threads must be at least 1, got {self.threads}")


@dataclass(frozen=True, kw_only=True)
class LadderConfig:
    """Who is rated against whom, and over how many games."""

    size: int
    """Squares along a side of the board: 4, 6 or 8."""

    players: tuple[str, ...]
    """Players as `reversi.players.spec` names them."""

    champions: bool
    """Whether the registry's champion takes part too: bare, searched, and as it was halfway."""

    anchor: str | None
    """The player with 0 Elo; null is the first one."""

    games: int
    """Games of every pair; even, since every opening is played twice with the colours swapped."""

    one_sided: int | None
    """A pair plays no further once one player has won all of so many games; null plays all."""

    engines: EngineLimits
    """How much patience other people's programs get."""

    def __post_init__(self) -> None:
        if self.size not in (4, 6, 8):
            raise ConfigError(f"ladder.size must be 4, 6 or 8, got {self.size}")
        if not self.players and not self.champions:
            raise ConfigError("ladder.players must not be empty where ladder.champions is false")
        if self.games < 2 or self.games % 2:
            raise ConfigError(f"ladder.games must be even and at least 2, got {self.games}")
        if self.one_sided is not None and self.one_sided < 1:
            raise ConfigError(f"ladder.one_sided must be null or at least 1, got {self.one_sided}")
