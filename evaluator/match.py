"""A match: many games between two players, in lockstep, every opening twice with the colours swapped.

In each lockstep ply a player is asked once, for all games where it is to move, so that its network gets one large
batch.  At most `games_at_once` games are in progress; the next ones begin, pair by pair, as games end.  A match that
may stop early therefore loses few unfinished games, and its batches stay full.

A player that follows games move by move, as external programs do, receives each game from its start and plays one game
at a time.  If it fails, it loses that game by forfeit and the match continues.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator.openings import Openings
from reversi.errors import IllegalMoveError, UsageError
from reversi.games.notation import action_name
from reversi.games.rules import (
    NO_ACTION,
    UNFINISHED,
    Game,
    game_named,
    legal_actions_mask,
    outcomes,
    play_batch,
)
from reversi.players import AnyPlayer, Forfeit, HistoryPlayer, check_game

log = logging.getLogger(__name__)

Counts = tuple[int, int, int]
"""Wins, draws, losses."""

FAILED, RESIGNED = 1, 2
"""How a player lost a game by forfeit."""

Pairs = tuple[int, int, int, int, int]
"""Pairs of games of one opening, by the first player's points in them: 0, 1/2, 1, 3/2, 2."""


@dataclass(frozen=True, kw_only=True)
class MatchResult:
    """The finished games of a match so far, from player A's view."""

    games: int
    """Games in the whole match."""
    black: Counts
    """A's wins, draws and losses with Black."""
    white: Counts
    """A's wins, draws and losses with White."""
    pairs: Pairs
    """Openings with both games finished, by A's points in them: 0, 1/2, 1, 3/2, 2."""
    first_pairs: Pairs = (0, 0, 0, 0, 0)
    """The same for the openings before the first unfinished one.  Which games end first depends on who wins them, so a
    test that may end a match early uses only these."""
    forfeits: tuple[int, int] = (0, 0)
    """Games lost by forfeit by A, and by B; they count like any other."""

    @property
    def wins(self) -> int:
        """Games that A won."""
        return self.black[0] + self.white[0]

    @property
    def draws(self) -> int:
        """Games drawn."""
        return self.black[1] + self.white[1]

    @property
    def losses(self) -> int:
        """Games that A lost."""
        return self.black[2] + self.white[2]

    @property
    def remaining(self) -> int:
        """Games not finished yet."""
        return self.games - self.wins - self.draws - self.losses


@dataclass(frozen=True, kw_only=True)
class FinishedGame:
    """A finished game of a match."""

    actions: list[int]
    """From the start of the game, its opening and passes included."""
    opening_plies: int
    """Plies of the opening."""
    a_is_black: bool
    """Whether player A has Black."""
    black_margin: int
    """Black's discs minus White's; the whole board for the winner of a forfeited game."""
    forfeit: int
    """How the loser gave the game up: FAILED or RESIGNED; 0 for a game played to its end."""


