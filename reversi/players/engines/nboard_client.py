"""`NBoardEngine`: a program that speaks the NBoard protocol, version 2 (NTest, Edax and others).

Most commands have no response; `pong N` after `ping N` shows that the program has processed everything before.  `go`
chooses a move without playing it.  Unsolicited lines (status, nodestats, hints) are ignored, as the protocol requires.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from reversi.errors import EngineError, NotationError
from reversi.formats.ggf import GgfGame, GgfMove, name_of
from reversi.games.position import Position
from reversi.games.rules import Game
from reversi.players.engines.engine import EngineLimits
from reversi.players.engines.process import EngineProcess

_MOVE = re.compile(r"===\s*([^\s/]*)")
"""`=== F5/1.5/0.3`; also with blanks instead of slashes."""


class NBoardEngine:
    """A started program that responds."""

    def __init__(self, command: Sequence[str], game: Game, limits: EngineLimits) -> None:
        """Start `command`; raises EngineError if it does not start in time."""
        self._game, self._limits = game, limits
        self._process = EngineProcess(command)
        self._history: list[int] | None = None  # the actions of the program's game, None before the first game
        self._pings = 0
        try:
            self._process.send("nboard 2")
            self._synchronise(time.monotonic() + limits.start_s)
        except EngineError:
            self.stop()
            raise

    def choose(self, history: Sequence[int], /) -> int | None:
        """Send the moves that the program does not know, and return its choice; NBoard has no resignation."""
        deadline = time.monotonic() + self._limits.move_s
        self._tell(history)
        self._synchronise(deadline)
        answer = self._process.ask("go", "===", deadline)
        match = _MOVE.match(answer)
        try:
            return GgfMove.parse(self._game, match[1] if match else "").action
        except NotationError as error:
            raise EngineError(f"expected a move in answer to 'go', got {answer!r}") from error

    def stop(self) -> None:
        """End the program."""
        self._process.stop()

    def _tell(self, history: Sequence[int]) -> None:
        """Send the moves that the program does not know, or the whole game if its game is another one."""
        known = self._history
        if known is None or known != list(history[: len(known)]):
            plies = tuple(GgfMove(action) for action in history)
            self._process.send(f"set game {GgfGame(Position.start(self._game), plies)}")
        else:
            for action in history[len(known) :]:
                self._process.send(f"move {name_of(self._game, action)}")
        self._history = list(history)

    def _synchronise(self, deadline: float) -> None:
        """Wait until the program has processed everything sent, and drop its output until then."""
        self._pings += 1
        self._process.ask(f"ping {self._pings}", f"pong {self._pings}", deadline)
