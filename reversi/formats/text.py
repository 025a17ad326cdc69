"""Games and positions from text, whatever its format, which its content tells.

GGF, SGF     (;GM[Othello]...;)  (;GM[2]SZ[8];B[f5]...)  1 (;GM[Othello]...;)
PGN          [Black "me"] 1. f5 d6 2. c3
a position   N*N squares and the side to move, alone, with moves, or with scored moves (OBF)
transcripts  f5d6c3, 1. f5 d6 2. c3, on one line or several; also in a CSV column

`read_text` returns all games, `parse_game` the only one; so every command and the page read the same text alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from reversi.errors import CorruptFileError, NotationError, ReversiError, UsageError
from reversi.formats import ggf, sgf
from reversi.formats.collection import END_OF_MOVES, Collection, MoveLists, replayed
from reversi.formats.obf import is_scored, parse_problem
from reversi.formats.pgn import is_pgn, read_pgn
from reversi.formats.titles import described, title_of
from reversi.formats.transcripts import is_csv, likeliest, on_boards, read_csv, read_lines
from reversi.games.notation import action_name, plain, spell
from reversi.games.position import Position, begins_position, read_position
from reversi.games.rules import GAMES, Game

BYTE_ORDER_MARK = "\ufeff"
"""Begins text in UTF-8 of some programs, of which it is no part."""

FORMATS = "WTHOR, GGF, SGF, PGN, CSV or transcripts"
"""What a file of games may hold, for messages."""

REVERSI = tuple(GAMES[name] for name in ("reversi8", "reversi6", "reversi4"))

BOARDS = (*REVERSI, GAMES["tictactoe"])
"""Where the board is not given, moves are on the one of these on which they are legal, the first if on several."""

_BRACKET = re.compile(r"\s*(?:\d+\s*)?(?=\(\s*;)", re.ASCII)
"""What may precede the bracket of a game: blanks, and a number, as in the archives of GGS."""

_A_MOVE = re.compile("[a-h][1-8]|pass", re.IGNORECASE)

_SOMEWHERE = re.compile(r"\(\s*;[^()]*?\bGM\s*\[")
"""A game of GGF or SGF behind other text."""


@dataclass(frozen=True)
class GameText:
    """What a text says."""

    start: Position
    actions: Sequence[int] = ()
    """Every ply from the start, passes included."""
    scores: dict[int, int] = field(default_factory=dict)
    """Scores of actions in the start position, of a line of OBF."""
    score: int | None = None
    """The score of the start position, of a line of OBF that has it without a move."""

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
    """Return the only game or position that `text` describes, which must be on one of `boards`.

    Raises NotationError, also for another board and for several games, and IllegalMoveError.
    """
    text = text.removeprefix(BYTE_ORDER_MARK).strip()
    if begins_position(text) and _is_scored_position(text):
        problem = parse_problem(text, boards[0] if len(boards) == 1 else None)
        return _on(GameText(problem.position, (), problem.scores, problem.own_score), boards)
    if not _is_of_a_game(text):
        if text[:1] in tuple("XOxo*-."):
            Position.parse(text, boards[0] if len(boards) == 1 else None)
        raise NotationError(f"expected a position, moves like f5d6c3, or a game in GGF or SGF, got {text[:40]!r}")
    found = read_text(text, boards, repr(text[:40]), written_out=True)
    count = sum(map(len, found))
    if count != 1:
        raise NotationError(f"expected one game, got {count} games in {text[:40]!r}")
    (games,) = (each for each in found if len(each))
    if games.is_broken(0):
        raise reason(games, boards)
    return _on(GameText(games.positions(0)[0], [int(action) for action in games.actions[0, : games.plies[0]]]), boards)


def reason(games: Collection, boards: Sequence[Game]) -> ReversiError:
    """Return why the first of `games`, a text of one game on one of `boards`, is broken.

    It names the board, unless the board is only a guess.
    """
    fault = games.fault(0, f" at ply {games.plies[0] + 1}")
    assert fault is not None
    known = 0 in games.lists.problems or (len(boards) > 1 and is_guess(games))
    return fault if known else type(fault)(f"{games.game.name}: {fault}")


def is_guess(games: Collection) -> bool:
    """Return whether nothing in a text tells the board of its first game: no move of it is legal on any board."""
    return bool(games.plies[0] == 0 and 0 not in games.lists.problems)


def is_written_out(text: str) -> bool:
    """Return whether `text` is certainly a game or a position, and not the name of a file."""
    spelled = spell(text)
    is_transcript = bool(spelled.codes) and spelled.is_read()
    return is_transcript or begins_position(text) or in_brackets(text) is not None or is_pgn(text)


def _on(text: GameText, boards: Sequence[Game]) -> GameText:
    if text.start.game not in boards:
        names = " or ".join(board.name for board in boards)
        raise NotationError(f"expected a game on {names}, got one on {text.start.game.name}")
    return text


def _is_scored_position(text: str) -> bool:
    """Return whether a position is followed by scores, or by nothing, or cannot be read."""
    try:
        _, end = read_position(text)
    except NotationError:
        return True
    return not text[end:].strip(" \t;") or is_scored(text[end:])


def _is_of_a_game(text: str) -> bool:
    return bool(begins_position(text) or in_brackets(text) is not None or is_pgn(text) or _A_MOVE.search(plain(text)))


def read_text(
    text: str,
    boards: Sequence[Game],
    where: str,
    *,
    column: str | None = None,
    is_table: bool = False,
    written_out: bool = False,
) -> list[Collection]:
    """Return the games of `text`, those of each board together.

    boards       the boards on which games without one may be, the likeliest of which is chosen
    column       header of the column of transcripts in a CSV file; None detects it
    is_table     whether text of no other format is a CSV file, without a column that is known
    written_out  whether a person wrote the text as one game; see `transcripts.read_lines`

    Raises CorruptFileError for a table without the column, UsageError for lines that hold no move at all.  A single bad
    game only gets an entry in `problems`.
    """
    if column is not None:
        return read_csv(text, boards, where, column)
    if in_brackets(text) is not None or _SOMEWHERE.search(text):
        return _read_trees(text, boards[0], where)
    if is_pgn(text):
        entries = read_pgn(text)
        return on_boards(entries, likeliest(entries, boards), where)
    if is_table or is_csv(text):
        return read_csv(text, boards, where)
    found = read_lines(text, boards, where, written_out=written_out)
    unread = sum(games.is_unreadable(index) for games in found for index in range(len(games)))
    if unread > 1 and not any(games.plies.any() for games in found):
        raise UsageError(f"{where}: expected games ({FORMATS}), got text like {text.strip()[:40]!r}")
    return found


def _read_trees(text: str, game: Game, where: str) -> list[Collection]:
    """Return the games of GGF or SGF; one of which nothing can be read is on the board of the others, or on `game`."""
    is_ggf = ggf.is_ggf(text)
    texts = ggf.games_of(text) if is_ggf else sgf.games_of(text)
    games = list[tuple[Position | None, Sequence[int], ReversiError | None, str]]()
    for each in texts:
        try:
            read = ggf.read_ggf(each) if is_ggf else sgf.read_sgf(each)
        except NotationError as error:
            games.append((None, (), error, ""))
        else:
            tags = read.tags
            title = title_of(tags.get("PB", ""), tags.get("PW", ""), tags.get("PC", ""), described(read.result))
            games.append((read.start, read.actions, read.fault, title))
    if not games:
        raise CorruptFileError(f"{where}: expected a game like (;GM[Othello]...;), got {text[:40]!r}")
    game = next((start.game for start, *_ in games if start is not None), game)
    starts = [start or Position.start(game) for start, *_ in games]
    found = list[Collection]()
    for board in dict.fromkeys(start.game for start in starts):
        numbers = [number for number, start in enumerate(starts) if start.game is board]
        moves = np.full((len(numbers), 2 * board.squares), END_OF_MOVES, np.uint8)
        problems, titles = dict[int, ReversiError](), list[str]()
        for index, number in enumerate(numbers):
            _, actions, problem, title = games[number]
            moves[index, : len(actions)] = actions
            titles.append(title)
            if problem is not None:
                problems[index] = problem
        lists = MoveLists.from_positions(board, moves, [starts[number] for number in numbers], problems=problems)
        found.append(replayed(lists, where, titles.__getitem__, np.array(numbers) + 1))
    return found
