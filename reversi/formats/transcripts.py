"""Transcripts of games, `f5d6c3`, one per line or in a column of a CSV file, to move lists."""

from __future__ import annotations

import csv
import io

import numpy as np
from numpy.typing import NDArray

from reversi.errors import CorruptFileError
from reversi.formats.collection import END_OF_MOVES, UNREADABLE, MoveLists
from reversi.games.rules import Game
from reversi.kernels.kernel import kernel

COLUMNS = ("transcript", "moves", "game_transcript")
"""Headers that identify the column of transcripts in a CSV file."""

LONGEST = 2000
"""Characters read of a transcript; no game is longer."""

SHOWN = 8
"""Characters of unreadable text that a message quotes."""

_PASS = np.frombuffer(b"pass", np.uint8)
_COMMA, _HYPHEN, _POINT, _ZERO, _NINE = b",-.09"


def read_transcripts(data: bytes, game: Game) -> MoveLists:
    """Return the game of every line, from the start of `game`; empty lines and lines beginning with `#` are skipped."""
    lines = (line.strip() for line in data.decode(errors="replace").lstrip("\ufeff").splitlines())
    return transcript_lists([line for line in lines if line and not line.startswith("#")], game)


def read_csv(data: bytes, game: Game, where: str, column: str | None = None) -> MoveLists:
    """Return the game of every row of a CSV file with headers, separated by commas, semicolons or tabs.

    column  header of the column of transcripts; None looks for `COLUMNS`

    Raises CorruptFileError if there is no such column or no valid table.
    """
    text = data.decode("utf-8-sig", errors="replace")
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        headers = [header.strip() for header in next(rows, [])]
        at = _column(headers, column, where)
        cells = [row[at] if at < len(row) else "" for row in rows if row]
    except csv.Error as error:
        raise CorruptFileError(f"{where}: expected a CSV file, line {rows.line_num}: {error}") from error
    return transcript_lists(cells, game)


def transcript_lists(transcripts: list[str], game: Game) -> MoveLists:
    """Return the moves of transcripts, written as `notation.parse_transcript` reads them; other text is UNREADABLE.

    An empty transcript gets one UNREADABLE move, so that it is not taken for a game that has just begun.
    """
    rows = [text[:LONGEST].encode("latin-1", errors="replace") for text in transcripts]
    lengths = np.array([len(row) for row in rows], np.int64)
    letters = np.frombuffer(b"".join(rows), np.uint8)
    moves = np.full((len(rows), game.max_plies + 1), END_OF_MOVES, np.uint8)
    ends = np.empty(len(rows), np.int64)
    spell(letters, lengths, game.size, _PASS, moves, ends)
    stuck = np.flatnonzero((moves == UNREADABLE).any(1)).tolist()
    return MoveLists.from_start(game, moves, {g: transcripts[g][ends[g] : ends[g] + SHOWN] for g in stuck})


@kernel
def spell(
    letters: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    size: int,
    word: NDArray[np.uint8],
    moves: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> None:
    """Read the moves of concatenated transcripts.

    letters  uint8[L]     their characters
    lengths  int64[G]     the number of characters of each
    word     uint8[4]     "pass"
    moves    uint8[G, M]  written from the first move on: actions, or UNREADABLE, after which a game is not read further
    ends     int64[G]     written: the characters of each that were read
    """
    end = 0
    for g in range(lengths.shape[0]):
        begin, at, end, count = end, end, end + lengths[g], 0
        while at < end and count < moves.shape[1]:
            at = _after_separators(letters, at, end)
            if at == end:
                break
            col, row = (letters[at] | 32) - 97, -1
            if at + 1 < end:
                row = letters[at + 1] - 49
            if 0 <= col < size and 0 <= row < size:
                moves[g, count] = row * size + col
                at += 2
            elif _is_word(letters, at, end, word):
                moves[g, count] = size * size
                at += 4
            else:
                moves[g, count] = UNREADABLE
                break
            count += 1
        ends[g] = at - begin
        if count == 0:
            moves[g, 0] = UNREADABLE


@kernel
def _after_separators(letters: NDArray[np.uint8], at: int, end: int) -> int:
    """Return the index before `end` from `at` on that does not only separate moves, `end` if there is none.

    Blanks, commas, hyphens, and numbers followed by points, as in `12. f5`, separate moves.
    """
    while at < end:
        after = at
        if letters[at] <= 32 or letters[at] == _COMMA or letters[at] == _HYPHEN:
            after += 1
        else:
            while after < end and _ZERO <= letters[after] <= _NINE:
                after += 1
            digits = after
            while digits > at and after < end and letters[after] == _POINT:
                after += 1
            if after == digits:
                return at
        at = after
    return at


@kernel
def _is_word(letters: NDArray[np.uint8], at: int, end: int, word: NDArray[np.uint8]) -> bool:
    same = 0
    while same < word.shape[0] and at + same < end and letters[at + same] | 32 == word[same]:
        same += 1
    return bool(same == word.shape[0])


def _column(headers: list[str], column: str | None, where: str) -> int:
    """Return the index of the column of transcripts."""
    wanted = COLUMNS if column is None else (column,)
    for place, header in enumerate(headers):
        if header.lower() in (name.lower() for name in wanted):
            return place
    raise CorruptFileError(
        f"{where}: expected a column called {' or '.join(wanted)}, got the columns {', '.join(headers)[:200]!r}"
    )
