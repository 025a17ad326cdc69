"""Transcripts of games, `f5d6c3`: one per line, one over several lines, or one in each cell of a CSV column.

A transcript may follow the position that it begins from.  Where text can be read in several ways, the rules decide:
the board is the one on which the games are legal, and lines are one game if they are legal only together.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from reversi.errors import CorruptFileError, NotationError, ReversiError, UsageError
from reversi.formats.collection import END_OF_MOVES, GOOD, PASS_IF_DUE, UNREADABLE, Collection, MoveLists, replayed
from reversi.formats.obf import is_scored
from reversi.games.notation import HYPHENS, SHOWN, SQUARE, SQUARE_PASS, plain, quoted, spell
from reversi.games.position import SYMBOLS, Position, begins_position, read_position
from reversi.games.rules import GAMES, Game

COLUMNS = ("transcript", "moves", "game_transcript", "game_moves")
"""Headers that identify the column of transcripts in a CSV file; the last one is eOthello's."""

LONGEST = 4000
"""Characters read of a transcript; no game is longer."""

MOST_MOVES = 240
"""Words for moves read of a transcript, passes and superfluous hyphens included."""

FEW_LINES = 300
"""Lines that choose the board, and of which each is tried as the rest of a game even if it is a game by itself."""

CERTAIN = 10
"""Plies of lines that are legal from the start of one board only."""

_SQUARES_ALONE = re.compile("(?:[a-h][1-8] ?)+", re.IGNORECASE | re.ASCII)
"""Most transcripts; all of a file are read at once, 20 times as fast as by `spell`."""

_OF_ROWS = SYMBOLS | set(" \t/|")

_NUMBER = re.compile(r"\s*\(?(\d{1,3})[.)]")


