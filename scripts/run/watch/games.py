"""The games that a run kept, for its page: the files, and the games of one, each with its address on a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from reversi.errors import UsageError
from reversi.formats.files import read_games_of
from reversi.games.position import Position
from scripts.run.kept_games import match_files, selfplay_files

MOST_GAMES = 400
"""Most games of a file that are shown."""


def files_of(run: Path) -> list[dict[str, str]]:
    """Return the files of games, newest first, matches of the gate before self-play."""
    matches = [{"file": file.name, "text": f"match of v{int(file.stem[5:])}"} for file in reversed(match_files(run))]
    newest = [{"file": file.name, "text": f"self-play {int(file.stem[9:])}"} for file in reversed(selfplay_files(run))]
    return newest[:1] + matches + newest[1:]


def games_of(run: Path, name: str) -> list[dict[str, Any]]:
    """Return the games of a file of `files_of`; UsageError for another name, CorruptFileError for a damaged file."""
    known = {file.name: file for file in (*match_files(run), *selfplay_files(run))}
    if name not in known:
        raise UsageError(f"expected a file of this run's games, got {name!r:.80}")
    games = read_games_of(known[name])
    shown = []
    for index in range(min(len(games), MOST_GAMES)):
        positions, moves = games.positions(index), "".join(games.moves(index))
        end = positions[-1]
        from_start = positions[0] == Position.start(games.game)
        where = moves if from_start else urlencode({"start": str(positions[0]), "moves": moves})
        shown.append(
            {
                "title": games.title(index),
                "plies": len(positions) - 1,
                "discs": [end.black.bit_count(), end.white.bit_count()],
                "address": f"#{where}",
            }
        )
    return shown
