"""`read_games_of`: the replayed games of a file in any supported format.

.wtb  WTHOR            .csv  a column of transcripts   .txt      one transcript per line
.ggf  GGF, many games  .sgf  SGF, main lines           .records  this program's records, for example quarantined ones
"""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from reversi.errors import CorruptFileError, NotationError, ReversiError, UsageError
from reversi.formats.collection import END_OF_MOVES, Collection, MoveLists, replayed
from reversi.formats.ggf import ENDINGS as GGF_ENDINGS
from reversi.formats.ggf import GgfResult, is_ggf, read_ggf
from reversi.formats.sgf import ENDINGS as SGF_ENDINGS
from reversi.formats.sgf import SgfResult, games_of, read_sgf
from reversi.formats.text import BOARDS, in_brackets
from reversi.formats.transcripts import read_csv, read_transcripts
from reversi.formats.wthor import read_names, read_wthor
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.record import BAD_START, REASONS, check, decode

SUFFIXES = (".wtb", ".csv", ".txt", ".ggf", ".sgf", ".records")

MAX_BYTES = 1 << 28
"""Largest file that is read, 256 MiB: three million games."""

MAX_GAMES = 1 << 21
"""Maximum number of games, or lines, of a file: about 500 MB once they are replayed."""

LONGEST_NAME = 80
"""Characters of a name that are shown."""

_GGF_GAME = re.compile(r"\(;(?:[^\[(]++|\[[^\]\r\n]*+|\((?!;))*+")
"""A game of GGF, and what follows it up to the next `(;` outside the brackets of tags, such as PB[a(;b].

Brackets are taken to end with their line, so that a game cut short does not cost the next one.  100,000 games, 44 MB,
are split in 0.45 s, where a split at every `(;` took 0.11 s; reading them takes 220 s (a busy EPYC core).
"""

Started = tuple[Position, list[int], ReversiError | None]
"""A game's start position, its actions, and why they stop if not at the end of the text."""