@dataclass(frozen=True)
class Transcripts:
    """G transcripts, on no board yet."""

    texts: Sequence[str]
    starts: Sequence[Position | None] = ()
    """Where each begins, None for the usual start; () if all do."""

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """uint8[G, M] as `notation.Spelled.codes`, UNREADABLE for other text, END_OF_MOVES after the last.

        A transcript without moves gets one UNREADABLE, so that it is not taken for a game that has just begun.
        """
        rows: list[list[int] | str] = [
            text.replace(" ", "") if _SQUARES_ALONE.fullmatch(text) else _codes(text, self._start(index))
            for index, text in enumerate(text[:LONGEST] for text in self.texts)
        ]
        lengths = np.array([len(row) // 2 if isinstance(row, str) else len(row) for row in rows], np.int64)
        codes = np.full((len(rows), min(MOST_MOVES, int(lengths.max(initial=0)))), END_OF_MOVES, np.uint8)
        compact = np.array([isinstance(row, str) for row in rows], bool)
        letters = np.frombuffer("".join(row for row in rows if isinstance(row, str)).lower().encode(), np.uint8)
        moves = 8 * (letters[1::2] - ord("1")) + letters[0::2] - ord("a")
        places = np.arange(lengths.max(initial=0)) < lengths[:, None]
        wide = np.full(places.shape, END_OF_MOVES, np.uint8)
        wide[places & compact[:, None]] = moves
        codes[:] = wide[:, : codes.shape[1]]
        for index, row in enumerate(rows):
            if isinstance(row, list):
                codes[index, : len(row)] = row[: codes.shape[1]]
        return codes

    def lists(self, game: Game, problems: dict[int, ReversiError] | None = None) -> MoveLists:
        """Return the moves on a board; all starts are positions of it."""
        starts = [self._start(index) or Position.start(game) for index in range(len(self.texts))]
        return MoveLists.from_positions(game, _ACTIONS[game.name][self.codes], starts, self.written, problems)

    def written(self, index: int, move: int) -> str:
        """Return the text of a move."""
        text = self.texts[index][:LONGEST]
        places = spell(text).places
        return quoted(text, places[move]) if move < len(places) else text[:SHOWN]

    def _start(self, index: int) -> Position | None:
        return self.starts[index] if self.starts else None


def _codes(text: str, start: Position | None) -> list[int]:
    spelled = spell(text)
    if not spelled.is_read() or (not spelled.codes and start is None):
        return [*spelled.codes, UNREADABLE]
    return spelled.codes


def _actions(game: Game) -> NDArray[np.uint8]:
    """Return the action of each code."""
    table = np.full(256, UNREADABLE, np.uint8)
    for row in range(game.size):
        table[8 * row : 8 * row + game.size] = game.size * row + np.arange(game.size)
    table[SQUARE_PASS], table[HYPHENS], table[END_OF_MOVES] = game.pass_action, PASS_IF_DUE, END_OF_MOVES
    return table


_ACTIONS = {game.name: _actions(game) for game in GAMES.values()}  # uint8[256] each


def parse_transcript(game: Game, text: str) -> list[int]:
    """Return the actions of a transcript from the game's start, with omitted passes filled in.

    Text is read as `notation.spell` does.  A pass is filled in only before a move, so a transcript that stops before a
    forced pass ends there.  Raises NotationError for text that is not a move, IllegalMoveError for an illegal move;
    both name the ply.
    """
    if not text.strip():
        return []
    games = replayed(Transcripts([text]).lists(game), "")
    if (fault := games.fault(0, f" at ply {games.plies[0] + 1}")) is not None and games.is_broken(0):
        raise fault
    return [int(action) for action in games.actions[0, : games.plies[0]]]


def read_csv(text: str, boards: Sequence[Game], where: str, column: str | None = None) -> list[Collection]:
    """Return the game of every row of a CSV file with headers, separated by commas, semicolons, tabs or bars.

    column  header of the column of transcripts; None looks for `COLUMNS`

    Raises CorruptFileError if there is no such column or no valid table.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text))
    try:
        headers = [header.strip() for header in next(rows, [])]
        at = _column(headers, column, where)
        cells = [row[at] if at < len(row) else "" for row in rows if row]
    except csv.Error as error:
        raise CorruptFileError(f"{where}: expected a CSV file, line {rows.line_num}: {error}") from error
    entries = [Entry(cell) for cell in cells]
    return on_boards(entries, likeliest(entries, boards), where)


def is_csv(text: str) -> bool:
    """Return whether the first line is that of a table with a column of transcripts."""
    headers = text.partition("\n")[0].split(_separator(text))
    return any(header.strip(" \"'\r").lower() in COLUMNS for header in headers)


def _separator(text: str) -> str:
    return max(",;\t|", key=text.partition("\n")[0].count)


def _column(headers: list[str], column: str | None, where: str) -> int:
    """Return the index of the column of transcripts."""
    wanted = COLUMNS if column is None else (column,)
    for place, header in enumerate(headers):
        if header.lower() in (name.lower() for name in wanted):
            return place
    raise CorruptFileError(
        f"{where}: expected a column called {' or '.join(wanted)}, got the columns {', '.join(headers)[:200]!r}"
    )


@dataclass(frozen=True)
class Entry:
    """A game of a file, on no board yet if it begins at the start."""

    text: str
    """Its moves."""
    start: Position | None = None
    """Where it begins; None for the usual start."""
    problem: ReversiError | None = None
    """Why it cannot be read; None if its moves say."""
    title: str = ""


def on_boards(entries: Sequence[Entry], game: Game, where: str) -> list[Collection]:
    """Return the games, those of each board together; `game` is the board of those that begin at the start."""
    boards = [game if entry.start is None else entry.start.game for entry in entries]
    found = list[Collection]()
    for board in dict.fromkeys(boards or [game]):
        numbers = [number for number, each in enumerate(boards) if each is board]
        chosen = [entries[number] for number in numbers]
        problems = {index: entry.problem for index, entry in enumerate(chosen) if entry.problem is not None}
        lists = Transcripts([entry.text for entry in chosen], [entry.start for entry in chosen]).lists(board, problems)
        titles = [entry.title for entry in chosen]
        found.append(replayed(lists, where, titles.__getitem__, np.array(numbers) + 1))
    return found


def likeliest(entries: Sequence[Entry], boards: Sequence[Game]) -> Game:
    """Return the first of the boards on which fewest games are broken and, of those, most of one can be played.

    Only the games that begin at the start say which.
    """
    transcripts = Transcripts([entry.text for entry in entries if entry.start is None and entry.problem is None])
    if len(boards) == 1 or not transcripts.texts:
        return boards[0]
    return max(boards, key=lambda board: _likelihood(replayed(transcripts.lists(board), "")))


def _likelihood(games: Collection) -> tuple[int, int]:
    return -games.broken, int(games.plies.max(initial=0))


@dataclass(frozen=True)
class _Line:
    text: str
    is_position: bool
    """Whether it begins with one."""
    apart: bool
    """Whether an empty line, a comment, a result or a position is before it."""

    @property
    def number(self) -> int | None:
        """The number of its first move, if it has one."""
        match = _NUMBER.match(self.text)
        return None if match is None else int(match[1])


def read_lines(text: str, boards: Sequence[Game], where: str, *, written_out: bool = False) -> list[Collection]:
    """Return the games of lines of transcripts and positions, those of each board together.

    A line that begins with a position is a game, with the moves that follow.  Other games may be on one line or on
    several; empty lines and comments may separate them.  Lines that can be both one game and a game each are one if
    they are `written_out` as such, as on a command line; in a file they are a UsageError.
    """
    lines = list(_lines(text, where, written_out=written_out))
    moves = [index for index, line in enumerate(lines) if not line.is_position]
    grouping = _likeliest_grouping([lines[index] for index in moves], boards)
    if grouping.other is not None and not written_out:
        raise _either(where)
    groups = grouping.groups if grouping.other is None else grouping.other
    if len(groups) == len(lines):
        return [replace(grouping.alone, where=where)]
    games = [(moves[group[0]], Entry("\n".join(lines[moves[at]].text for at in group))) for group in groups]
    games += [(at, _of_position(line.text)) for at, line in enumerate(lines) if line.is_position]
    entries = [entry for _, entry in sorted(games, key=lambda each: each[0])]
    return on_boards(entries, grouping.alone.game, where)


def _either(where: str) -> UsageError:
    return UsageError(
        f"{where}: expected one game or one game per line, and these lines can be either: write each game on one line, "
        "or an empty line between two games"
    )


def _lines(text: str, where: str, *, written_out: bool) -> Iterator[_Line]:
    """Yield the lines of games, the rows of a position and its moves as one."""
    rows, apart = deque(text.splitlines()), False
    while rows:
        row = rows.popleft().strip()
        more = _more_rows(row, rows)
        if more or not _is_beside(row):
            row = "\n".join([row, *(rows.popleft() for _ in range(more))])
            is_position = _SQUARES_ALONE.fullmatch(row) is None and begins_position(row)
            while is_position and rows and (game := _game_with_moves(row, rows[0])) is not None:
                if not written_out and "\n" not in row.strip() and _is_legal(rows[0], game):
                    raise _either(where)
                row += f"\n{rows.popleft()}"
            yield _Line(row, is_position, apart)
            apart = is_position
        else:
            apart = True


def _is_beside(row: str) -> bool:
    """Return whether a row is no part of a game but empty, a line drawn, a comment, a result or a number."""
    if set(row) <= set("-=_ "):
        return True
    if SQUARE.search(row) is not None or begins_position(row):
        return row[0] in "#%"
    spelled = spell(row)
    return not spelled.codes and spelled.is_read()


def _game_with_moves(position: str, row: str) -> Game | None:
    """Return the board on which the moves of a row can follow a position and its moves, None if they cannot."""
    if not row.strip() or begins_position(row) or not spell(row).codes:
        return None
    entry = _of_position(f"{position}\n{row}")
    if entry.start is None or on_boards([entry], entry.start.game, "")[0].is_broken(0):
        return None
    return entry.start.game


def _more_rows(row: str, rows: deque[str]) -> int:
    """Return how many of the next rows belong to the position of which `row` is the first; 0 if it is none."""
    if not row or SQUARE.match(row) is not None or not set(plain(row)) <= _OF_ROWS:
        return 0
    squares = sum(symbol in SYMBOLS for symbol in plain(row))
    for more in (0, max(squares - 1, 0), squares):  # the side to move may have a row of its own
        if more and (squares > max(game.size for game in GAMES.values()) or more > len(rows)):
            break
        try:
            Position.parse("\n".join([row, *islice(rows, more)]))
        except NotationError:
            continue
        return more
    return 0


def _of_position(text: str) -> Entry:
    """Return the game of a line that begins with a position."""
    try:
        start, end = read_position(text)
    except NotationError as error:
        return Entry("", problem=error)
    rest = text[end:].strip(" \t;")
    return Entry("" if is_scored(rest) else rest, start)


@dataclass(frozen=True)
class _Grouping:
    alone: Collection
    """The lines, each as a game of its own."""
    groups: list[list[int]]
    """The lines of each game."""
    other: list[list[int]] | None = None
    """Those of each game if lines that are games by themselves are one game together, which they can be."""


def _likeliest_grouping(lines: Sequence[_Line], boards: Sequence[Game]) -> _Grouping:
    """Return the grouping on the board that `likeliest` chooses, of many lines by the first few."""
    few = lines[:FEW_LINES]
    first = Transcripts([line.text for line in few])
    alone = {board: replayed(first.lists(board), "") for board in boards}
    certain = [board for board in boards if lines and not alone[board].broken and alone[board].plies.min() >= CERTAIN]
    groupings = {board: _grouping(few, alone[board]) for board in certain[:1] or boards}
    chosen = max(groupings, key=lambda board: _likelihood(_joined(few, groupings[board])))
    if len(few) == len(lines):
        return groupings[chosen]
    return _grouping(lines, replayed(Transcripts([line.text for line in lines]).lists(chosen), ""))


def _joined(lines: Sequence[_Line], grouping: _Grouping) -> Collection:
    texts = ["\n".join(lines[at].text for at in group) for group in grouping.groups]
    return replayed(Transcripts(texts).lists(grouping.alone.game), "")


def _grouping(lines: Sequence[_Line], alone: Collection) -> _Grouping:
    """Return which lines are a game on a board, on which each is replayed `alone`."""
    game, blocks = alone.game, _blocks(lines)
    joins = {block[0]: _is_legal("\n".join(lines[at].text for at in block), game) for block in blocks if len(block) > 1}
    if not alone.broken:
        each, numbers = [[at] for at in range(len(lines))], [lines[at].number for block in blocks for at in block[1:]]
        if not joins or not all(joins.values()) or all(number == 1 for number in numbers):
            return _Grouping(alone, each)
        if all(number is not None and number > 1 for number in numbers):
            return _Grouping(alone, blocks)
        return _Grouping(alone, each, blocks)
    groups, text = list[list[int]](), ""
    block_of = {at: block[0] for block in blocks for at in block}
    for at, line in enumerate(lines):
        broken, over = alone.is_broken(at), bool(groups) and alone.faults[groups[-1][0]] == GOOD
        goes_on = False
        if groups and not over and (broken or len(lines) <= FEW_LINES):
            before, whole = replayed(Transcripts([text, f"{text}\n{line.text}"]).lists(game), "").plies.tolist()
            legal = _is_legal(f"{text}\n{line.text}", game)
            if broken:
                goes_on = legal or whole - before > alone.plies[at]
            else:
                goes_on = legal and not line.apart and line.number != 1 and joins.get(block_of[at], False)
        if goes_on:
            groups[-1].append(at)
        else:
            groups.append([at])
        text = f"{text}\n{line.text}" if goes_on else line.text
    return _Grouping(alone, groups)


def _blocks(lines: Sequence[_Line]) -> list[list[int]]:
    """Return the lines between empty lines and comments."""
    blocks = list[list[int]]()
    for at, line in enumerate(lines):
        if at == 0 or line.apart:
            blocks.append([])
        blocks[-1].append(at)
    return blocks


def _is_legal(text: str, game: Game) -> bool:
    """Return whether `text` is a legal game, over or not."""
    return len(text) <= LONGEST and not replayed(Transcripts([text]).lists(game), "").is_broken(0)
