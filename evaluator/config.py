"""`GateConfig`: when a candidate replaces the champion; `LadderConfig`: who is rated against whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from evaluator import MOST_GAMES
from reversi.errors import ConfigError
from reversi.players.engines.engine import EngineLimits
from reversi.settings import LATER, above, at_least, between, require, require_ranges


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """When a candidate replaces the champion.  AlphaZero has no gate; AlphaGo Zero's is the default."""

    games: int
    """Games per match; even, since every opening is played twice with the colours swapped.  AlphaGo Zero: 400."""

    wins: int
    """Points needed for promotion; see `rule`.  With 220 of 400 an equal candidate passes once in 40 matches, one that
    is 35 Elo stronger every other time.  AlphaGo Zero: 220 (55 %)."""

    rule: Literal["wins", "score"]
    """What counts as a point: a won game only (`wins`), or a draw as half a point too (`score`).  Where strong players
    draw often, as on 8x8, `wins` requires far more than 55 % of the decided games.  AlphaGo Zero: no draws in Go."""

    simulations: Annotated[int, between(0, 100_000)]
    """Simulations per move for both sides, which search as models play (`players/model.py`); patterns play alpha-beta
    for the same time.  Small numbers show what a network has learned: in two pairs of models the better one led by 53
    and 61 Elo with 16, by 30 and 17 with 64.  AlphaGo Zero: 1600."""

    solve_empties: int
    """`SearchConfig.solve_empties` for both sides.  Solved endings hide what a candidate has learned about them:
    four candidates on 6x6 led by 36, 29, 41 and 32 Elo with 12, by 68, 56, 45 and 47 with 0."""

    opening_plies: Annotated[int | None, between(0, 30)]
    """Uniformly random plies before a game begins; null uses the fewest that give enough distinct openings to choose
    from: on 6x6 and 8x8 that is 6 for the 800 drawn for 400 games with `opening_choice` 4, and 5 for 200.
    More plies give more openings, but more lopsided ones.  Not used with `openings`.  AlphaGo Zero: none; its games
    differ by temperature."""

    opening_choice: Annotated[int, between(1, 100)]
    """Random openings drawn per opening played.  From these a match plays the ones that the champion evaluates as most
    even, since most of the others are won by the same side whoever plays it; if the game has fewer, the match chooses
    from all of them.  1 plays them as drawn.  Not used with `openings`.  AlphaGo Zero: none."""

    openings: str | None
    """A file with one opening per line, such as `f5d6c3`, from which a match draws as many as it needs; null draws
    random plies."""

    games_at_once: int
    """Games in progress at once.  Half of them share a network batch, so fewer games make inference slower; with more,
    more games are unfinished, and wasted, when the verdict is certain."""

    truth_positions: Annotated[int, between(0, 100_000)]
    """Positions with few empty squares, solved when the gate starts, on which the moves of every candidate are checked:
    for metrics only, without effect on the verdict.  0 turns the check off; tic-tac-toe has none."""

    truth_empties: Annotated[int, between(2, 20)]
    """Most empty squares of those positions, limited to a third of the board; the fewest are a sixth of the board."""

    truth_simulations: Annotated[int, between(0, 100_000)]
    """Simulations per move in this check; it runs without the solver, which would get all of the positions right."""

    threads: Annotated[int, between(1, 1024)]
    """Threads of the network's inference."""

    backend: Literal["auto", "openvino", "torch"]
    """Inference backend; `auto` takes OpenVINO where it is installed."""

    opponents: tuple[str, ...] = field(default=(), metadata=LATER)
    """Fixed opponents, as players are named (`reversi/players/spec.py`), that every champion plays between two gate
    matches, since Elo against one's own ancestors is inflated.  A promoted model plays three older champions too.
    For metrics and the model card only, without effect on verdicts; [] turns all of it off."""

    opponent_games: int = field(default=40, metadata=LATER)
    """Games against each of them; even, since every opening is played with both colours."""

    opponent_every: Annotated[int, at_least(0)] = field(default=5, metadata=LATER)
    """Every so many candidates one plays the fixed opponents whatever its verdict; 0: champions alone."""

    opponent_share: Annotated[float, above(0, 1)] = field(default=0.03, metadata=LATER)
    """Most of the gate's time, which is that of one core, spent on these games.  A run that is to repeat bit for bit
    cannot look at a clock: it plays them all."""

    @property
    def openings_drawn(self) -> int:
        """Random openings from which those of a match are chosen, if the game has that many."""
        return self.games // 2 * self.opening_choice

    def __post_init__(self) -> None:
        for name in ("games", "games_at_once", "opponent_games"):
            value = getattr(self, name)
            fits = 2 <= value <= MOST_GAMES and value % 2 == 0
            require(fits, f"gate.{name}", f"even and from 2 to {MOST_GAMES}", value)
        require(1 <= self.wins <= self.games, "gate.wins", f"from 1 to gate.games ({self.games})", self.wins)
        require(self.rule in ("wins", "score"), "gate.rule", "wins or score", self.rule)
        require_ranges(self, "gate")


@dataclass(frozen=True, kw_only=True)
class LadderConfig:
    """Who is rated against whom, and over how many games."""

    size: int
    """Squares along a side of the board: 4, 6 or 8."""

    players: tuple[str, ...]
    """Players as `reversi.players.spec` names them."""

    champions: bool
    """Whether the registry's champion takes part too, without and with search, and the model halfway to it."""

    anchor: str | None
    """The player fixed at 0 Elo; null is the first one."""

    games: int
    """Games per pair; even, since every opening is played twice with the colours swapped.  Rounded up to batches of 20,
    so that a longer ladder repeats none."""

    one_sided: Annotated[int | None, at_least(1)]
    """A pair stops once one player has won all of its games, at least this many; null plays all."""

    engines: EngineLimits
    """Time limits and restarts of external engines."""

    def __post_init__(self) -> None:
        require(self.size in (4, 6, 8), "ladder.size", "4, 6 or 8", self.size)
        if not self.players and not self.champions:
            raise ConfigError("ladder.players must not be empty where ladder.champions is false")
        fits = 2 <= self.games <= MOST_GAMES and self.games % 2 == 0
        require(fits, "ladder.games", f"even and from 2 to {MOST_GAMES}", self.games)
        require_ranges(self, "ladder")
