"""Positions from standard input, one per line, for the commands that answer every line with a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reversi.errors import NotationError

if TYPE_CHECKING:
    from reversi.games.position import Position
    from reversi.games.rules import Game

LONGEST_LINE = 200
"""Characters that are read of a line; an 8x8 position has 66."""


def read_positions(game: Game | None) -> Iterator[Position | NotationError]:
    """Yield the position of every line of standard input, or what is wrong with it; of any Reversi board for None."""
    from reversi.games.position import Position
    from reversi.games.rules import TICTACTOE

    if sys.stdin.isatty():
        print(f"positions{f' of {game.name}' if game else ''}, one per line; Ctrl-D ends", file=sys.stderr)
    for line in sys.stdin.buffer.read().splitlines():
        text = line[:LONGEST_LINE].decode(errors="replace").strip()
        try:
            position = Position.parse(text, game)
            if game is None and position.game.id == TICTACTOE:
                raise NotationError(f"expected 16, 36 or 64 squares, a space and the side to move, got {text!r}")
            yield position
        except NotationError as error:
            yield error
