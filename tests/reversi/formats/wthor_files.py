"""Small synthetic WTHOR files and transcripts, made of random games, for tests."""

from __future__ import annotations

import struct

import numpy as np

from reversi.games.notation import PASS
from reversi.games.position import Position


def random_game(seed: int, board: str = "reversi8") -> tuple[list[str], Position]:
    """Return the moves of a random game, passes included, and its last position."""
    draw, position, moves = np.random.default_rng(seed), Position.start(board), list[str]()
    while not position.is_over:
        moves.append(str(draw.choice(position.legal_moves())))
        position = position.play(moves[-1])
    return moves, position


def transcript(seed: int, board: str = "reversi8") -> str:
    """Return a random game as a transcript without passes."""
    return "".join(move for move in random_game(seed, board)[0] if move != PASS)


def code(move: str) -> int:
    """Return a move as WTHOR writes it."""
    return 10 * int(move[1]) + "abcdefgh".index(move[0]) + 1


def wtb(games: list[str], *, year: int = 1999, size: int = 8, kind: int = 0, claimed: int | None = None) -> bytes:
    """Return a `.wtb` file of transcripts; `claimed` games in its header instead of how many there are."""
    count = len(games) if claimed is None else claimed
    data = struct.pack("<4BIHH4B", 20, 26, 11, 21, count, 0, year, size, kind, 24, 0)
    for number, text in enumerate(games):
        codes = bytes(code(text[at : at + 2]) for at in range(0, len(text), 2))
        data += struct.pack("<HHHBB60s", 1, 2 * number, 2 * number + 1, 40, 36, codes)
    return data


def names(words: list[str], width: int) -> bytes:
    """Return a file of names, such as WTHOR.JOU (20 bytes each)."""
    header = struct.pack("<4BIHH4B", 20, 26, 11, 21, 0, len(words), 0, 0, 0, 0, 0)
    return header + b"".join(word.encode("latin-1").ljust(width, b"\0") for word in words)
