"""A game that a command begins with: a position, the moves so far, or a file of games."""

from __future__ import annotations

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
    if path.is_file():
        return path
    if path.suffix.lower() not in SUFFIXES and "/" not in text:
        return None
    try:
        path.stat()
    except OSError as error:
        raise unreadable(text, "a file of games", error) from error
    raise UsageError(f"{text}: expected a file of games, but it is no regular file")


def read_start(text: str, game: Game | None) -> tuple[Position, list[str]]:
    """Return the start of a game and its moves so far, passes included.

    text  a position, also in OBF, a transcript, or a file of one game, as `reversi replay` reads it
    game  the board; None takes that of the text

    Raises NotationError, CorruptFileError or UsageError, which is also that of a game that is over.
    """
    from reversi.gamefiles import read_games_of, read_transcript
    from reversi.games.position import SYMBOLS
    from reversi.obf import parse_problem

    path = file_named(text)
    if path is None and text.strip()[:1] in tuple(SYMBOLS):
        start = position = parse_problem(text, game).position
        moves = []
    else:
        games = read_transcript(text, game, f"{text[:40]!r}") if path is None else read_games_of(path, game)
        if len(games) != 1:
            raise UsageError(f"{path}: expected a file of one game, got {len(games)} games")
        if games.is_broken(0):
            raise CorruptFileError(games.problem(0))
        positions, moves = games.positions(0), games.moves(0)
        start, position = positions[0], positions[-1]
    if position.is_over:
        raise UsageError(f"expected a game that is not over, got {text!r}")
    return start, moves