def read_games_of(path: Path, game: Game | None = None, column: str | None = None) -> Collection:
    """Return the games of a file.

    game    the board; None takes the file's own, and for transcripts the one on which most plies can be played
    column  header of the column of transcripts in a CSV file; None detects it

    Raises UsageError for a suffix not in `SUFFIXES`, CorruptFileError for a file that is damaged, foreign or of another
    board, OSError for one that cannot be read.  A single bad game only gets an entry in `problems`.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"expected a file of games ({', '.join(SUFFIXES)}), got {str(path)!r}")
    if path.stat().st_size > MAX_BYTES:
        raise CorruptFileError(f"{path}: expected at most {MAX_BYTES} bytes, got {path.stat().st_size}")
    data, where, suffix = path.read_bytes(), str(path), path.suffix.lower()
    if suffix in (".csv", ".txt", ".ggf"):
        _check_lines(data, where)
    if suffix == ".csv":
        return _likeliest(game, lambda each: read_csv(data, each, where, column), where)
    if suffix == ".txt":
        return _likeliest(game, lambda each: read_transcripts(data, each), where)
    if suffix == ".wtb":
        games = _wthor(data, path)
    elif suffix == ".records":
        games = _records(data, where)
    else:
        games = _parsed(data, game, suffix, where)
    if game is not None and games.game is not game:
        raise CorruptFileError(f"{where}: expected games of {game.name}, got {games.game.name}")
    return games


def read_games(data: bytes, game: Game | None, where: str) -> Collection:
    """Return the games of text in GGF or SGF, or of one transcript per line; errors as of `read_games_of`."""
    if len(data) > MAX_BYTES:
        raise CorruptFileError(f"{where}: expected at most {MAX_BYTES} bytes")
    _check_lines(data, where)
    head = data.removeprefix(BOM_UTF8).lstrip()[:100].decode(errors="replace")
    if in_brackets(head) is None:
        return _likeliest(game, lambda each: read_transcripts(data, each), where)
    return _parsed(data, game, ".ggf" if is_ggf(data.decode(errors="replace")) else ".sgf", where)


def _check_lines(data: bytes, where: str) -> None:
    """Raise CorruptFileError for text with more lines, or games of GGF, than are read."""
    if (lines := len(re.findall(rb"[\n\r]|\(;", data))) > MAX_GAMES:
        raise CorruptFileError(f"{where}: expected at most {MAX_GAMES} games, got {lines} lines")


def _likeliest(game: Game | None, read: Callable[[Game], MoveLists], where: str) -> Collection:
    """Return the games as `read` for `game`, or, if it is None, for the board on which most plies can be played."""
    boards = BOARDS if game is None else [game]
    return max((replayed(read(board), where) for board in boards), key=lambda games: int(games.plies.sum()))


def _wthor(data: bytes, path: Path) -> Collection:
    wthor = read_wthor(data, str(path))
    players = _names(path.with_name("WTHOR.JOU"), "players")
    tournaments = _names(path.with_name("WTHOR.TRN"), "tournaments")

    def title(index: int) -> str:
        black, white = (_name(players, int(side[index])) for side in (wthor.black, wthor.white))
        score = int(wthor.black_score[index])
        tournament = _name(tournaments, int(wthor.tournament[index]))
        return f"{black} {score} - {64 - score} {white}, {tournament} {wthor.year}"

    return replayed(wthor.lists, str(path), title)


def _names(path: Path, kind: str) -> list[str]:
    """Return the names in the file beside a WTHOR file, or [] without one: they are only displayed."""
    try:
        return read_names(path.read_bytes(), kind, str(path))
    except (OSError, CorruptFileError):
        return []


def _name(names: list[str], number: int) -> str:
    return _shown(names[number]) if number < len(names) else f"#{number}"


def _records(data: bytes, where: str) -> Collection:
    records, producer, _ = decode(data, where)
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
        problems=dict.fromkeys(map(int, np.flatnonzero(is_bad)), REASONS[BAD_START]),
    )
    return replayed(lists, where, lambda index: f"{_shown(producer)}, version {records.version[index]}")


def _parsed(data: bytes, game: Game | None, suffix: str, where: str) -> Collection:
    """Return the games of GGF or SGF text; one that cannot be read to its end gets an entry in `problems`."""
    text = data.decode(errors="replace")
    if suffix == ".sgf":
        texts, parse = games_of(text), _sgf_game
        if len(texts) > MAX_GAMES:
            raise CorruptFileError(f"{where}: expected at most {MAX_GAMES} games, got {len(texts)}")
    else:
        texts, parse = _GGF_GAME.findall(text), _ggf_game
    if not texts:
        raise CorruptFileError(f"{where}: expected a game like (;GM[Othello]...;), got {text[:40]!r}")
    games, titles, problems = list[Started | None](), list[str](), dict[int, str]()
    for index, each in enumerate(texts):
        try:
            started, about = parse(each)
            game = game or started[0].game
            if started[0].game is not game:
                raise NotationError(f"expected a game of {game.name}, got {started[0].game.name}")
            if started[2] is not None:
                problems[index] = str(started[2])
        except NotationError as error:
            problems[index], started, about = str(error), None, ""
        games.append(started)
        titles.append(about)
    if game is None:
        raise CorruptFileError(f"{where}, game 1: {problems[0]}")
    return replayed(_started_lists(games, game, problems), where, titles.__getitem__)


def _ggf_game(text: str) -> tuple[Started, str]:
    ggf = read_ggf(text)
    return (ggf.start, [move.action for move in ggf.moves], ggf.fault), _title(ggf.tags, ggf.result)


def _sgf_game(text: str) -> tuple[Started, str]:
    sgf = read_sgf(text)
    return (sgf.start, list(sgf.actions), sgf.fault), _title(sgf.tags, sgf.result)


def _title(tags: Mapping[str, str], result: GgfResult | SgfResult | None) -> str:
    """Return the players, the place and the result, as far as the game has them."""
    black, white, place = (_shown(tags.get(name, "")) for name in ("PB", "PW", "PC"))
    players = f"{black or '?'} - {white or '?'}" if black or white else ""
    return ", ".join(part for part in (players, place, _decided(result)) if part)


def _shown(name: str) -> str:
    """Return the beginning of a name, without what a terminal would obey."""
    printable = "".join(letter if letter.isprintable() else " " for letter in name[:LONGEST_NAME])
    return " ".join(printable.split())


def _decided(result: GgfResult | SgfResult | None) -> str:
    """Describe the result of a game that was not played to its end."""
    if result is None:
        return ""
    margin = result.black_margin
    winner = "a draw" if margin == 0 else f"{'Black' if margin > 0 else 'White'} wins"
    by = f" by {abs(margin):g}" if margin and math.isfinite(margin) else ""
    loser = "they" if result.how == "s" or margin == 0 else "White" if margin > 0 else "Black"
    return f"{winner}{by}" + (f": {loser} {(GGF_ENDINGS | SGF_ENDINGS)[result.how]}" if result.how else "")


def _started_lists(games: list[Started | None], game: Game, problems: dict[int, str]) -> MoveLists:
    moves = np.full((len(games), 2 * game.squares), END_OF_MOVES, np.uint8)
    own, opp = (np.full(len(games), disc, np.uint64) for disc in (game.start_own, game.start_opp))
    black_first = np.ones(len(games), np.uint8)
    for index, started in enumerate(games):
        if started is None:
            continue
        start, actions, _ = started
        moves[index, : len(actions)] = actions
        own[index], opp[index], black_first[index] = start.own, start.opp, start.black_to_move
    return MoveLists(game=game, moves=moves, start_own=own, start_opp=opp, black_first=black_first, problems=problems)
