"""A finished game in the terminal: forwards, backwards, to any ply."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reversi.frontends.board import Style, draw, side
from reversi.games.notation import PASS
from reversi.games.position import Position

HELP = """\
  enter, n   the next ply
  b          the ply before
  g 12       ply 12; 0 is the start
  moves      the whole game, to paste elsewhere
  q          leave (so do Ctrl-D and Ctrl-C)"""


class Stepper:
    """Steps through the plies of one game; `ask` reads lines, `say` prints boards and messages."""

    def __init__(
        self,
        positions: Sequence[Position],
        moves: Sequence[str],
        *,
        ask: Callable[[str], str],
        say: Callable[[str], None],
        style: Style,
    ) -> None:
        """`positions` has one more than `moves`: move m leads from position m to position m + 1.

        `ask(prompt)` returns a line or raises EOFError; `style` is how boards are drawn.
        """
        assert len(positions) == len(moves) + 1
        self.ply = 0
        """Number of plies played in the position shown."""
        self._positions, self._moves = positions, moves
        self._ask, self._say, self._style = ask, say, style

    @property
    def last(self) -> int:
        """The number of the last ply."""
        return len(self._moves)

    def picture(self, ply: int) -> str:
        """Return the board after `ply` plies, below a line that describes the last one."""
        if ply == 0:
            return f"The start\n{draw(self._positions[0], self._style)}"
        move, mover = self._moves[ply - 1], side(black=self._positions[ply - 1].black_to_move, style=self._style)
        did = "passes" if move == PASS else f"plays {move}"
        return f"Ply {ply} of {self.last}: {mover} {did}\n{draw(self._positions[ply], self._style, move)}"

    def step(self, ply: int) -> None:
        """Show `ply`, then execute what the person types until they leave."""
        self._show(ply)
        try:
            while self._obey(self._ask(f"ply {self.ply} of {self.last}, enter for the next, help: ").strip().lower()):
                pass
        except EOFError:
            self._say("")

    def _obey(self, line: str) -> bool:
        """Execute a line; return whether to continue."""
        word, _, rest = line.partition(" ")
        if word in ("", "n", "next"):
            self._show(self.ply + 1)
        elif word in ("b", "back"):
            self._show(self.ply - 1)
        elif word in ("g", "go"):
            known = rest.strip().isascii() and rest.strip().isdecimal() and len(rest.strip()) < 5
            self._show(int(rest) if known else -1)
        elif word == "moves":
            self._say("".join(move for move in self._moves if move != PASS))
        elif word in ("q", "quit", "exit"):
            return False
        else:
            self._say(HELP)
        return True

    def _show(self, ply: int) -> None:
        if not 0 <= ply <= self.last:
            self._say(f"The game has plies 0 to {self.last}.")
            return
        self.ply = ply
        self._say(f"\n{self.picture(ply)}")
