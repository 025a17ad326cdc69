"""A match: many games between two players, in lockstep, every opening twice with the colours swapped.

In each lockstep ply a player is asked once, for all games where it is to move, so that its network sees one large
batch.  At most `lockstep` games are in progress; the next ones begin, pair by pair, as games end.  A match that may
stop early therefore loses few unfinished games, and its batches stay full.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator.openings import Openings
from reversi.errors import IllegalMoveError, UsageError
from reversi.games.notation import action_name
from reversi.games.rules import UNFINISHED, Game, legal_actions_mask, outcomes, play_batch
from reversi.players import Player

Counts = tuple[int, int, int]
"""Wins, draws, losses."""


@dataclass(frozen=True, kw_only=True)
class MatchResult:
    """The finished games of a match so far, from player A's view."""

    games: int
    """Games the whole match has."""
    black: Counts
    """A's wins, draws and losses with Black."""
    white: Counts
    """A's wins, draws and losses with White."""
    pairs: tuple[int, int, int, int, int]
    """Openings of which both games are finished, by A's points in them: 0, 1/2, 1, 3/2, 2."""

    @property
    def wins(self) -> int:
        """Games A won."""
        return self.black[0] + self.white[0]

    @property
    def draws(self) -> int:
        """Games that ended level."""
        return self.black[1] + self.white[1]

    @property
    def losses(self) -> int:
        """Games A lost."""
        return self.black[2] + self.white[2]

    @property
    def remaining(self) -> int:
        """Games that are not finished."""
        return self.games - self.wins - self.draws - self.losses


class Match:
    """`games` games between A and B from `openings`; game 2i gives A Black in opening i, game 2i + 1 White."""

    def __init__(
        self,
        game: Game,
        player_a: Player,
        player_b: Player,
        openings: Openings,
        games: int,
        *,
        lockstep: int = 400,
        certain: Callable[[MatchResult], bool] = lambda _: False,
    ) -> None:
        """`certain` is asked after every ply in which a game ended; when it says yes, the match is done."""
        if games < 2 or games % 2:
            raise UsageError(
                f"games must be even and at least 2 (each opening is played with both colours), got {games}"
            )
        if len(openings) < games // 2:
            raise UsageError(f"expected at least {games // 2} openings for {games} games, got {len(openings)}")
        self.game, self.player_a, self.player_b = game, player_a, player_b
        self._lockstep, self._certain = lockstep, certain
        opening = np.arange(games) // 2
        self._a_is_black = np.arange(games) % 2 == 0  # [G]
        self._own = openings.own[opening]  # uint64[G]  discs of the side to move
        self._opp = openings.opp[opening]  # uint64[G]
        self._a_to_move = openings.black_to_move[opening] == self._a_is_black  # bool[G]
        self._margin = np.full(games, UNFINISHED, np.int16)  # [G]  final discs of A less those of B
        self._begun = 0
        self._stopped = False

    @property
    def done(self) -> bool:
        """Whether every game is finished, or the verdict was certain."""
        return self._stopped or not (self._margin == UNFINISHED).any()

    def round(self, seconds: float) -> bool:
        """Play until `seconds` have passed (one lockstep ply at least) or the match is done; return whether it is."""
        deadline = time.monotonic() + seconds
        while not self.done:
            self._step()
            if time.monotonic() >= deadline:
                break
        return self.done

    def result(self) -> MatchResult:
        """Return the finished games' result so far."""
        finished = self._margin != UNFINISHED
        sign = np.sign(self._margin)
        points = (sign + 1).reshape(-1, 2).sum(axis=1)[finished.reshape(-1, 2).all(axis=1)]
        pairs = np.bincount(points, minlength=5).tolist()
        return MatchResult(
            games=len(sign),
            black=_counts(sign[finished & self._a_is_black]),
            white=_counts(sign[finished & ~self._a_is_black]),
            pairs=(pairs[0], pairs[1], pairs[2], pairs[3], pairs[4]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the games as a checkpoint keeps them; the players are not part of it."""
        return {
            "own": self._own,
            "opp": self._opp,
            "a_to_move": self._a_to_move,
            "margin": self._margin,
            "begun": np.array([self._begun], np.int64),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from `arrays()` of a match with the same openings and number of games."""
        self._own[:], self._opp[:], self._a_to_move[:] = arrays["own"], arrays["opp"], arrays["a_to_move"]
        self._margin[:], self._begun = arrays["margin"], int(arrays["begun"][0])
        self._stopped = self._certain(self.result())

    def _step(self) -> None:
        """Play one ply in every game in progress."""
        live = self._live()
        legal = np.zeros((len(live), self.game.actions), np.uint8)
        legal_actions_mask(self.game.id, self._own[live], self._opp[live], legal)
        chosen = legal.argmax(axis=1).astype(np.int32)  # right where there is one legal action: nobody is asked
        free = legal.sum(axis=1) > 1
        for player, to_move in ((self.player_a, self._a_to_move[live]), (self.player_b, ~self._a_to_move[live])):
            asked = np.flatnonzero(free & to_move)
            if len(asked):
                chosen[asked] = self._ask(player, live[asked], legal[asked])
        own, opp = self._own[live], self._opp[live]
        play_batch(self.game.id, own, opp, chosen)
        margin = np.empty(len(live), np.int16)
        outcomes(self.game.id, own, opp, margin)
        self._own[live], self._opp[live] = own, opp
        self._a_to_move[live] ^= True
        ended = margin != UNFINISHED
        if ended.any():
            self._margin[live] = np.where(ended & ~self._a_to_move[live], -margin, margin)
            self._stopped = self._certain(self.result())

    def _live(self) -> NDArray[np.int64]:
        """Return the games in progress, after beginning as many new ones as there is room for."""
        live = int((self._margin[: self._begun] == UNFINISHED).sum())
        self._begun = min(len(self._margin), self._begun + max(0, self._lockstep - live))
        return np.flatnonzero(self._margin[: self._begun] == UNFINISHED)

    def _ask(self, player: Player, rows: NDArray[np.int64], legal: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the player's actions in games `rows`, all of them legal."""
        actions = player.choose(self._own[rows], self._opp[rows])
        wrong = np.flatnonzero(legal[np.arange(len(rows)), actions] == 0)
        if len(wrong):
            name, number = action_name(self.game, int(actions[wrong[0]])), int(rows[wrong[0]])
            raise IllegalMoveError(f"expected a legal move of {player.name} in game {number}, got {name!r}")
        return actions


def _counts(sign: NDArray[np.int16]) -> Counts:
    return int((sign > 0).sum()), int((sign == 0).sum()), int((sign < 0).sum())
