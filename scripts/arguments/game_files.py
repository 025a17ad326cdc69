"""A game that a command begins with: a position, the moves so far, or a file of games."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from reversi.errors import CorruptFileError, UsageError, unreadable

if TYPE_CHECKING:
    from reversi.games.position import Position
    from reversi.games.rules import Game


def file_named(text: str) -> Path | None:
    """Return the path if `text` names a file, None if it is something else; UsageError for a file that is not there."""
    from reversi.gamefiles import SUFFIXES

    path = Path(text)
    if os.path.isfile(text):  # unlike `Path.is_file` before Python 3.14, also where text is too long for a file's name
        return path
    if text.lstrip().startswith("(") or (path.suffix.lower() not in SUFFIXES and "/" not in text):
        return None
    try:
        path.stat()
    except OSError as error:
        raise unreadable(text, "a file of games", error) from error
    raise UsageError(f"{text}: expected a file of games, but it is no regular file")


def read_start(text: str, game: Game | None) -> tuple[Position, list[str]]:
    """Return the start of a game and its moves so far, passes included.

    text  what `parse_game` reads, or a file of one game, as `reversi replay` reads it
    game  the board; None takes that of the text

    Raises NotationError, IllegalMoveError, CorruptFileError or UsageError, which is also that of a game that is over.
    """
    from reversi.gamefiles import read_games_of
    from reversi.gametext import BOARDS, parse_game

    path = file_named(text)
    if path is None:
        found = parse_game(text, BOARDS if game is None else [game])
        start, moves, position = found.start, found.moves, found.end
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
