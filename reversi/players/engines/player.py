"""`EnginePlayer`: an external program as a player.  Any failure of the program only forfeits its game."""

from __future__ import annotations

import logging
import shlex
import shutil
from collections.abc import Callable, Sequence

from reversi.errors import EngineError, UsageError
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import TICTACTOE, Game
from reversi.players.engines.engine import Engine, EngineLimits
from reversi.players.engines.gtp_client import GtpEngine
from reversi.players.engines.nboard_client import NBoardEngine
from reversi.players.player import Forfeit

log = logging.getLogger(__name__)

_ENGINES: dict[str, Callable[[Sequence[str], Game, EngineLimits], Engine]] = {"gtp": GtpEngine, "nboard": NBoardEngine}


FORGIVEN_AFTER = 100
"""Moves without a failure that reset the count of failures: about three games."""


class EnginePlayer:
    """A program that is restarted when it fails; `close` ends it, or the end of this process.

    After more than `restarts` failures it is not restarted and forfeits every further game.
    """

    def __init__(self, name: str, game: Game, start: Callable[[], Engine], restarts: int) -> None:
        """`start` starts the program; it is called now, and its EngineError is not caught the first time."""
        self.name = name
        self.game, self._start, self._restarts = game, start, restarts
        self._failures, self._moves = 0, 0
        self._given_up: Forfeit | None = None
        self._engine: Engine | None = start()

    def choose_after(self, histories: Sequence[Sequence[int]], /) -> list[int | Forfeit]:
        """Return the program's action in each game; it forfeits those where it fails or resigns."""
        return [self._choose(history) for history in histories]

    def close(self) -> None:
        """End the program; the next call for a move starts it again."""
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
                return Forfeit("it resigned", resigned=True)
            self._check(history, action)
            self._moves += 1
            return action
        except EngineError as error:
            self.close()
            return self._failed(str(error))

    def _failed(self, reason: str) -> Forfeit:
        """Count a failure and return its forfeit; the one after the last restart is logged, since it ends all games."""
        self._failures = 1 if self._moves >= FORGIVEN_AFTER else self._failures + 1
        self._moves = 0
        if self._failures > self._restarts:
            self._given_up = Forfeit(f"it failed too often to be started again; at last: {reason}", repeated=True)
            log.warning("%s failed %d times and gives up all games that are left", self.name, self._failures)
        return Forfeit(reason)

    def _check(self, history: Sequence[int], action: int) -> None:
        """Raise EngineError unless the action is legal."""
        position = Position.start(self.game)
        for earlier in history:
            position = position.play(earlier)
        if action not in position.legal_actions():
            expected, move = ", ".join(position.legal_moves()), action_name(self.game, action)
            raise EngineError(f"expected a legal move (one of {expected}), got {move!r} in {str(position)!r}")


def engine_player(spec: str, game: Game, limits: EngineLimits) -> EnginePlayer:
    """Return the player `gtp:COMMAND` or `nboard:COMMAND`, started.

    Raises UsageError for an invalid command, EngineError if the program does not start or does not support the game.
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
