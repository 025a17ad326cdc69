"""WTHOR, the French Othello federation's database of tournament games: its `.wtb` files and its lists of names.

After a header of 16 bytes each game has 68 bytes: tournament, Black and White by number, Black's discs, the score of
perfect play, and 60 moves, each `10*row + column` counted from 1, without passes, 0 after the end.  Numbers are
little-endian.  In scores the winner gets the squares left empty.

Format: "Format de la base WTHOR", Fédération Française d'Othello.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reversi.errors import CorruptFileError
from reversi.formats.collection import END_OF_MOVES, UNREADABLE, MoveLists
from reversi.games.rules import GAMES

_HEADER = np.dtype(
    [
        ("date", np.uint8, 4),  # century, year, month, day of the file
        ("games", "<u4"),
        ("names", "<u2"),
        ("year", "<u2"),  # of the games
        ("size", np.uint8),  # 0 or 8: 8x8; 10: 10x10
        ("kind", np.uint8),  # 0: games; 1: solitaires
        ("empties", np.uint8),  # squares from which on the theoretical score is the exact result
        ("reserved", np.uint8),
    ]
)
_GAME = np.dtype(
    [
        ("tournament", "<u2"),
        ("black", "<u2"),
        ("white", "<u2"),
        ("black_score", np.uint8),
        ("theoretical_score", np.uint8),
        ("moves", np.uint8, 60),
    ]
)
_NAME_BYTES = {"players": 20, "tournaments": 26}


@dataclass(frozen=True, kw_only=True)
class Wthor:
    """One `.wtb` file: G games of a year, not yet replayed."""

    year: int
    empties: int
    """Number of empty squares from which on the theoretical score is that of perfect play."""

    tournament: NDArray[np.uint16]  # [G] lines of WTHOR.TRN
    black: NDArray[np.uint16]  # [G] lines of WTHOR.JOU
    white: NDArray[np.uint16]  # [G]
    black_score: NDArray[np.uint8]  # [G] Black's discs, and the squares left empty if Black won
    theoretical_score: NDArray[np.uint8]  # [G] the same for perfect play from `empties` empty squares on
    moves: NDArray[np.uint8]  # [G, 60] actions, END_OF_MOVES after the last

    def __len__(self) -> int:
        """Games."""
        return len(self.moves)

    @property
    def lists(self) -> MoveLists:
        """The games as lists of moves."""
        return MoveLists.from_start(GAMES["reversi8"], self.moves)


def read_wthor(data: bytes, where: str) -> Wthor:
    """Return the games of a `.wtb` file's bytes; `where` names it in errors.

    Raises CorruptFileError for a truncated file and for one of another kind or board.  Invalid moves, and gaps before
    the last move, become UNREADABLE.
    """
    header = _header(data, _GAME.itemsize, "games", where)
    if header["size"] not in (0, 8) or header["kind"] != 0 or header["names"] != 0:
        size, kind = int(header["size"]), int(header["kind"])
        raise CorruptFileError(f"{where}: expected games on 8x8 (size 0 or 8, kind 0), got size {size}, kind {kind}")
    games = np.frombuffer(data, _GAME, offset=_HEADER.itemsize)
    codes = games["moves"]
    moves = _ACTION_OF_CODE[codes]
    gaps = codes[:, 1:] != 0
    moves[:, :-1][(codes[:, :-1] == 0) & gaps] = UNREADABLE
    names = ("tournament", "black", "white", "black_score", "theoretical_score")
    return Wthor(
        year=int(header["year"]),
        empties=int(header["empties"]),
        moves=moves,
        **{name: np.ascontiguousarray(games[name]) for name in names},
    )


def is_wthor(data: bytes) -> bool:
    """Return whether the bytes have the length that they should have as a `.wtb` file, and its kinds of values."""
    if len(data) < _HEADER.itemsize + _GAME.itemsize:
        return False
    header = np.frombuffer(data, _HEADER, count=1)[0]
    return bool(len(data) == _HEADER.itemsize + int(header["games"]) * _GAME.itemsize and header["kind"] <= 1)


def read_names(data: bytes, kind: str, where: str) -> list[str]:
    """Return the names in the bytes of a `players` (WTHOR.JOU) or `tournaments` (WTHOR.TRN) file, by number.

    Raises CorruptFileError for a truncated or foreign file.
    """
    width = _NAME_BYTES[kind]
    _header(data, width, "names", where)
    rows = (data[at : at + width] for at in range(_HEADER.itemsize, len(data), width))
    return [row.split(b"\0")[0].decode("latin-1").strip() for row in rows]


def _header(data: bytes, row_bytes: int, count: str, where: str) -> np.void:
    """Return the header; CorruptFileError unless the file's size matches its field `count`."""
    if len(data) < _HEADER.itemsize:
        raise CorruptFileError(f"{where}: expected a WTHOR header of {_HEADER.itemsize} bytes, got {len(data)} bytes")
    header: np.void = np.frombuffer(data, _HEADER, count=1)[0]
    rows = int(header[count])
    expected = _HEADER.itemsize + rows * row_bytes
    if len(data) != expected:
        raise CorruptFileError(
            f"{where}: expected {expected} bytes for the {rows} {count} of a WTHOR header, got {len(data)}"
        )
    return header


def _action_table() -> NDArray[np.uint8]:
    table = np.full(256, UNREADABLE, np.uint8)
    table[0] = END_OF_MOVES
    for action in range(64):
        table[10 * (action // 8 + 1) + action % 8 + 1] = action
    return table


_ACTION_OF_CODE = _action_table()  # uint8[256]
