"""`Position`: a position with colours, move names and error messages, over the kernels of `rules`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reversi.errors import IllegalMoveError, NotationError, UsageError
from reversi.games import rules
from reversi.games.bitboard import Masks
from reversi.games.board_svg import board_svg
from reversi.games.notation import PASS, action_name, parse_action, plain, read_side
from reversi.games.rules import GAMES, UNFINISHED, Game, game_named

BLACK, WHITE, EMPTY = "X", "O", "-"

_READ_AS = str.maketrans("xo*bwBW._·・", "XOXXOXO----")

SYMBOLS = frozenset("XO-") | frozenset(map(chr, _READ_AS))
"""What squares are read from: also small letters, B and W, GGF's `*` for Black, GoGui's `.` for an empty square."""

SHOWN = 100
"""Characters of a text that a message quotes; a position has 66 at most."""

_BEFORE = re.compile(r'[\s"\']*(?:BO)?[\s"\']*\[?\s*(?:[3468](?=\s))?\s*', re.IGNORECASE)
"""What may precede the squares: GGF's tag, bracket and size."""

_FEN = re.compile(r"\s*((?:[-xobwp*.1-8]{1,8}/){2,7}[-xobwp*.1-8]{1,8})(?![^\s;])", re.IGNORECASE)
"""Rows as programs of chess write them: a digit is so many empty squares, p is a disc of Black, P of White."""

_AFTER = re.compile(r'(?:(?:\s+-){2}\s+\d+\s+\d+(?![^\s;]))?(?:\s*["\'\]])*')
"""What may follow the side to move: the rest of a FEN, and a bracket."""

_SPARE = 6
"""Symbols of squares that may follow the last square: the side to move, and what follows it."""


