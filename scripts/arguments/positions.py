"""Positions from a file or standard input, one per line, for the commands that answer every line by one line.

A line is what `reversi.formats.text` reads: a position, also with the scores of its moves as in OBF, the format of
endgame problems; or the moves that lead to one, as a transcript such as `f5d6c3`, GGF or SGF.  Blank lines and text
after a `#` or `%` that is not of a game in GGF or SGF are ignored.
"""

from __future__ import annotations

import argparse
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from typing import IO, TYPE_CHECKING, Protocol

from reversi import json
from reversi.errors import IllegalMoveError, NotationError, unreadable
from scripts.arguments.common import given
from scripts.arguments.engine import input_lines

if TYPE_CHECKING:
    from reversi.formats.obf import Problem
    from reversi.games.rules import Game

STANDARD_INPUT = "-"

LONGEST_LINE = 4000
"""Characters of a line that are read; an 8x8 position has 66, a game in GGF with its times and values 1,500."""


class Answer(Protocol):
    """The answer to one position; its `str` is for people."""

    def to_json(self) -> str:
        """Return the answer as a line of JSON."""


@dataclass(frozen=True)
class Line:
    """A line that is to be answered."""

    number: int
    """Its number in the input, from 1."""
    problem: Problem | NotationError
    """What it says, or why it cannot be parsed."""


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add FILE, the positions."""
    parser.add_argument(
        "file",
        nargs="?",
        type=given,
        default=STANDARD_INPUT,
        metavar="FILE",
        help="file of positions, one per line (default -, standard input)",
    )


def read_problems(game: Game | None, source: str, most: int = 1) -> Iterator[list[Line]]:
    """Yield the lines of the file `source` in groups of at most `most`, as `_groups` forms them.

    game    the board; None accepts any of Reversi
    source  a path, or `STANDARD_INPUT`

    Raises UsageError for a file that cannot be read.
    """
    if source == STANDARD_INPUT:
        if sys.stdin.isatty():
            print(f"positions{f' of {game.name}' if game else ''}, one per line; Ctrl-D ends", file=sys.stderr)
        yield from _parsed(game, _groups(_unwrapped(sys.stdin.buffer, "standard input"), most))
        return
    try:
        with open(source, "rb") as file:
            yield from _parsed(game, _groups(_unwrapped(file, source), most))
    except OSError as error:
        raise unreadable(source, "a file of positions", error) from error


def print_answers(lines: Iterable[Line], answers: Iterator[Answer], *, as_json: bool, expected: str) -> bool:
    """Print the answer to every line, in order, and return whether all lines could be parsed.

    answers   one for each problem in `lines`; it is not read further than the next line needs
    expected  what the lines are, for the message about those that could not be parsed
    """
    bad = answered = 0
    for line in lines:
        answered += 1
        if isinstance(line.problem, NotationError):
            bad += 1
            error = str(line.problem)
            print(json.dumps({"error": error, "line": line.number}) if as_json else f"error: {error}", flush=True)
        else:
            answer = next(answers)
            print(answer.to_json() if as_json else answer, flush=True)
    if bad:
        print(f"error: {bad} of {answered} lines could not be parsed as {expected}", file=sys.stderr)
    return not bad


def _groups(file: IO[bytes], most: int) -> Iterator[list[str]]:
    """Yield lines, at most `LONGEST_LINE` characters of each, in groups of at most `most`.

    From a regular file every group but the last is full; from a pipe or terminal it is what has arrived by then.
    """
    if _is_whole(file):
        lines = iter(lambda: _next_line(file), "")
        while group := list(islice(lines, most)):
            yield group
        return
    with closing(input_lines(file)) as arriving:
        while group := arriving.arrived(most):
            yield [line[:LONGEST_LINE] for line in group]


def _parsed(game: Game | None, groups: Iterable[list[str]]) -> Iterator[list[Line]]:
    """Yield the lines of each group that are to be answered."""
    numbers = count(1)
    for group in groups:
        texts = [(next(numbers), _text(line)) for line in group]
        yield [Line(number, _parse(text, game)) for number, text in texts if text]


def _text(line: str) -> str:
    """Return a line, "" for one that is only a comment; `parse_game` passes over one behind a position or moves."""
    from reversi.formats.text import BYTE_ORDER_MARK

    text = line.removeprefix(BYTE_ORDER_MARK).strip()
    return "" if text.startswith(("#", "%")) else text


def _unwrapped(file: IO[bytes], where: str) -> IO[bytes]:
    """Return a file's lines in UTF-8 if it is compressed or in another encoding, as its first bytes tell, or `file`."""
    from reversi.formats.encodings import decoded, is_wrapped, uncompressed
    from reversi.formats.files import MAX_BYTES

    if not (_is_whole(file) and isinstance(file, io.BufferedReader) and is_wrapped(file.peek(8)[:8])):
        return file
    return io.BytesIO(decoded(uncompressed(file.read(MAX_BYTES), MAX_BYTES, where)).encode())


def _parse(text: str, game: Game | None) -> Problem | NotationError:
    from reversi.formats.obf import Problem
    from reversi.formats.text import REVERSI, parse_game

    try:
        parsed = parse_game(text, REVERSI if game is None else [game])
    except (NotationError, IllegalMoveError) as error:
        return NotationError(f"{error}{'' if game is None else _elsewhere(text, game)}")
    return Problem(parsed.end, parsed.scores, parsed.score)


def _elsewhere(text: str, game: Game) -> str:
    """Return which other board the text is of, and how to choose it; nothing if it is of none."""
    from reversi.formats.text import REVERSI, parse_game

    try:
        other = parse_game(text, [each for each in REVERSI if each != game]).start.game
    except (NotationError, IllegalMoveError):
        return ""
    return f"; on {other.name} it can be read: give --size {other.size}"


def _is_whole(file: IO[bytes]) -> bool:
    """Return whether all of `file` is at hand: a regular file, or a stream in memory, which has no descriptor."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except OSError:
        return True


def _next_line(file: IO[bytes]) -> str:
    """Return the first `LONGEST_LINE` bytes of the next line, "" at the end; the rest of a longer one is skipped."""
    line = part = file.readline(LONGEST_LINE)
    while part and not part.endswith(b"\n"):
        part = file.readline(1 << 16)
    return line.decode(errors="replace")
