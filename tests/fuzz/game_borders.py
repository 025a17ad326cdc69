"""Borders of games and positions: the formats in which other people write them down."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

from reversi.games.rules import GAMES
from tests.fuzz.border import Border, Opened, decoded, from_file, lines_of

REVERSI4, REVERSI6, REVERSI8 = GAMES["reversi4"], GAMES["reversi6"], GAMES["reversi8"]


_GGF = f"(;GM[Othello]PB[a]PW[b]TY[8]BO[8 {'-' * 27}O*------*O{'-' * 27} *]B[F5/1.50/0.8]W[F6];)".encode()


_SGF = b"(;GM[2]FF[4]SZ[8];B[f5];W[d6];B[c3])"


DEAL = (
    "f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2b5a5a6a7g5e3b4c8g6g4c2e8d1"
    "f7e2g3h4f1e1f2g1b1f8g8b3h3b2h5b7a3a4a1a2c1h2h1g2b8a8g7h8h7h6"
)
"""A whole game on 8x8."""


def _openings(folder: Path) -> Opened:
    from evaluator.openings import load_openings

    sound = lines_of("f5d6c3\n# none\nf5f6 # two\n", DEAL[:40] + "\n")
    return sound, partial(from_file, folder / "list", lambda path: load_openings(path, REVERSI8))


def _obf(folder: Path) -> Opened:
    from reversi.formats.obf import parse_problem

    def read(path: Path) -> object:
        return [parse_problem(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]

    board = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
    sound = lines_of(f"{board}; G8:+18; H1:+12; H7:+6;\n", f"{board}\n")
    return sound, partial(from_file, folder / "set.obf", read)


def _transcript(folder: Path) -> Opened:
    from reversi.formats.transcripts import parse_transcript

    return lines_of("f5d6c3", DEAL.upper(), " f5 d6 c3 "), lambda data: parse_transcript(REVERSI8, decoded(data))


def _ggf(folder: Path) -> Opened:
    from reversi.formats.ggf import parse_ggf

    other = _GGF.replace(b"B[F5/1.50/0.8]W[F6]", b"B[d3//0.01]W[c5/2.39/0.01]").replace(b"TY[8]", b"TI[05:00]RE[?]")
    return [_GGF, other], lambda data: str(parse_ggf(decoded(data)))


def _sgf(folder: Path) -> Opened:
    from reversi.formats.sgf import parse_sgf

    setup = b"(;GM[2]SZ[6]AB[cc][dd]AW[cd]AW[dc]PL[W];W[bc])"
    return [_SGF, setup], lambda data: parse_sgf(decoded(data))


def _wthor_bytes() -> bytes:
    """Return two games of 8x8 as WTHOR has them, one of them cut short."""
    from reversi.formats.transcripts import parse_transcript

    actions = parse_transcript(REVERSI8, DEAL)
    moves = bytes(10 * (action // 8 + 1) + action % 8 + 1 for action in actions)
    header = bytes((20, 26, 1, 1)) + (2).to_bytes(4, "little") + bytes(2) + (2026).to_bytes(2, "little") + bytes(4)
    return header + b"".join(bytes(6) + bytes((32, 32)) + each.ljust(60, b"\0") for each in (moves, moves[:30]))


def _game_file(suffix: str, sound: bytes, folder: Path) -> Opened:
    """A file of games, every one of them looked at, the good ones made into records."""
    from reversi.formats.files import read_games_of

    def read(path: Path) -> object:
        games = read_games_of(path)
        said = [(games.title(index), games.problem(index)) for index in range(len(games))]
        return said, games.records(np.flatnonzero(games.is_good))

    return [sound], partial(from_file, folder / f"games{suffix}", read)


def _position(folder: Path) -> Opened:
    """What `analyze`, `solve` and `perft` read."""
    from reversi.games.position import Position

    def read(data: bytes) -> object:
        position = Position.parse(decoded(data))
        return position.drawing(), position.margin, str(position)

    return lines_of(str(Position.start(REVERSI8)), str(Position.start(REVERSI4).play("b1")), "XO------- X"), read


def _lines_of_positions(folder: Path) -> Opened:
    """The whole of `reversi solve`: a line of answer for every line, whatever it is."""
    from reversi.games.position import Position
    from scripts.arguments.positions import read_problems

    def read(data: bytes) -> object:
        with mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(data))):
            answers = list(read_problems(None, "-"))
        assert len(answers) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        return answers

    return [f"{Position.start(REVERSI8)}\n{Position.start(REVERSI6)}\n".encode()], read


BORDERS: tuple[Border, ...] = (
    Border("openings", "text", _openings, weight=0.3, words=(b"f5", b"pass", b"#", b"\n")),
    Border("transcripts", "text", _transcript, weight=2, words=(b"f5", b"pass", b"PASS", b"z9", b"a9")),
    Border("OBF", "text", _obf, weight=0.3, words=(b"; G8:+18;", b"PA:0;", b"%", b"\n", b"--")),
    Border("GGF", "text", _ggf, weight=2, words=(b"B[PA]", b"W[]", b"BO[6 ", b"TY[8a]", b"(;", b";)", b"nan", b"/")),
    Border("SGF", "text", _sgf, weight=2, words=(b"AB[aa]", b"AW[tt]", b";B[]", b"SZ[19]", b"PL[W]", b"\\]", b"(;")),
    Border("WTHOR", "bytes", partial(_game_file, ".wtb", _wthor_bytes()), weight=0.5),
    Border(
        "CSV of games",
        "text",
        partial(_game_file, ".csv", f"id,moves\n1,{DEAL}\n".encode()),
        words=(b'"', b","),
        weight=0.3,
    ),
    Border(
        "text of games",
        "text",
        partial(_game_file, ".txt", f"{DEAL}\nF5 d6\n".encode()),
        words=(b"#", b"\n"),
        weight=0.3,
    ),
    Border("GGF file", "text", partial(_game_file, ".ggf", _GGF), words=(b"B[PA]", b"(;", b";)", b"BO[6 "), weight=0.5),
    Border(
        "SGF file", "text", partial(_game_file, ".sgf", _SGF), words=(b"AB[aa]", b";B[]", b"\\]", b"(;"), weight=0.5
    ),
    Border("positions", "text", _position, weight=2, words=(b"X", b"O", b"-", b" X", b" O")),
    Border("lines of positions", "text", _lines_of_positions, refusals=(), words=(b"\n", b"\r\n", b"\x85", b" X\n")),
)
