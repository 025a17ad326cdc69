"""`GtpEngine`: a program that speaks GTP 2, as Othello programs do.

Programs differ in passes.  Some require them, some accept them but also infer them from the side that plays next, some
reject them and pass by themselves: so passes are sent until one is rejected, and not after that.  Commands have no
number, since Edax writes wrong ones before errors; a program that failed gets no more commands, so that no response can
belong to an earlier command.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from reversi.errors import EngineError, NotationError
from reversi.games.notation import action_name, parse_action
from reversi.games.rules import Game
from reversi.players.engines.engine import EngineLimits
from reversi.players.engines.process import EngineProcess

RESIGN = "resign"


class GtpEngine:
    """A started program that has accepted the board size."""

    def __init__(self, command: Sequence[str], game: Game, limits: EngineLimits) -> None:
        """Start `command`; raises EngineError if it does not start in time or does not support the board."""
        self._game, self._limits = game, limits
        self._process = EngineProcess(command)
        self._known: list[int] = []  # the actions played on the program's board since it was cleared
        self._says_passes = True
        try:
            deadline = time.monotonic() + limits.start_s
            self._order(f"boardsize {game.size}", deadline)
            self._order("clear_board", deadline)
        except EngineError:
            self.stop()
            raise

    def choose(self, history: Sequence[int], /) -> int | None:
        """Send the moves that the program does not know, and return the move that it plays."""
        deadline = time.monotonic() + self._limits.move_s
        self._tell(history, deadline)
        command = f"genmove {_side(len(history))}"
        answer = self._order(command, deadline)
        if answer.lower() == RESIGN:
            return None
        try:
            action = parse_action(self._game, answer)
        except NotationError as error:
            raise EngineError(f"expected a move in answer to {command!r}, got {answer!r}") from error
        self._known = [*history, action]  # genmove plays the move, too
        return action

    def stop(self) -> None:
        """End the program."""
        self._process.stop()

    def _tell(self, history: Sequence[int], deadline: float) -> None:
        """Send the moves that the program does not know, or the whole game if its game is another one."""
        if self._known != list(history[: len(self._known)]):
            self._order("clear_board", deadline)
            self._known = []
        for action in history[len(self._known) :]:
            command = f"play {_side(len(self._known))} {action_name(self._game, action)}"
            if action != self._game.pass_action:
                self._order(command, deadline)
            elif self._says_passes:
                self._says_passes, _ = self._ask(command, deadline)
            self._known.append(action)

    def _order(self, command: str, deadline: float) -> str:
        """Return the response to a command; EngineError if the command fails."""
        succeeded, answer = self._ask(command, deadline)
        if not succeeded:
            raise EngineError(f"expected {command!r} to be accepted, got '? {answer}'")
        return answer

    def _ask(self, command: str, deadline: float) -> tuple[bool, str]:
        """Send a command; return whether it succeeded and the first line of the response."""
        line = self._process.ask(command, ("=", "?"), deadline)
        return line[0] == "=", line[1:].strip()


def _side(ply: int) -> str:
    return "white" if ply % 2 else "black"
