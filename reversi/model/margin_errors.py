"""`MarginErrors`: how far the margins that a model expects lie from the truth, by the number of empty squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from reversi.games.rules import GAMES
from reversi.settings import at_least, between, require, require_ranges

MOST_SQUARES = max(game.squares for game in GAMES.values())


@dataclass(frozen=True, kw_only=True)
class Band:
    """The positions with `fewest` to `most` empty squares."""

    fewest: Annotated[int, between(0, MOST_SQUARES)]
    most: Annotated[int, between(0, MOST_SQUARES)]
    positions: Annotated[int, at_least(1)]
    """Number of positions."""
    discs: Annotated[float, between(0, 2 * MOST_SQUARES)]
    """Standard error of an expected margin: root mean square of its differences from the truth."""

    def __post_init__(self) -> None:
        require_ranges(self, "margin_errors")
        require(self.fewest <= self.most, "margin_errors.most", f"at least {self.fewest}", self.most)

    def distance(self, empties: int) -> int:
        """Return how far a number of empty squares lies outside, 0 for one inside."""
        return max(self.fewest - empties, empties - self.most, 0)

    @property
    def squares(self) -> str:
        """The numbers of empty squares: `13-16`."""
        return f"{self.fewest}-{self.most}"


@dataclass(frozen=True, kw_only=True)
class MarginErrors:
    """Standard errors of expected margins, measured in games that the model was not trained on.

    The truth of a position with up to `solved` empty squares is the margin of perfect play, of one before that the
    margin of perfect play from where its game had so many: what both sides lost on the way there is in the error.
    """

    simulations: Annotated[int, at_least(0)]
    """Of the searches that expected the margins, without the solver; a network of patterns has
    `NODES_PER_SIMULATION` positions for each."""
    solved: Annotated[int, between(0, MOST_SQUARES)]
    """Most empty squares of the positions that were solved."""
    bands: tuple[Band, ...]
    """Fewest empty squares first."""

    def __post_init__(self) -> None:
        require_ranges(self, "margin_errors")

    def at(self, empties: int) -> float | None:
        """Return the standard error in discs with so many empty squares; with more or fewer than were measured, that of
        the nearest band, None without any."""
        return min(self.bands, key=lambda band: band.distance(empties)).discs if self.bands else None
