"""Files of games in any supported format, which their content tells, compressed or not.

WTHOR (.wtb), this program's records (.records, .npz), and text: GGF, SGF, PGN, CSV, transcripts, positions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from reversi.errors import CorruptFileError
from reversi.formats.collection import END_OF_MOVES, Collection, MoveLists, replayed
from reversi.formats.encodings import decoded, uncompressed
from reversi.formats.numpy_archive import is_npz, read_npz
from reversi.formats.text import BOARDS, read_text
from reversi.formats.titles import shown
from reversi.formats.wthor import is_wthor, read_names, read_wthor
from reversi.games.rules import GAMES, Game
from reversi.record import BAD_START, REASONS, check, decode, is_encoded

SUFFIXES = (".wtb", ".csv", ".txt", ".ggf", ".sgf", ".pgn", ".obf", ".records", ".npz", ".gz", ".bz2", ".xz")
"""Endings of what can only be a file, whether it is there or not."""

MAX_BYTES = 1 << 28
"""Largest file that is read, 256 MiB: three million games."""

MAX_GAMES = 1 << 21
"""Maximum number of games, or lines, of a file: about 500 MB once they are replayed."""


def read_games_of(path: Path, game: Game | None = None, column: str | None = None) -> Collection:
    """Return the games of a file whose games are of one board, or those on `game`; errors as of `read_archive`."""
    return _of_one_board(read_archive(path, game, column), str(path))


def read_games(data: bytes, game: Game | None, where: str) -> Collection:
    """Return the games of bytes as `read_games_of` does those of a file."""
    return _of_one_board(read_archive_of(data, game, where), where)


def _of_one_board(found: list[Collection], where: str) -> Collection:
    if len(found) > 1:
        names = ", ".join(games.game.name for games in found)
        raise CorruptFileError(f"{where}: expected games of one board, got games of {names}")
    return found[0]


def read_archive(path: Path, game: Game | None = None, column: str | None = None) -> list[Collection]:
    """Return the games of a file, those of each board together, numbered as they are in the file.

    game    the only board whose games are wanted; None takes all, those of transcripts on the likeliest board
    column  header of the column of transcripts in a CSV file; None detects it

    Raises CorruptFileError for a file that is damaged, foreign or without a game of the board, UsageError for lines
    that can be read in two ways, OSError for a file that cannot be read.  A single bad game only gets an entry in
    `problems`.
    """
    if path.stat().st_size > MAX_BYTES:
        raise CorruptFileError(f"{path}: expected at most {MAX_BYTES} bytes, got {path.stat().st_size}")
    return read_archive_of(path.read_bytes(), game, str(path), path=path, column=column)


def read_archive_of(
    data: bytes,
    game: Game | None,
    where: str,
    *,
    path: Path | None = None,
    column: str | None = None,
    written_out: bool = False,
) -> list[Collection]:
    """Return the games of bytes as `read_archive` does those of the file `path`, beside which names may be.

    written_out  whether a person wrote them as one game; see `transcripts.read_lines`
    """
    data = uncompressed(data, MAX_BYTES, where)
    if len(data) > MAX_BYTES:
        raise CorruptFileError(f"{where}: expected at most {MAX_BYTES} bytes")
    suffix = _suffix(path)
    if is_encoded(data) or is_npz(data) or suffix == ".records":
        found = [_records(data, where)]
    elif is_wthor(data) or suffix == ".wtb":
        found = [_wthor(data, where, path)]
    else:
        text = decoded(data)
        if (lines := len(re.findall(r"[\n\r]|\(;", text))) > MAX_GAMES:
            raise CorruptFileError(f"{where}: expected at most {MAX_GAMES} games, got {lines} lines")
        boards: Sequence[Game] = BOARDS if game is None else [game]
        is_table = suffix == ".csv"
        found = read_text(text, boards, where, column=column, is_table=is_table, written_out=written_out)
        if sum(map(len, found)) > MAX_GAMES:
            raise CorruptFileError(f"{where}: expected at most {MAX_GAMES} games, got {sum(map(len, found))}")
    wanted = [games for games in found if game in (None, games.game)]
    if not wanted and any(map(len, found)):
        assert game is not None
        names = ", ".join(games.game.name for games in found)
        raise CorruptFileError(f"{where}: expected games of {game.name}, got {names}")
    return wanted


def _suffix(path: Path | None) -> str:
    """Return the ending of a file's name in small letters, without that of its compression."""
    endings = [] if path is None else [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(endings) if suffix not in (".gz", ".bz2", ".xz")), "")


def _wthor(data: bytes, where: str, path: Path | None) -> Collection:
    wthor = read_wthor(data, where)
    players, tournaments = _names(path, "players"), _names(path, "tournaments")

    def title(index: int) -> str:
        black, white = (_name(players, int(side[index])) for side in (wthor.black, wthor.white))
        score = int(wthor.black_score[index])
        tournament = _name(tournaments, int(wthor.tournament[index]))
        return f"{black} {score} - {64 - score} {white}, {tournament} {wthor.year}"

    return replayed(wthor.lists, where, title)


def _names(path: Path | None, kind: str) -> list[str]:
    """Return the names in the file beside a WTHOR file, or [] without one: they are only displayed."""
    name = {"players": "wthor.jou", "tournaments": "wthor.trn"}[kind]
    try:
        beside = next(each for each in sorted(path.parent.iterdir()) if each.name.lower() == name) if path else None
        return [] if beside is None else read_names(beside.read_bytes(), kind, str(beside))
    except (OSError, StopIteration, CorruptFileError):
        return []


def _name(names: list[str], number: int) -> str:
    return shown(names[number]) if number < len(names) else f"#{number}"


def _records(data: bytes, where: str) -> Collection:
    records, producer, _ = (read_npz(data, where), "npz", 0) if is_npz(data) else decode(data, where)
    game = GAMES[records.game]
    moves = np.full((len(records), 2 * game.squares + 1), END_OF_MOVES, np.uint8)
    of_game, ply = records.game_and_ply()
    kept = ply < moves.shape[1]
    moves[of_game[kept], ply[kept]] = records.actions[kept]
    is_bad = check(records) == BAD_START
    moves[is_bad] = END_OF_MOVES
    lists = MoveLists(
        game=game,
        moves=moves,
        start_own=records.start_own,
        start_opp=records.start_opp,
        black_first=records.black_first,
        problems=dict.fromkeys(map(int, np.flatnonzero(is_bad)), CorruptFileError(REASONS[BAD_START])),
    )
    games = replayed(lists, where, lambda index: f"{shown(producer)}, version {records.version[index]}")
    return replace(games, source=records)
