"""Games that a command begins with: a file of games, games written out, the start of a game."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reversi.errors import CorruptFileError, ReversiError, UsageError, unreadable
from scripts.arguments.positions import STANDARD_INPUT

if TYPE_CHECKING:
    from reversi.formats.collection import Collection
    from reversi.games.position import Position
    from reversi.games.rules import Game


_MOVES = re.compile(r"[ \d.,-]*(?:(?:[a-z]\d|pass)[ \d.,-]*)+", re.ASCII | re.IGNORECASE)
"""A line that can only be a transcript, though perhaps not one of the board."""


@dataclass(frozen=True)
class FiledGame:
    """A game of a file."""

    games: Collection
    """The games of the file on its board."""
    index: int
    """Which of them it is."""

    @property
    def number(self) -> int:
        """Its number in the file, from 1."""
        return self.games.number(self.index)


def file_named(text: str) -> Path | None:
    """Return the path if `text` names a file, None if it is something else; UsageError for a file that is not there."""
    from reversi.formats.files import SUFFIXES
    from reversi.formats.text import is_written_out

    path = Path(text)
    if os.path.isfile(text):  # unlike `Path.is_file` before Python 3.14, also where text is too long for a file's name
        return path
    if is_written_out(text) or (path.suffix.lower() not in SUFFIXES and "/" not in text):
        return None
    try:
        path.stat()
    except OSError as error:
        raise unreadable(text, "a file of games", error) from error
    raise UsageError(f"{text}: expected a file of games, but it is no regular file")


def read_filed_games(source: str, game: Game | None, column: str | None) -> list[FiledGame]:
    """Return the games of a file, of standard input, or those written in `source`, which must begin with a legal move.

    game    the only board whose games are wanted; None takes all
    column  header of the column of transcripts in a CSV file; None detects it

    Raises UsageError, also without any game, and what `reversi.formats.files` raises.
    """
    found = [FiledGame(games, at) for games in _read(source, game, column) for at in range(len(games))]
    if not found:
        shown = "nothing on standard input" if source == STANDARD_INPUT else repr(source)
        raise UsageError(f"expected a file with at least one game, got {shown}")
    return sorted(found, key=lambda filed: filed.number)


def _read(source: str, game: Game | None, column: str | None) -> list[Collection]:
    from reversi.formats.files import MAX_BYTES, read_archive, read_archive_of
    from reversi.formats.text import is_guess

    if source == STANDARD_INPUT:
        if sys.stdin.isatty():
            print("games, one transcript per line, GGF or SGF; Ctrl-D ends", file=sys.stderr)
        return read_archive_of(sys.stdin.buffer.read(MAX_BYTES + 1), game, "standard input", column=column)
    if (path := file_named(source)) is not None:
        return read_archive(path, game, column)
    if column is not None:
        raise UsageError(f"--column: expected a CSV file, got {source[:40]!r}")
    found = read_archive_of(source.encode(errors="replace"), game, f"{source[:40]!r}", written_out=True)
    first = next((games for games in found if len(games)), None)
    if first is None or first.is_unreadable(0):
        raise _not_read(source, game)
    if first.plies[0] == 0 and first.is_broken(0):
        board = "" if game is None and is_guess(first) else f"{first.game.name}: "
        raise UsageError(f"{board}{first.problem(0)}")
    return found


def _not_read(source: str, game: Game | None) -> UsageError:
    """Return the error for what is no file and no game: the fault of its first move if it can only be a transcript."""
    from reversi.formats.text import BOARDS, parse_game

    if _MOVES.fullmatch(source):
        try:
            parse_game(source, BOARDS if game is None else [game])
        except ReversiError as error:
            return UsageError(str(error))
    return UsageError(f"expected a file of games or a transcript like f5d6c3, got {source[:40]!r}")


def numbered(games: list[FiledGame], number: int) -> FiledGame:
    """Return the game that --game names by its number in the file; UsageError if there is none."""
    found = next((filed for filed in games if filed.number == number), None)
    if found is not None:
        return found
    if number < games[-1].number:
        raise UsageError(f"--game: expected a game of {games[0].games.game.name}, game {number} is of another board")
    raise UsageError(f"--game: expected a game from {games[0].number} to {games[-1].number}, got {number}")


def read_start(text: str, game: Game | None) -> tuple[Position, list[str]]:
    """Return the start of a game and its moves so far, passes included.

    text  what `parse_game` reads, or a file of one game, as `reversi replay` reads it
    game  the board; None takes that of the text

    Raises NotationError, IllegalMoveError, CorruptFileError or UsageError, which is also that of a game that is over.
    """
    from reversi.formats.files import read_archive
    from reversi.formats.text import BOARDS, parse_game

    path = file_named(text)
    if path is None:
        parsed = parse_game(text, BOARDS if game is None else [game])
        start, moves, position = parsed.start, parsed.moves, parsed.end
    else:
        found = read_archive(path, game)
        if (count := sum(map(len, found))) != 1:
            raise UsageError(f"{path}: expected a file of one game, got {count} games")
        (games,) = (games for games in found if len(games))
        if games.is_broken(0):
            raise CorruptFileError(games.problem(0))
        positions, moves = games.positions(0), games.moves(0)
        start, position = positions[0], positions[-1]
    if position.is_over:
        raise UsageError(f"expected a game that is not over, got {text!r}")
    return start, moves
