"""`GameStatistics`: what finished games are like: who wins, how long they are, how they open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.games.rules import Game, play_batch
from reversi.games.symmetry import canonical_key
from reversi.record import OPENING, SEARCHED, Records

SAMPLE = 64
"""Games of a round that are looked at, at most, evenly spread over them."""

OPENING_PLIES = 8
"""Plies after which two games with the same position, up to symmetry, have the same opening."""

REMEMBERED = 1000
"""Different openings of an actor that are remembered, the newest."""


@dataclass(frozen=True, kw_only=True)
class GameSums:
    """Sums over the games that were looked at; lessons, which the solver plays, are counted and otherwise left out."""

    sampled: int = 0
    """Games looked at, without lessons."""
    lessons: int = 0
    """Games beside them in which the solver gave every value after the opening."""
    black_wins: int = 0
    """Games that Black won."""
    white_wins: int = 0
    """Games that White won."""
    plies: int = 0
    """Plies of the games."""
    lead: int = 0
    """Discs that the games were won by."""
    new_openings: int = 0
    """Games whose position after `OPENING_PLIES`, up to symmetry, is not among the `REMEMBERED` ones of their actor."""
    valued: int = 0
    """Plies with a value of a search or of tables, and none of the solver."""
    value_squares: float = 0.0
    """Sum over these of the squared difference between the value and the game's end, both from -1 to 1."""


class GameStatistics:
    """Looks at the games of one actor, round after round."""

    def __init__(self, game: Game, *, margins: bool) -> None:
        """`margins`: values are expected margins as a share of the board, of every move but passes; else they are
        expected results, of searched plies."""
        self._game, self._margins = game, margins
        self._openings: dict[tuple[int, int], None] = {}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a resumed actor needs to count on: the openings remembered, uint64[N, 2]."""
        return {"openings": np.array(list(self._openings), np.uint64).reshape(-1, 2)}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore `arrays()`."""
        self._openings = {(int(own), int(opp)): None for own, opp in arrays["openings"]}

    def of(self, records: Records) -> GameSums:
        """Return the sums over a sample of a round's games."""
        if len(records) > SAMPLE:
            chosen = np.zeros(len(records), np.bool_)
            chosen[np.linspace(0, len(records) - 1, SAMPLE).astype(np.int64)] = True
            records = records.select(chosen)
        game, ply = records.game_and_ply()
        opening = np.bincount(game[records.ply_kind == OPENING], minlength=len(records))
        played = records.exact_from > opening
        margin = np.where(records.black_first == 1, records.margin, -records.margin)[played]
        end = records.margin / self._game.squares if self._margins else np.sign(records.margin.astype(np.float64))
        end = end[game] * np.where(ply % 2 == 0, 1.0, -1.0)
        valued = (ply < records.exact_from[game]) & played[game]
        if self._margins:
            valued &= (records.ply_kind != OPENING) & (records.actions != self._game.pass_action)
        else:
            valued &= records.ply_kind == SEARCHED
        return GameSums(
            sampled=int(played.sum()),
            lessons=int((~played).sum()),
            black_wins=int((margin > 0).sum()),
            white_wins=int((margin < 0).sum()),
            plies=int(records.plies[played].sum()),
            lead=int(np.abs(margin.astype(np.int64)).sum()),
            new_openings=self._new_openings(records, played),
            valued=int(valued.sum()),
            value_squares=float(((records.value[valued] - end[valued]) ** 2).sum()),
        )

    def _new_openings(self, records: Records, played: NDArray[np.bool_]) -> int:
        """Remember the openings of the games `played`; return how many are new."""
        rows = np.flatnonzero(played & (records.plies >= OPENING_PLIES))
        first = (np.cumsum(records.plies) - records.plies)[rows]
        own, opp = records.start_own[rows], records.start_opp[rows]
        for ply in range(OPENING_PLIES):
            play_batch(self._game.id, own, opp, records.actions[first + ply].astype(np.int32))
        new = 0
        for position in zip(own, opp, strict=True):
            key = canonical_key(self._game, *position)
            new += key not in self._openings
            self._openings[key] = None
            if len(self._openings) > REMEMBERED:
                del self._openings[next(iter(self._openings))]
        return new
