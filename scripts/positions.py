"""Positions from standard input, one per line, for the commands that answer every line with a line.

A line may be one of OBF, the format of endgame problems: a position, then its moves' scores (`reversi.obf`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from reversi.errors import NotationError, UsageError

if TYPE_CHECKING:
    from reversi.games.rules import Game
    from reversi.obf import Problem

LONGEST_LINE = 500
"""Bytes that are read of a line; an 8x8 position has 66, with the scores of thirty moves 300."""

MOST_LINES = 1_000_000
"""Lines that are read at once; an input without end would fill the memory before the first answer."""


def read_problems(game: Game | None) -> Iterator[Problem | NotationError]:
    """Yield what every line of standard input says, or what is wrong with it; of any Reversi board for None.

    Raises UsageError for more than `MOST_LINES`.
    """
    from reversi.games.rules import TICTACTOE
    from reversi.obf import parse_problem

    if sys.stdin.isatty():
        print(f"positions{f' of {game.name}' if game else ''}, one per line; Ctrl-D ends", file=sys.stderr)
    for line in _lines(sys.stdin.buffer):
        text = line.decode(errors="replace").strip()
        try:
            problem = parse_problem(text, game)
            if game is None and problem.position.game.id == TICTACTOE:
                raise NotationError(f"expected 16, 36 or 64 squares, a space and the side to move, got {text!r}")
            yield problem
        except NotationError as error:
            yield error


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the beginning of every line; what is longer is passed over without being kept."""
    for _ in range(MOST_LINES):
        line = part = file.readline(LONGEST_LINE)
        if not line:
            return
        while part and not part.endswith(b"\n"):
            part = file.readline(1 << 16)
        yield line
    if file.read(1):
        raise UsageError(f"expected at most {MOST_LINES} lines of positions, got more")
