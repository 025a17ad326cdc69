"""Games that a command begins with: a file of games, games written out, the start of a game."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reversi.errors import CorruptFileError, UsageError, unreadable
from scripts.arguments.positions import STANDARD_INPUT

if TYPE_CHECKING:
    from reversi.formats.collection import Collection
    from reversi.games.position import Position
    from reversi.games.rules import Game


_MOVES = re.compile(r"[ \d.,-]*(?:(?:[a-z]\d|pass)[ \d.,-]*)+", re.ASCII | re.IGNORECASE)
"""A line that can only be a transcript, though perhaps not one of the board."""


def file_named(text: str) -> Path | None:
    """Return the path if `text` names a file, None if it is something else; UsageError for a file that is not there."""
    from reversi.formats.files import SUFFIXES
    from reversi.formats.text import in_brackets

    path = Path(text)
    if os.path.isfile(text):  # unlike `Path.is_file` before Python 3.14, also where text is too long for a file's name
        return path
    if in_brackets(text) is not None or (path.suffix.lower() not in SUFFIXES and "/" not in text):
        return None
    try:
        path.stat()
    except OSError as error:
        raise unreadable(text, "a file of games", error) from error
    raise UsageError(f"{text}: expected a file of games, but it is no regular file")


def read_collection(source: str, game: Game | None, column: str | None) -> Collection:
    """Return the games of a file, of standard input, or those written in `source`, which must begin with a legal move.

    game    the board; None takes that of the games
    column  header of the column of transcripts in a CSV file; None detects it

    Raises UsageError, also without any game, and what `reversi.formats.files` raises.
    """
    games = _read(source, game, column)
    if not len(games):
        shown = "nothing on standard input" if source == STANDARD_INPUT else repr(source)
        raise UsageError(f"expected a file with at least one game, got {shown}")
    return games


def _read(source: str, game: Game | None, column: str | None) -> Collection:
    from reversi.formats.files import MAX_BYTES, read_games, read_games_of

    if column is not None and not source.lower().endswith(".csv"):
        shown = "standard input" if source == STANDARD_INPUT else repr(source[:40])
        raise UsageError(f"--column: expected a CSV file, got {shown}")
    if source == STANDARD_INPUT:
        if sys.stdin.isatty():
            print("games, one transcript per line, GGF or SGF; Ctrl-D ends", file=sys.stderr)
        return read_games(sys.stdin.buffer.read(MAX_BYTES + 1), game, "standard input")
    if (path := file_named(source)) is not None:
        return read_games_of(path, game, column)
    games = read_games(source.encode(errors="replace"), game, f"{source[:40]!r}")
    if not len(games) or games.is_unreadable(0):
        raise _not_read(source, games.game)
    if games.plies[0] == 0 and games.is_broken(0):
        raise UsageError(f"{games.game.name}: {games.problem(0)}")
    return games


def _not_read(source: str, game: Game) -> UsageError:
    """Return the error for what is no file and no game: the fault of its first move if it can only be a transcript."""
    from reversi.games.notation import read_transcript

    fault = read_transcript(game, source)[1] if _MOVES.fullmatch(source) else None
    if fault is None:
        return UsageError(f"expected a file of games or a transcript like f5d6c3, got {source[:40]!r}")
    return UsageError(f"{game.name}: {fault}")


def index_of(games: Collection, number: int) -> int:
    """Return the index of the game that --game names by its number, from 1; UsageError if there is none."""
    if number > len(games):
        raise UsageError(f"--game: expected a game from 1 to {len(games)}, got {number}")
    return number - 1


def read_start(text: str, game: Game | None) -> tuple[Position, list[str]]:
    """Return the start of a game and its moves so far, passes included.

    text  what `parse_game` reads, or a file of one game, as `reversi replay` reads it
    game  the board; None takes that of the text

    Raises NotationError, IllegalMoveError, CorruptFileError or UsageError, which is also that of a game that is over.
    """
    from reversi.formats.files import read_games_of
    from reversi.formats.text import BOARDS, parse_game

    path = file_named(text)
    if path is None:
        parsed = parse_game(text, BOARDS if game is None else [game])
        start, moves, position = parsed.start, parsed.moves, parsed.end
    else:
        games = read_games_of(path, game)
        if len(games) != 1:
            raise UsageError(f"{path}: expected a file of one game, got {len(games)} games")
        if games.is_broken(0):
            raise CorruptFileError(games.problem(0))
        positions, moves = games.positions(0), games.moves(0)
        start, position = positions[0], positions[-1]
    if position.is_over:
        raise UsageError(f"expected a game that is not over, got {text!r}")
    return start, moves
