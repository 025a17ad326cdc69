"""`EnginePlayer`: another program as a player.  Whatever it does wrong costs it the game, and nobody else anything."""

from __future__ import annotations

import logging
import shlex
import shutil
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from reversi.engines.engine import Engine, EngineLimits
from reversi.engines.follow import Follower
from reversi.engines.gtp_client import GtpEngine
from reversi.engines.nboard_client import NBoardEngine
from reversi.errors import EngineError, UsageError
from reversi.games.bitboard import Masks
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import TICTACTOE, Game
from reversi.players.player import Forfeit

log = logging.getLogger(__name__)

_ENGINES: dict[str, Callable[[Sequence[str], Game, EngineLimits], Engine]] = {"gtp": GtpEngine, "nboard": NBoardEngine}


FORGIVEN_AFTER = 100
"""Moves without a failure after which earlier ones count no more: three games or so."""


class EnginePlayer:
    """A program that is started again when it fails; it is ended by `close`, and with this process at the latest.

    One that fails once more than it may be started again is not: it gives up every game from then on.
    """

    def __init__(self, name: str, game: Game, start: Callable[[], Engine], restarts: int) -> None:
        """`start` starts the program, for the first time now: one that does not come up is an error at once."""
        self.name = name
        self._game, self._start, self._restarts = game, start, restarts
        self._failures, self._moves = 0, 0
        self._given_up: Forfeit | None = None
        self._engine: Engine | None = start()
        self._follower = Follower(game)

    def choose_after(self, histories: Sequence[Sequence[int]], /) -> list[int | Forfeit]:
        """Let the program play in each game; it gives up those where it fails or resigns."""
        return [self._choose(history) for history in histories]

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Let the program play in each position, which must follow each other as in a game (see `Follower`).

        Raises EngineError if it fails or resigns.
        """
        actions = np.empty(len(own), np.int32)
        for b in range(len(own)):
            answer = self._choose(self._follower.history_of(int(own[b]), int(opp[b])))
            if isinstance(answer, Forfeit):
                raise EngineError(f"{self.name}: {answer.reason}")
            actions[b] = answer
        return actions

    def close(self) -> None:
        """End the program; it is started again if it is asked again."""
        if self._engine is not None:
            self._engine.stop()
            self._engine = None

    def _choose(self, history: Sequence[int]) -> int | Forfeit:
        if self._given_up is not None:
            return self._given_up
        try:
            if self._engine is None:
                self._engine = self._start()
            action = self._engine.choose(history)
            if action is None:
                return Forfeit("it resigned")
            self._check(history, action)
            self._moves += 1
            return action
        except EngineError as error:
            self.close()
            return self._failed(str(error))

    def _failed(self, reason: str) -> Forfeit:
        """Count a failure; the last one that is suffered is said aloud, as it decides the games that are left."""
        self._failures = 1 if self._moves >= FORGIVEN_AFTER else self._failures + 1
        self._moves = 0
        if self._failures > self._restarts:
            self._given_up = Forfeit(f"it failed too often to be started again; at last: {reason}")
            log.warning("%s failed %d times and gives up all games that are left", self.name, self._failures)
        return Forfeit(reason)

    def _check(self, history: Sequence[int], action: int) -> None:
        """Raise EngineError unless the action is legal."""
        position = Position.start(self._game)
        for earlier in history:
            position = position.play(earlier)
        if action not in position.legal_actions():
            expected, move = ", ".join(position.legal_moves()), action_name(self._game, action)
            raise EngineError(f"expected a legal move (one of {expected}), got {move!r} in {str(position)!r}")


def engine_player(spec: str, game: Game, limits: EngineLimits) -> EnginePlayer:
    """Return the player `gtp:COMMAND` or `nboard:COMMAND`, started.

    Raises UsageError for what is no command, EngineError if the program does not come up or does not play the game.
    """
    protocol, _, line = spec.partition(":")
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"expected a command after {protocol}:, got {line!r} ({error})") from error
    if not command:
        raise UsageError(f"expected a program and its arguments after {protocol}:, got {line!r}")
    if shutil.which(command[0]) is None:
        raise UsageError(f"expected a program after {protocol}:, but there is no {command[0]!r} here or on the PATH")
    if game.id == TICTACTOE:
        raise UsageError(f"expected a game that {protocol} knows, got {game.name}")
    engine = _ENGINES[protocol]
    try:
        return EnginePlayer(spec, game, lambda: engine(command, game, limits), limits.restarts)
    except EngineError as error:
        raise EngineError(f"{spec}: {error}") from error