@dataclass(frozen=True, slots=True, repr=False)
class Position:
    """One position of one game; immutable, hashable, and equal to any other with the same discs and side to move.

    >>> position = Position.start("reversi6").play("c2")
    >>> str(position)
    '--------X-----XX----XO-------------- O'
    >>> position.legal_moves()
    ['b2', 'd2', 'b4']
    """

    game: Game
    own: int
    """Discs of the side to move: bit 8*row + col."""

    opp: int
    """Discs of the other side."""

    black_to_move: bool = True

    @classmethod
    def start(cls, game: Game | str) -> Position:
        """Return a game's start position, Black to move."""
        game = game_named(game)
        return cls(game, game.start_own, game.start_opp)

    @classmethod
    def parse(cls, text: str, game: Game | str | None = None) -> Position:
        """Return the position that `text` is, as `read_position` reads it; NotationError also if more follows."""
        position, end = read_position(text, game)
        if text[end:].strip():
            side = text[_squares_end(text, position.game) :].strip()
            raise NotationError(f"{_EXPECTED_SIDE}, got {side[:SHOWN]!r} in {text[:SHOWN]!r}")
        return position

    def __str__(self) -> str:
        """Return the position in the format of `parse`."""
        return "".join(self._symbols()) + " " + (BLACK if self.black_to_move else WHITE)

    def __repr__(self) -> str:
        return f"Position.parse({str(self)!r})"

    @property
    def black(self) -> int:
        """Black's discs as a mask."""
        return self.own if self.black_to_move else self.opp

    @property
    def white(self) -> int:
        """White's discs as a mask."""
        return self.opp if self.black_to_move else self.own

    @property
    def empties(self) -> int:
        """The number of empty squares."""
        return self.game.squares - (self.own | self.opp).bit_count()

    @property
    def is_over(self) -> bool:
        """Whether neither side can play (tic-tac-toe: three in a row or a full board)."""
        return self._outcome() != UNFINISHED

    @property
    def margin(self) -> int:
        """Current discs of the side to move minus the other side's (tic-tac-toe: 1 won, -1 lost, else 0)."""
        result = self._outcome()
        if result != UNFINISHED:
            return result
        return self.own.bit_count() - self.opp.bit_count() if self.game.counts_discs else 0

    @property
    def black_margin(self) -> int:
        """`margin` from Black's view."""
        return self.margin if self.black_to_move else -self.margin

    def as_batch(self) -> tuple[Masks, Masks]:
        """Return (own, opp) as arrays, uint64[1] each."""
        return np.array([self.own], np.uint64), np.array([self.opp], np.uint64)

    def legal_actions(self) -> list[int]:
        """Return the legal actions in ascending order: [pass] if there is no move, [] if the game is over."""
        mask = int(rules.legal_moves(self.game.id, np.uint64(self.own), np.uint64(self.opp)))
        if mask == 0:
            return [] if self.is_over else [self.game.pass_action]
        return [action for action, square in enumerate(_squares(self.game)) if mask >> square & 1]

    def legal_moves(self) -> list[str]:
        """Return the names of the legal actions: `d3`, or `["pass"]`, or [] if the game is over."""
        return [action_name(self.game, action) for action in self.legal_actions()]

    def play(self, move: str | int) -> Position:
        """Return the position after a move, given by name or as an action.

        Raises NotationError if the board has no such square, IllegalMoveError if the move is not legal here.
        """
        action = parse_action(self.game, move) if isinstance(move, str) else int(move)
        if action not in self.legal_actions():
            known = not isinstance(move, str) and 0 <= action < self.game.actions
            raise self.refusal(action_name(self.game, action) if known else move)
        own, opp = rules.play(self.game.id, np.uint64(self.own), np.uint64(self.opp), action)
        return Position(self.game, int(own), int(opp), not self.black_to_move)

    def expect_move(self) -> None:
        """Raise UsageError unless this is a position of its game in which there is a move to play."""
        discs = self.own | self.opp
        if self.own & self.opp or discs != discs & self.game.board_mask:
            masks = f"own={self.own:#x}, opp={self.opp:#x}"
            raise UsageError(f"expected discs on squares of {self.game.name}, one on each at most, got {masks}")
        if self.is_over:
            raise UsageError(f"expected a position with a move to play, the game is over in {str(self)!r}")

    def expect_game(self, game: Game) -> None:
        """Raise UsageError unless this is a position of `game`."""
        if self.game != game:
            raise UsageError(f"expected a position of {game.name}, got one of {self.game.name}")

    def refusal(self, move: str | int) -> IllegalMoveError:
        """Return the error for a move that is not legal here, as it was given."""
        expected = "no move, the game is over" if self.is_over else f"one of {', '.join(self.legal_moves())}"
        return IllegalMoveError(f"expected {expected}; got {move!r} in {str(self)!r}")

    def drawing(self, last: str | None = None, *, marks: bool = True) -> str:
        """Return the board as text; the last line states the side to move or the result.

        last   a move that is marked by brackets, such as the one that led here
        marks  whether * marks the legal moves
        """
        size, symbols = self.game.size, list(self._symbols())
        for action in self.legal_actions() if marks else ():
            if action != self.game.pass_action:
                symbols[action] = "*"
        lines = ["  " + " ".join("abcdefgh"[:size])]
        lines += [f"{row + 1} " + " ".join(symbols[row * size : (row + 1) * size]) for row in range(size)]
        if last is not None and last != PASS:
            row, column = divmod(parse_action(self.game, last), size)
            line, at = f"{lines[row + 1]} ", 2 * column + 1
            lines[row + 1] = f"{line[:at]}[{line[at + 1]}]{line[at + 3 :]}".rstrip()
        return "\n".join([*lines, self._summary(BLACK, WHITE)])

    def picture(self, marks: Mapping[int, str] | None = None) -> str:
        """Return the board as SVG.

        marks  texts on empty squares, by action; by default dots in the colour of the side to move on legal moves
        """
        if marks is None:
            marks = dict.fromkeys(self.legal_actions(), BLACK if self.black_to_move else WHITE)
        return board_svg("".join(self._symbols()), self.game.size, marks, self._summary("Black", "White"))

    def _repr_svg_(self) -> str:
        """Return the picture that notebooks show."""
        return self.picture()

    def _summary(self, black: str, white: str) -> str:
        discs = f" ({black} {self.black.bit_count()}, {white} {self.white.bit_count()})"
        count = discs if self.game.counts_discs else ""
        if self.is_over:
            margin = self.black_margin
            winner = "a draw" if margin == 0 else f"{black if margin > 0 else white} wins"
            return f"game over, {winner}{count}"
        must_pass = self.legal_moves() == [PASS]
        return f"{black if self.black_to_move else white} to move{' must pass' if must_pass else ''}{count}"

    def _symbols(self) -> Iterator[str]:
        for square in _squares(self.game):
            yield BLACK if self.black >> square & 1 else WHITE if self.white >> square & 1 else EMPTY

    def _outcome(self) -> int:
        return int(rules.outcome(self.game.id, np.uint64(self.own), np.uint64(self.opp)))


_EXPECTED_SIDE = f"expected {BLACK} or {WHITE} as the side to move"


