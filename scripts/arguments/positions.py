"""Positions from standard input, one per line, for the commands that answer every line by one line.

A line may also be in OBF, the format of endgame problems: a position, then the scores of its moves (`reversi.obf`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Protocol

from reversi.errors import NotationError, UsageError
from scripts.arguments.engine import input_lines

if TYPE_CHECKING:
    from reversi.games.rules import Game
    from reversi.obf import Problem

LONGEST_LINE = 500
"""Bytes of a line that are read; an 8x8 position has 66, with the scores of thirty moves 300."""

MOST_LINES = 1_000_000
"""Most lines that are read; an endless input would fill the memory before the first answer."""

REVERSI_SQUARES = (16, 36, 64)
"""Squares of the boards of Reversi."""


class Answer(Protocol):
    """The answer to one position; its `str` is for people."""

    def to_json(self) -> str:
        """Return the answer as a line of JSON."""


def read_problems(game: Game | None, lines: Iterator[str] | None = None) -> Iterator[Problem | NotationError]:
    """Yield the problem in each of the lines, or its error; `game` None accepts any Reversi board.

    lines  None is all of standard input, of which more than `MOST_LINES` are a UsageError
    """
    from reversi.obf import parse_problem

    if sys.stdin.isatty():
        print(f"positions{f' of {game.name}' if game else ''}, one per line; Ctrl-D ends", file=sys.stderr)
    for line in lines or _lines(sys.stdin.buffer):
        text = line.strip()
        try:
            if game is None and (squares := len(text.partition(" ")[0])) not in REVERSI_SQUARES:
                raise NotationError(
                    f"expected 16, 36 or 64 squares, a space and the side to move, got {squares} squares in {text!r}"
                )
            yield parse_problem(text, game)
        except NotationError as error:
            yield error


def print_answers(
    lines: Iterable[Problem | NotationError], answers: Iterator[Answer], *, as_json: bool, expected: str
) -> bool:
    """Print the answer to every line, in order, and return whether all lines could be parsed.

    answers   one for each problem in `lines`; it is not read further than the next line needs
    expected  what the lines are, for the message about those that could not be parsed
    """
    bad = number = 0
    for number, line in enumerate(lines, start=1):
        if isinstance(line, NotationError):
            bad += 1
            print(json.dumps({"error": str(line), "line": number}) if as_json else f"error: {line}", flush=True)
        else:
            answer = next(answers)
            print(answer.to_json() if as_json else answer, flush=True)
    if bad:
        print(f"error: {bad} of {number} lines could not be parsed as {expected}", file=sys.stderr)
    return not bad


def arriving_lines() -> Iterator[str]:
    """Yield the first `LONGEST_LINE` characters of every line of standard input as it arrives."""
    lines = input_lines()
    while (line := lines.next()) is not None:
        yield line[:LONGEST_LINE]


def _lines(file: IO[bytes]) -> Iterator[str]:
    """Yield the first `LONGEST_LINE` bytes of every line; the rest of a longer one is skipped."""
    for _ in range(MOST_LINES):
        line = part = file.readline(LONGEST_LINE)
        if not line:
            return
        while part and not part.endswith(b"\n"):
            part = file.readline(1 << 16)
        yield line.decode(errors="replace")
    if file.read(1):
        raise UsageError(f"expected at most {MOST_LINES} lines of positions, got more")
