"""GGF, the Generic Game Format of GGS and NBoard: reading and writing games of Othello.

    (;GM[Othello]PC[NBoard]PB[black's name]PW[white's]RE[+4.000]TI[05:00]TY[8]BO[8 CELLS *]B[F5/1.50/0.8]W[F6]...;)

Cells and the side to move are `*` black, `O` white and `-` empty, row 1 first.  A move is `square/value/seconds`, where
the value is for the side that plays it, and value and seconds are optional; a pass is `PA`.  RE is the result for
Black, `?` if there is none; RE[-64.000:r] if Black resigned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reversi.errors import IllegalMoveError, NotationError, ReversiError
from reversi.games.notation import PASS, action_name, parse_action
from reversi.games.passes import plies_of
from reversi.games.position import Position
from reversi.games.rules import TICTACTOE, Game

ENDINGS = {"r": "resigned", "t": "lost on time", "l": "left", "s": "agreed on the result"}
"""How a game may end before it is over, as in RE[-64.000:r] (https://skatgame.net/mburo/ggsa/ggf; GGS also has l)."""

_GAMES = re.compile(r"\(;(?:[^\[(]++|\[[^\]\r\n]*+|\((?!;))*+")
"""A game of GGF, and what follows it up to the next `(;` outside the brackets of tags, such as PB[a(;b].

Brackets are taken to end with their line, so that a game cut short does not cost the next one.  100,000 games, 44 MB,
are split in 0.45 s, where a split at every `(;` took 0.11 s; reading them takes 220 s (a busy EPYC core).
"""

_GAME = re.compile(r"\bGM\s*\[\s*Othello\s*\]", re.IGNORECASE)
_TAG = re.compile(r"\s*([A-Za-z]+)\s*\[([^\]]*)\]")
_TIME = re.compile(r"(?:(?:\d{1,4}\.)?\d{1,6}(?::\d{1,6}){0,2})?", re.ASCII)
_RESULT = re.compile(r"([+-]?\d{1,2}(?:\.\d{1,6})?)(?::([rtls]))?", re.ASCII)


@dataclass(frozen=True)
class GgfMove:
    """One ply of a game."""

    action: int
    value: float | None = None
    """The player's evaluation in discs, for the side that plays the move."""
    seconds: float | None = None
    """The time of the move."""

    @classmethod
    def parse(cls, game: Game, text: str) -> GgfMove:
        """Read `F5`, `F5/1.5/0.3` or `PA//2`; a value or time that is not a number is None.

        Raises NotationError if the square is not on the board.
        """
        square, *numbers = text.strip().split("/")
        action = parse_action(game, square)
        value, seconds = (_number(each) for each in (*numbers[:2], "", "")[:2])
        return cls(action, value, seconds)

    def text(self, game: Game) -> str:
        """Return the move in the format of `parse`: `F5`, `F5/1.50` or `F5/1.50/0.800`."""
        square = name_of(game, self.action)
        value = "" if self.value is None else f"{self.value:.2f}"
        seconds = "" if self.seconds is None else f"{self.seconds:.3f}"
        return f"{square}/{value}/{seconds}".rstrip("/")


@dataclass(frozen=True)
class GgfTime:
    """The time of a side for the whole game, as in TI[05:00/00:02/02:00]."""

    main_s: float
    increment_s: float = 0.0
    """Added after every move."""
    extension_s: float = 120.0
    """Added once, when the time has run out; GGS has two minutes if nothing else is given."""

    @classmethod
    def parse(cls, text: str) -> GgfTime | None:
        """Read `TIME/INCREMENT/EXTENSION`, each `days.hours:minutes:seconds`; None for no time or other text."""
        parts = [part.strip() for part in text.split("/")]
        if len(parts) > 3 or not all(_TIME.fullmatch(part) for part in parts):
            return None
        main_s, increment_s, extension_s = (*map(_seconds, parts), None, None)[:3]
        if not main_s:
            return None
        return cls(main_s, increment_s or 0.0, 120.0 if extension_s is None else extension_s)


@dataclass(frozen=True)
class GgfResult:
    """The result of a game that was not played to its end."""

    black_margin: float
    """Black's discs minus White's, as it was counted: for a game given up usually the whole board."""
    how: str = ""
    """How it ended, a key of `ENDINGS`; "" if unknown."""

    def __str__(self) -> str:
        return f"{self.black_margin:+.3f}{self.how and ':'}{self.how}"


@dataclass(frozen=True, repr=False)
class GgfGame:
    """A game: its start position, its plies with every pass, and its other tags."""

    start: Position
    moves: tuple[GgfMove, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    """Other tags by name, such as PB and PW, the players; not GM, TY, BO, RE and the moves."""
    result: GgfResult | None = None
    """The result of a game that was not played to its end; None if it was, or has no result."""
    fault: ReversiError | None = field(default=None, compare=False)
    """Why the moves stop before those of the text: the next one is illegal or no move; see `read_ggf`."""

    def time(self, black: bool) -> GgfTime | None:
        """Return a side's time, None if there is no limit."""
        return GgfTime.parse(self.tags.get("TB" if black else "TW") or self.tags.get("TI", ""))

    @property
    def actions(self) -> tuple[int, ...]:
        """The actions of the plies."""
        return tuple(move.action for move in self.moves)

    @property
    def positions(self) -> list[Position]:
        """Every position of the game, from the start to the last."""
        positions = [self.start]
        for move in self.moves:
            positions.append(positions[-1].play(move.action))
        return positions

    def __repr__(self) -> str:
        return f"parse_ggf({str(self)!r})"

    def __str__(self) -> str:
        """Return the game as one line of GGF; brackets in tags, which GGF cannot represent, become parentheses."""
        positions, size = self.positions, self.start.game.size
        end = positions[-1]
        cells, side = str(self.start).replace("X", "*").split()
        tags = {"PC": "reversi-zero", "PB": "", "PW": "", **self.tags}
        head = "".join(f"{name}[{text.translate(str.maketrans('[]', '()'))}]" for name, text in tags.items())
        result = f"{end.black_margin:+.3f}" if end.is_over else self.result or "?"
        plies = zip(positions, self.moves, strict=False)
        moves = "".join(f"{'B' if before.black_to_move else 'W'}[{m.text(before.game)}]" for before, m in plies)
        return f"(;GM[Othello]{head}RE[{result}]TY[{size}]BO[{size} {cells} {side}]{moves};)"


def is_ggf(text: str) -> bool:
    """Return whether text in brackets is GGF, as opposed to SGF, which has a number for a game."""
    return _GAME.search(text) is not None


def games_of(text: str) -> list[str]:
    """Return the texts of the games in an archive."""
    return _GAMES.findall(text)


def parse_ggf(text: str) -> GgfGame:
    """Return the first game of `text`, with omitted passes filled in.

    Raises NotationError for text that is not a game of Othello on a supported board, IllegalMoveError for an illegal
    move.
    """
    game = read_ggf(text)
    if game.fault is not None:
        raise game.fault
    return game


def read_ggf(text: str) -> GgfGame:
    """Return the first game of `text` up to its first fault; raises as `parse_ggf` for what is no game."""
    begin = text.find("(;")
    if begin < 0:
        raise NotationError(f"expected a game like (;GM[Othello]...;), got {text[:40]!r}")
    tags: dict[str, str] = {}
    moves: list[tuple[bool, str]] = []
    at = begin + 2
    while match := _TAG.match(text, at):
        name, content, at = match[1].upper(), match[2], match.end()
        if name in ("B", "W"):
            moves.append((name == "B", content))
        else:
            tags[name] = content
    if not re.match(r"\s*;\s*\)", text[at:]):
        raise NotationError(f"expected a tag like B[F5] or ;), got {text[at : at + 40]!r}")
    kind, variant = tags.pop("GM", ""), tags.pop("TY", "8")
    if kind.strip().lower() != "othello" or "a" in variant.lower():
        raise NotationError(f"expected GM[Othello] and no anti-game, got GM[{kind}]TY[{variant}]")
    start = _start(tags.pop("BO", ""))
    result = _result(tags.pop("RE", ""))
    plies, end, fault = _plies(start, moves)
    return GgfGame(start, plies, tags, None if end.is_over else result, fault)


def _plies(start: Position, moves: list[tuple[bool, str]]) -> tuple[tuple[GgfMove, ...], Position, ReversiError | None]:
    """Return the plies up to the first fault, the position after them, and the fault."""
    position, plies = start, list[GgfMove]()
    for black, text in moves:
        try:
            move = GgfMove.parse(start.game, text)
            actions = plies_of(position, move.action, black, text.partition("/")[0].strip())
        except (NotationError, IllegalMoveError) as error:
            return tuple(plies), position, error
        for action in actions:
            plies.append(move if action == move.action else GgfMove(action))
            position = position.play(action)
    return tuple(plies), position, None


def _start(board: str) -> Position:
    """Return the position of a BO tag: the size, the cells, the side to move; blanks between cells are ignored."""
    size = board.split(maxsplit=1)[0] if board.strip() else ""
    try:
        position = Position.parse(board)
    except NotationError:
        position = None
    if position is None or size != str(position.game.size) or position.game.id == TICTACTOE:
        raise NotationError(f"expected a board like BO[8 CELLS *], of size 4, 6 or 8, got {board[:90]!r}")
    return position


def _result(text: str) -> GgfResult | None:
    """Return the result of an RE tag, None for one such as `?`."""
    match = _RESULT.fullmatch(text.strip())
    return None if match is None else GgfResult(float(match[1]), match[2] or "")


def name_of(game: Game, action: int) -> str:
    """Return `F5` or `PA`."""
    name = action_name(game, action)
    return "PA" if name == PASS else name.upper()


def _seconds(text: str) -> float | None:
    """Return a time in seconds, None for an empty text."""
    if not text:
        return None
    days, _, time = text.rpartition(".")
    seconds = 0
    for part in time.split(":"):
        seconds = 60 * seconds + int(part)
    return float(86400 * int(days or 0) + seconds)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