class Match:
    """`games` games between A and B from `openings`; in opening i, A has Black in game 2i and White in game 2i + 1."""

    def __init__(
        self,
        game: Game | str,
        player_a: AnyPlayer,
        player_b: AnyPlayer,
        openings: Openings,
        games: int,
        *,
        games_at_once: int = 400,
        certain: Callable[[MatchResult], bool] = lambda _: False,
    ) -> None:
        """`certain` is called after every ply in which a game ended; if it returns True, the match is done.

        With a `HistoryPlayer` games are played one after another, regardless of `games_at_once`.
        """
        if games < 2 or games % 2:
            raise UsageError(
                f"games must be even and at least 2 (each opening is played with both colours), got {games}"
            )
        if len(openings) < games // 2:
            raise UsageError(f"expected at least {games // 2} openings for {games} games, got {len(openings)}")
        self.game, self.player_a, self.player_b = game_named(game), player_a, player_b
        for player in (player_a, player_b):
            check_game(player, self.game)
        follows = any(isinstance(player, HistoryPlayer) for player in (player_a, player_b))
        self._games_at_once, self._certain = 1 if follows else games_at_once, certain
        opening = np.arange(games) // 2
        self._a_is_black = np.arange(games) % 2 == 0  # [G]
        self._own = openings.own[opening]  # uint64[G]  discs of the side to move
        self._opp = openings.opp[opening]  # uint64[G]
        self._a_to_move = openings.black_to_move[opening] == self._a_is_black  # bool[G]
        self._actions = np.full((games, self.game.max_plies), NO_ACTION, np.int8)  # [G, plies]  from the game's start
        self._actions[:, : openings.actions.shape[1]] = openings.actions[opening]
        self._plies = (self._actions != NO_ACTION).sum(axis=1)  # [G]
        self._opening_plies = self._plies.copy()  # [G]
        self._margin = np.full(games, UNFINISHED, np.int16)  # [G]  final discs of A minus those of B
        self._forfeits = np.zeros(games, np.int8)  # [G]  FAILED or RESIGNED; below 0 for B
        self._begun = 0
        self._stopped = False
        self._warm = [False, False]  # whether A and B were asked before
        self._asked, self._thought_s = [0, 0], [0.0, 0.0]  # moves of A and of B since then, and the time they took

    @property
    def done(self) -> bool:
        """Whether every game is finished or the verdict is certain."""
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
        """Return the result of the finished games so far."""
        finished = self._margin != UNFINISHED
        sign = np.sign(self._margin)
        whole = finished.reshape(-1, 2).all(axis=1)
        points = (sign + 1).reshape(-1, 2).sum(axis=1)
        return MatchResult(
            games=len(sign),
            black=_counts(sign[finished & self._a_is_black]),
            white=_counts(sign[finished & ~self._a_is_black]),
            pairs=_pairs(points[whole]),
            first_pairs=_pairs(points[: len(whole) if whole.all() else int(whole.argmin())]),
            forfeits=(int((finished & (self._forfeits > 0)).sum()), int((finished & (self._forfeits < 0)).sum())),
        )

    def in_progress(self) -> tuple[int, int]:
        """Return the number of games begun and not finished, and their mean number of plies, rounded."""
        plies = self._plies[: self._begun][self._margin[: self._begun] == UNFINISHED]
        return len(plies), round(float(plies.mean())) if len(plies) else 0

    def margins(self) -> NDArray[np.float64]:
        """Return A's discs minus B's in both games of every opening, float64[G / 2, 2].

        NaN for a game that is not finished, or was given up: nobody counted its discs.
        """
        counted = (self._margin != UNFINISHED) & (self._forfeits == 0)
        return np.where(counted, self._margin, np.nan).reshape(-1, 2)

    def seconds_per_move(self) -> tuple[float | None, float | None]:
        """Return the mean time of a move of A and of B in this process, None without a move.

        In a batch of positions it is the time divided by their number.  A player's first batch, which loads kernels and
        fills caches, and forced moves, which no player is asked for, do not count.
        """
        a, b = (spent / asked if asked else None for spent, asked in zip(self._thought_s, self._asked, strict=True))
        return a, b

    def history(self, number: int) -> list[int]:
        """Return the actions of a game so far, from its start position, including its opening and passes."""
        actions: list[int] = self._actions[number, : self._plies[number]].tolist()
        return actions

    def finished_games(self) -> Iterator[FinishedGame]:
        """Yield the finished games in the order of their numbers."""
        for number in np.flatnonzero(self._margin != UNFINISHED).tolist():
            margin, a_is_black = int(self._margin[number]), bool(self._a_is_black[number])
            yield FinishedGame(
                actions=self.history(number),
                opening_plies=int(self._opening_plies[number]),
                a_is_black=a_is_black,
                black_margin=margin if a_is_black else -margin,
                forfeit=abs(int(self._forfeits[number])),
            )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the games for a checkpoint; the players are not included."""
        return {
            "own": self._own,
            "opp": self._opp,
            "a_to_move": self._a_to_move,
            "margin": self._margin,
            "begun": np.array([self._begun], np.int64),
            "actions": self._actions,
            "plies": self._plies,
            "forfeits": self._forfeits,
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from `arrays()` of a match with the same openings and number of games."""
        self._own[:], self._opp[:], self._a_to_move[:] = arrays["own"], arrays["opp"], arrays["a_to_move"]
        self._margin[:], self._begun = arrays["margin"], int(arrays["begun"][0])
        self._actions[:], self._plies[:], self._forfeits[:] = arrays["actions"], arrays["plies"], arrays["forfeits"]
        self._stopped = self._certain(self.result())

    def _step(self) -> None:
        """Play one ply in every game in progress."""
        live = self._live()
        legal = np.zeros((len(live), self.game.actions), np.uint8)
        legal_actions_mask(self.game.id, self._own[live], self._opp[live], legal)
        chosen = legal.argmax(axis=1).astype(np.int32)  # correct where only one action is legal: no player is asked
        free = legal.sum(axis=1) > 1
        for side, player in enumerate((self.player_a, self.player_b)):
            asked = np.flatnonzero(free & (self._a_to_move[live] == (side == 0)))
            if len(asked):
                start_s = time.perf_counter()
                chosen[asked] = self._ask(player, live[asked], legal[asked])
                if self._warm[side]:
                    self._asked[side] += len(asked)
                    self._thought_s[side] += time.perf_counter() - start_s
                self._warm[side] = True
        given_up = chosen < 0
        if given_up.any():
            self._give_up(live[given_up], -chosen[given_up])
            live, chosen = live[~given_up], chosen[~given_up]
        own, opp = self._own[live], self._opp[live]
        play_batch(self.game.id, own, opp, chosen)
        margin = np.empty(len(live), np.int16)
        outcomes(self.game.id, own, opp, margin)
        self._own[live], self._opp[live] = own, opp
        self._a_to_move[live] ^= True
        self._actions[live, self._plies[live]] = chosen
        self._plies[live] += 1
        ended = margin != UNFINISHED
        self._margin[live] = np.where(ended & ~self._a_to_move[live], -margin, margin)
        if ended.any() or given_up.any():
            self._stopped = self._certain(self.result())

    def _give_up(self, rows: NDArray[np.int64], how: NDArray[np.int32]) -> None:
        """End games by forfeit, FAILED or RESIGNED: the side to move loses by the whole board."""
        a_to_move = self._a_to_move[rows]
        self._forfeits[rows] = np.where(a_to_move, how, -how)
        self._margin[rows] = np.where(a_to_move, -self.game.squares, self.game.squares)

    def _live(self) -> NDArray[np.int64]:
        """Return the games in progress, after starting new ones up to `games_at_once`."""
        live = int((self._margin[: self._begun] == UNFINISHED).sum())
        self._begun = min(len(self._margin), self._begun + max(0, self._games_at_once - live))
        return np.flatnonzero(self._margin[: self._begun] == UNFINISHED)

    def _ask(self, player: AnyPlayer, rows: NDArray[np.int64], legal: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the player's actions in games `rows`, checked to be legal; -FAILED or -RESIGNED where it forfeits."""
        given_up = np.zeros(len(rows), np.bool_)
        if isinstance(player, HistoryPlayer):
            actions = self._ask_after_histories(player, rows)
            given_up = actions < 0
        else:
            actions = player.choose(self._own[rows], self._opp[rows])
        wrong = np.flatnonzero(~given_up & (legal[np.arange(len(rows)), actions] == 0))
        if len(wrong):
            name, number = action_name(self.game, int(actions[wrong[0]])), int(rows[wrong[0]])
            raise IllegalMoveError(f"expected a legal move of {player.name} in game {number + 1}, got {name!r}")
        return actions

    def _ask_after_histories(self, player: HistoryPlayer, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the player's actions in games `rows`, -FAILED or -RESIGNED where it forfeits.

        Messages count the games from 1, as `reversi replay` does.
        """
        answers = player.choose_after([self.history(number) for number in rows.tolist()])
        for number, answer in zip(rows.tolist(), answers, strict=True):
            if isinstance(answer, Forfeit) and not answer.repeated:
                log.warning("game %d is forfeited by %s: %s", number + 1, player.name, answer.reason)
        return np.array([_action_or_forfeit(answer) for answer in answers], np.int32)


def _action_or_forfeit(answer: int | Forfeit) -> int:
    if not isinstance(answer, Forfeit):
        return answer
    return -RESIGNED if answer.resigned else -FAILED


def _pairs(points: NDArray[np.int64]) -> Pairs:
    zero, half, one, more, two = np.bincount(points, minlength=5).tolist()
    return zero, half, one, more, two


def _counts(sign: NDArray[np.int16]) -> Counts:
    return int((sign > 0).sum()), int((sign == 0).sum()), int((sign < 0).sum())
