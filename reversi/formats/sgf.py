"""SGF, the Smart Game Format: the main lines of the games of Othello in a file.

    (;GM[2]FF[4]SZ[8];B[f5];W[d6]...)

It reads GM (2, Othello), SZ (8 if missing), AB, AW and PL of the first node (a set-up position; without discs the usual
start), its texts, such as PB, PW, PC and RE (the players, the place, the result), and the moves B and W.  A point is a
column letter and a row number (`d3`) or two letters (`dc`), rows counted from the top; set-up discs may be rectangles
of them (`aa:bb`).  An empty point is a pass, as are the words of other programs, `PA` of Edax, `@@@@` of OthelloTk,
`tt`.  Other properties and all variations but the first are ignored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reversi.errors import IllegalMoveError, NotationError, ReversiError
from reversi.games.notation import parse_action, parse_side, plain
from reversi.games.passes import plies_of
from reversi.games.position import BLACK, EMPTY, WHITE, Position
from reversi.games.rules import Game, reversi_of_size

OTHELLO = "2"

ENDINGS = {"r": "resigned", "t": "lost on time", "f": "forfeited"}
"""How a game may end before it is over, as in RE[B+R] or RE[W+Time] (https://www.red-bean.com/sgf/properties.html)."""

_BRACKET = re.compile(r"[()]|\[(?:[^\]\\]|\\.|\\\Z)*", re.DOTALL)
"""A bracket of the tree, or the text of a value, closed or not: so no text is looked at twice."""

_TOKEN = re.compile(r"\s*(?:([;()])|([A-Za-z]+)|\[((?:[^\]\\]|\\.)*)\])", re.DOTALL)

_RESULT = re.compile(r"([BW])\+(\d{1,2}(?:\.\d{1,6})?)?(?:([RTF])[a-z]*)?|0|draw", re.ASCII | re.IGNORECASE)

_ESCAPE = re.compile(r"\\(?:\r?\n|(.))", re.DOTALL)
"""An escaped character, or an escaped line break, which is not of the text."""

Node = dict[str, list[str]]


@dataclass(frozen=True)
class SgfResult:
    """The result of a game that was not played to its end."""

    black_margin: float
    """Black's discs minus White's, as it was counted; infinite for a win that was not."""
    how: str = ""
    """How it ended, a key of `ENDINGS`; "" if unknown."""


@dataclass(frozen=True)
class SgfGame:
    """The main line of a game: its start position, its plies with every pass, and the tags of its first node."""

    start: Position
    actions: tuple[int, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    """The first texts of the first node's properties, such as PB and PW, the players."""
    result: SgfResult | None = None
    """The result of a game that was not played to its end; None if it was, or has no result."""
    fault: ReversiError | None = field(default=None, compare=False)
    """Why the moves stop before those of the text: the next one is illegal or no move; see `read_sgf`."""


def games_of(text: str) -> list[str]:
    """Return the texts of the games of a collection, at least one: `text` itself if there is none."""
    games, depth, begin = list[str](), 0, 0
    for match in _BRACKET.finditer(text, max(0, text.find("("))):
        if match[0] == "(":
            begin = begin if depth else match.start()
            depth += 1
        elif match[0] == ")" and depth:
            depth -= 1
            if depth == 0:
                games.append(text[begin : match.end()])
    if depth:
        games.append(text[begin:])
    return games or [text]


def parse_sgf(text: str, before_move: int | None = None) -> SgfGame:
    """Return the first game's main line, all of it or only the part before move `before_move` (counted from 1).

    Raises NotationError for text that is not a game of Othello, IllegalMoveError for an illegal move.
    """
    game = read_sgf(text, before_move)
    if game.fault is not None:
        raise game.fault
    return game


def read_sgf(text: str, before_move: int | None = None) -> SgfGame:
    """Return the first game's main line up to its first fault; raises as `parse_sgf` for what is no game."""
    nodes = _main_line(text)
    root = nodes[0]
    if [text.strip() for text in root.get("GM", [])] != [OTHELLO]:
        raise NotationError(f"expected a game of Othello, GM[2], got GM{root.get('GM', [])}")
    start = _start(root)
    moves = [(side == "B", point) for node in nodes for side in ("B", "W") for point in node.get(side, [])]
    actions, end, fault = _plies(start, moves if before_move is None else moves[: max(0, before_move - 1)])
    tags = {name: _ESCAPE.sub(r"\1", texts[0]) for name, texts in root.items()}
    return SgfGame(start, actions, tags, None if end.is_over else _result(tags.get("RE", "")), fault)


def _plies(start: Position, moves: list[tuple[bool, str]]) -> tuple[tuple[int, ...], Position, ReversiError | None]:
    """Return the actions up to the first fault, the position after them, and the fault."""
    position, actions = start, list[int]()
    for black, point in moves:
        try:
            plies = plies_of(position, _action(start.game, point), black, point.strip())
        except (NotationError, IllegalMoveError) as error:
            return tuple(actions), position, error
        for action in plies:
            actions.append(action)
            position = position.play(action)
    return tuple(actions), position, None


def _main_line(text: str) -> list[Node]:
    """Return the properties of every node down to the end of the first branch."""
    at, name, nodes = max(0, text.find("(")), "", list[Node]()
    while match := _TOKEN.match(text, at):
        mark, word, content = match.groups()
        at = match.end()
        if mark == ")":
            break
        if mark == ";":
            nodes.append({})
        elif word is not None:
            name = "".join(letter for letter in word if letter.isupper())
        elif content is not None:
            if not nodes:
                break
            nodes[-1].setdefault(name, []).append(content)
    if not nodes:
        raise NotationError(f"expected a game like (;GM[2]SZ[8];B[f5]), got {text[:40]!r}")
    return nodes


def _start(root: Node) -> Position:
    written = "".join(root.get("SZ", ["8"]))
    sizes = {size.strip() for size in written.split(":", 1)}  # columns and rows, which may differ
    if len(sizes) != 1 or not sizes <= {"4", "6", "8"}:
        raise NotationError(f"expected a board of size 4, 6 or 8, got SZ[{written[:40]}]")
    game = reversi_of_size(int(sizes.pop()))
    start = Position.start(game)
    if "AB" in root or "AW" in root:
        cells = [EMPTY] * game.squares
        for side, symbol in (("AB", BLACK), ("AW", WHITE)):
            for point in root.get(side, []):
                for action in _rectangle(game, point):
                    if action >= game.pass_action or cells[action] != EMPTY:
                        raise NotationError(f"expected one disc on one square, got {side}[{point}]")
                    cells[action] = symbol
        start = Position.parse("".join(cells) + f" {BLACK}", game)
    if parse_side("".join(root.get("PL", ["B"]))) is False:
        return Position(game, start.white, start.black, False)
    return start


def _result(text: str) -> SgfResult | None:
    """Return the result of RE, None for one such as `?` or `Void`."""
    match = _RESULT.fullmatch(text.strip())
    if match is None:
        return None
    winner, discs, how = match.groups("")
    margin = 0.0 if not winner else float(discs) if discs else math.inf
    return SgfResult(margin if winner.upper() != "W" else -margin, how.lower())


def _rectangle(game: Game, points: str) -> list[int]:
    """Return the actions of a point, or of the rectangle between two corners."""
    first, _, last = points.partition(":")
    if not last:
        return [_action(game, first)]
    (top, left), (bottom, right) = (divmod(_action(game, corner), game.size) for corner in (first, last))
    return [row * game.size + col for row in range(top, bottom + 1) for col in range(left, right + 1)]


def _action(game: Game, point: str) -> int:
    if not point.strip():
        return game.pass_action
    try:
        return parse_action(game, point)
    except NotationError:
        letters, name = "abcdefgh"[: game.size], plain(point).strip().lower()
        if len(name) != 2 or not set(name) <= set(letters):
            raise
        return letters.index(name[1]) * game.size + letters.index(name[0])