def begins_position(text: str) -> bool:
    """Return whether `text` begins like a position, perhaps one with a fault, and not like moves."""
    return len(_discs(text)[0]) >= _FEWEST or _FEN.match(plain(text[:_LONGEST])) is not None


def read_position(text: str, game: Game | str | None = None) -> tuple[Position, int]:
    """Return the position that `text` begins with, and where it ends.

    A position is `N*N` squares of `X O -`, or others of `SYMBOLS`, row 1 first, and the side to move as `parse_side`
    reads it; blanks and slashes may separate rows.  Rows with digits, or with p and P, are those of a FEN, which begins
    with the last row if it has p and P.  The number of squares determines the game.

    Raises NotationError, also if the position is of another game than `game`.
    """
    game = None if game is None else game_named(game)
    discs, ends = _discs(text)
    games = [each for each in GAMES.values() if game in (None, each)]
    found = next((each for each in games if each.squares <= len(discs) <= each.squares + _SPARE), None)
    side, length = (None, 0) if found is None else read_side(text[ends[found.squares - 1] :])
    if found is not None and side is not None:
        discs, end = discs[: found.squares], ends[found.squares - 1] + length
        black, white = _mask_of(found, discs, BLACK), _mask_of(found, discs, WHITE)
        after = _AFTER.match(text, end)
        assert after is not None
        return Position(found, *((black, white) if side else (white, black)), side), after.end()
    raise NotationError(f"{_fault(text, games)} in {text[:SHOWN]!r}")


def _fault(text: str, games: Sequence[Game]) -> str:
    """Return what was expected of the position that `text` should begin with, and what is there."""
    before = _BEFORE.match(text)
    assert before is not None
    word = plain(text[before.end() : before.end() + _LONGEST]).partition(" ")[0]
    if len(word) not in [each.squares for each in games]:
        count = len(word) if len(word) > max(each.size for each in games) else len(_discs(text)[0])
        *sizes, most = (str(size) for size in sorted(each.squares for each in games))
        squares = f"{', '.join(sizes)} or {most}" if sizes else most
        return f"expected {squares} squares, a space and the side to move, got {count} squares"
    given = text[before.end() : before.end() + len(word)]
    if stray := [letter for letter, read in zip(given, word, strict=True) if read not in SYMBOLS]:
        return f"expected squares of {BLACK}, {WHITE} and {EMPTY}, got {stray[0]!r}"
    return f"{_EXPECTED_SIDE}, got {text[before.end() + len(word) :].strip()[:SHOWN]!r}"


def _squares_end(text: str, game: Game) -> int:
    """Return where the squares end of a position of `game` that `text` begins with."""
    return _discs(text)[1][game.squares - 1]


def _discs(text: str) -> tuple[str, list[int]]:
    """Return the squares that `text` begins with, as X, O and -, at most a few more than any game has; their ends."""
    written = plain(text[:_LONGEST])
    fen = _FEN.match(written)
    if fen is not None and not set(fen[1]) <= SYMBOLS | {"/"}:
        rows = re.sub("[1-8]", lambda digit: "-" * int(digit[0]), fen[1]).split("/")
        if {"p", "P"} & set(fen[1]):
            rows = [row.replace("p", BLACK).replace("P", WHITE) for row in reversed(rows)]
        if all(len(row) == len(rows) for row in rows):
            discs = "".join(rows).translate(_READ_AS)
            return discs, [fen.end()] * len(discs)
    before = _BEFORE.match(written)
    assert before is not None
    run = _RUN.match(written, before.end())
    assert run is not None
    ends = [end for end, symbol in enumerate(run[0], before.end() + 1) if symbol in SYMBOLS][:_MOST]
    return "".join(written[end - 1] for end in ends).translate(_READ_AS), ends


_RUN = re.compile(rf"[{re.escape(''.join(sorted(SYMBOLS)))}\s/|]*")
"""Squares, and what may separate rows."""

_LONGEST = 1000
"""Characters of a text that may hold the squares of a position."""

_FEWEST = min(each.squares for each in GAMES.values())
_MOST = max(each.squares for each in GAMES.values()) + _SPARE + 1


def _squares(game: Game) -> Iterator[int]:
    """Yield the bit number of each square, in the order of the actions."""
    return (8 * row + col for row in range(game.size) for col in range(game.size))


def _mask_of(game: Game, discs: str, symbol: str) -> int:
    return sum(1 << square for square, disc in zip(_squares(game), discs, strict=True) if disc == symbol)
