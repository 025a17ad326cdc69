"""Words of games: moves (`d3`, `pass`), sides (`black`), and the moves of a transcript (`f5d6c3`, `1. f5 d6 34-30`).

Programs and people write them in many ways; every reader and protocol knows those that are listed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reversi.errors import NotationError
from reversi.games.rules import Game

PASS = "pass"

PASSES = (PASS, "pa", "ps", "tt", "@@@@", "--")
"""A pass as programs write it: GGF and NBoard, Edax, Go's SGF, XBoard, boards of tournaments."""

SIDES = {"black": True, "b": True, "x": True, "*": True, "white": False, "w": False, "o": False}
"""Words for a side, in small letters: whether it is Black."""

SQUARE_PASS, HYPHENS = 64, 65
"""A pass in `Spelled.codes`; and `--`, which is a pass if one is due and otherwise only separates moves."""

SHOWN = 8
"""Characters of unreadable text that a message quotes."""

SQUARE = re.compile("[a-h][1-8]", re.IGNORECASE)
"""A square of the largest board."""

_COLUMNS = "abcdefgh"

_PLAIN: dict[int, int | str] = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full width
    | dict.fromkeys((0xAD, *range(0x200B, 0x2010), 0x2060, 0xFEFF), " ")  # invisible
    | dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0x2500, 0x2501, 0x30FC, 0xFE58, 0xFE63), "-")
    | dict.fromkeys((0xAB, 0xBB, *range(0x2018, 0x2020), 0x2039, 0x203A, *range(0x300C, 0x3010)), '"')
    | dict.fromkeys(map(ord, "、。…"), ",")
    | dict.fromkeys(map(ord, "●⚫⬤■◼⚉"), "X")
    | dict.fromkeys(map(ord, "○⚪◯□◻⚆"), "O")
)

_BETWEEN = r"""(?>
      (?:(?:black|white)\s+(?:wins?|won)(?:\s+by\s+\d\d?)?|draw)[\s".]*\Z
    | (?:(?:black|white)\s+(?:wins?|won)(?:\s+by)?[\s:,]*|(?:draw|result|score|final)[\s:=,]*)*
      \(?(?>\d\d?\s?[-:]\s?\d\d?|1/2-1/2|½-½|(?<![^\s(])[+-]\d\d?|\*|[bw]\+(?:\d\d?|r|t)?)\)?[\s"'`.]*\Z  # the result
    | [.;]+\s*\Z  # the end of a sentence
    | [\s,"'`|\[\]]+ | (?<!-)-(?!-) | -{3,}  # blanks, commas, quotes
    | \(?\d{1,3}[.):]+ | (?<!\S)\d{1,3}(?=\s) | \.{2,}  # numbers of moves
    | [\#%][^\n]* | \{[^}]*\}  # comments
    )*+"""
"""What may be between moves, and the result after the last."""

_SEPARATORS = re.compile(_BETWEEN, re.IGNORECASE | re.VERBOSE)

_MOVE = re.compile(
    rf"{_BETWEEN}(?:([a-h][1-8])|((?:{PASS}|pa|ps|tt)(?![i-z]|[a-h](?![1-8]))|@@@@)|(--))", re.IGNORECASE | re.VERBOSE
)

_CODES = {f"{col}{row + 1}": 8 * row + at for row in range(8) for at, col in enumerate(_COLUMNS)}
_CODES |= {name.upper(): code for name, code in _CODES.items()}

_SIDE = re.compile(
    rf"""\s*\(?(?:(?:side|turn|next|player|to\s+(?:move|play))\s*[:=]\s*)?
    ({"|".join(map(re.escape, SIDES))})
    (?:['"]?s)?(?:\s+(?:to\s+(?:move|play)|turn|moves|plays))?\)?[.:]?(?![a-z0-9*.-])""",
    re.IGNORECASE | re.VERBOSE,
)

_QUOTES = " \t\r\n\"'`"


def plain(text: str) -> str:
    """Return text of the same length in which other forms of letters, hyphens, quotes and discs are those of ASCII."""
    return text if text.isascii() else text.translate(_PLAIN)


def action_name(game: Game, action: int) -> str:
    """Return `d3` (column letter, row number from the top) or `pass`."""
    assert 0 <= action <= game.pass_action, f"action {action} of {game.name}"
    if action == game.pass_action:
        return PASS
    row, col = divmod(action, game.size)
    return f"{_COLUMNS[col]}{row + 1}"


def parse_action(game: Game, text: str) -> int:
    """Return the action named `text`, in upper or lower case; NotationError if the board has no such square."""
    name = plain(text).strip(_QUOTES).lower()
    if name in PASSES:
        return game.pass_action
    if len(name) == 2 and name[0] in _COLUMNS[: game.size] and name[1] in "12345678"[: game.size]:
        return (ord(name[1]) - ord("1")) * game.size + _COLUMNS.index(name[0])
    raise off_board(game, text)


def off_board(game: Game, text: str) -> NotationError:
    """Return the error for text that names no square of the board."""
    corner = action_name(game, game.squares - 1)
    return NotationError(f"expected a square from a1 to {corner} or {PASS}, got {text!r}")


def parse_side(text: str) -> bool | None:
    """Return whether `text` names Black, as in `b`, `X` or `Black to move`; None if it names no side."""
    side, end = read_side(text)
    return None if text[end:].strip() else side


def read_side(text: str) -> tuple[bool | None, int]:
    """Return the side that `text` begins with, as `parse_side`, and where its words end; None and 0 if it has none."""
    match = _SIDE.match(plain(text))
    return (None, 0) if match is None else (SIDES[match[1].lower()], match.end())


@dataclass(frozen=True)
class Spelled:
    """The moves that a text writes, on no board yet."""

    codes: list[int]
    """Squares of 8x8, row by row, SQUARE_PASS or HYPHENS."""
    places: list[int]
    """Where in the text each begins; of text that is no move, one more."""

    def is_read(self) -> bool:
        """Return whether all of the text could be read."""
        return len(self.codes) == len(self.places)


def spell(text: str) -> Spelled:
    """Read moves in upper or lower case, up to the first text that is none.

    Blanks, commas, hyphens and quotes may separate them; they may be numbered, as in `1. f5 d6 2. c3`; passes may be
    written or omitted; comments in braces or from # or % to the end of a line, and the result after the last move, are
    passed over.
    """
    written = plain(text)
    codes, places, at = list[int](), list[int](), 0
    while (match := _MOVE.match(written, at)) is not None:
        kind = match.lastindex or 0
        codes.append(_CODES[match[1]] if kind == 1 else SQUARE_PASS if kind == 2 else HYPHENS)
        places.append(match.start(kind))
        at = match.end()
    rest = _SEPARATORS.match(written, at)
    assert rest is not None
    if rest.end() < len(written):
        places.append(rest.end())
    return Spelled(codes, places)


def quoted(text: str, place: int) -> str:
    """Return what a message quotes of the text of a move, or of something else, at `place`."""
    match = _MOVE.match(plain(text), place)
    return (
        text[place : place + SHOWN]
        if match is None or match.start(match.lastindex or 0) > place
        else text[place : match.end()]
    )
