"""`parse_game`: a game or a position from text as people paste it, in any of the formats of single games.

GGF, SGF     (;GM[Othello]...;)  (;GM[2]SZ[8];B[f5]...)  1 (;GM[Othello]...;)
a position   N*N squares and the side to move, alone or with scored moves (OBF)
transcripts  f5d6c3, 1. f5 d6 2. c3
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reversi.errors import NotationError
from reversi.formats.ggf import is_ggf, parse_ggf
from reversi.formats.obf import parse_problem
from reversi.formats.sgf import parse_sgf
from reversi.games.notation import action_name, read_transcript
from reversi.games.position import SYMBOLS, Position
from reversi.games.rules import GAMES, Game

BYTE_ORDER_MARK = "\ufeff"
"""Begins text in UTF-8 of some programs, of which it is no part."""

REVERSI = tuple(GAMES[name] for name in ("reversi8", "reversi6", "reversi4"))

BOARDS = (*REVERSI, GAMES["tictactoe"])
"""Where the board is not given, moves are on the one of these on which most can be played, the first if equal."""

_BRACKET = re.compile(r"\s*(?:\d+\s*(?=\(;))?(?=\()", re.ASCII)
"""What may precede the bracket of a game: blanks, and a number, as in the archives of GGS."""

_A_MOVE = re.compile("[a-h][1-8]|pass", re.IGNORECASE)


@dataclass(frozen=True)
class GameText:
    """What a text says."""

    start: Position
    actions: Sequence[int] = ()
    """Every ply from the start, passes included."""
    scores: dict[int, int] = field(default_factory=dict)
    """Scores of actions in the start position, of a line of OBF."""

    @property
    def moves(self) -> list[str]:
        """The names of the plies."""
        return [action_name(self.start.game, action) for action in self.actions]

    @property
    def end(self) -> Position:
        """The position after the plies."""
        position = self.start
        for action in self.actions:
            position = position.play(action)
        return position


def in_brackets(text: str) -> str | None:
    """Return `text` from its bracket on if it is of GGF or SGF; None if it is something else."""
    match = _BRACKET.match(text)
    return None if match is None else text[match.end() :]


def parse_game(text: str, boards: Sequence[Game] = BOARDS) -> GameText:
    """Return the game or position that `text` describes, which must be on one of `boards`.

    Raises NotationError, also for another board, and IllegalMoveError.
    """
    text = text.removeprefix(BYTE_ORDER_MARK).strip()
    if (tree := in_brackets(text)) is not None:
        game = _in_brackets(tree)
    elif text.startswith(tuple(SYMBOLS)):
        problem = parse_problem(text, boards[0] if len(boards) == 1 else None)
        game = GameText(problem.position, scores=problem.scores)
    elif _A_MOVE.search(text):
        game = _transcript(text, boards)
    else:
        raise NotationError(f"expected a position, moves like f5d6c3, or a game in GGF or SGF, got {text[:40]!r}")
    if game.start.game not in boards:
        names = " or ".join(board.name for board in boards)
        raise NotationError(f"expected a game on {names}, got one on {game.start.game.name}")
    return game


def _in_brackets(text: str) -> GameText:
    if is_ggf(text):
        ggf = parse_ggf(text)
        return GameText(ggf.start, [move.action for move in ggf.moves])
    sgf = parse_sgf(text)
    return GameText(sgf.start, sgf.actions)


def _transcript(text: str, boards: Sequence[Game]) -> GameText:
    """Return a transcript on the board on which most of its plies can be played."""
    read = [(board, *read_transcript(board, text)) for board in boards]
    board, actions, fault = max(read, key=lambda each: (each[2] is None, len(each[1])))
    if fault is not None:
        raise type(fault)(f"{board.name}: {fault}")
    return GameText(Position.start(board), actions)
