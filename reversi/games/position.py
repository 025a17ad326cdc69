"""`Position`: a position with colours, move names and error messages, over the kernels of `rules`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reversi.errors import IllegalMoveError, NotationError
from reversi.games import rules
from reversi.games.bitboard import Masks
from reversi.games.notation import PASS, action_name, parse_action
from reversi.games.rules import GAMES, UNFINISHED, Game, game_named

BLACK, WHITE, EMPTY = "X", "O", "-"

SYMBOLS = "XOxo*-."
"""What squares are read from: also small letters, GGF's `*` for Black and GoGui's `.` for an empty square."""

SHOWN = 100
"""Characters of a text that a message quotes; a position has 66 at most."""

_READ_AS = str.maketrans("xo*.", "XOX-")


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
        """Read `N*N` characters of `X O -`, row 1 first, blanks, and the side to move; their number determines the
        game.  `x` and `*` are read as `X`, `o` as `O`, `.` as `-`.

        Raises NotationError, also if the position is of another game than `game`.
        """
        game = None if game is None else game_named(game)
        discs, side, *_ = *text.strip().translate(_READ_AS).split(maxsplit=1), "", ""
        shown = text[:SHOWN]
        found = next((each for each in GAMES.values() if each.squares == len(discs)), None)
        if found is None or (game is not None and game is not found):
            sizes = [each.squares for each in GAMES.values() if game in (None, each)]
            expected = f"{' or '.join(map(str, sorted(sizes)))} squares, a space and the side to move"
            raise NotationError(f"expected {expected}, got {len(discs)} squares in {shown!r}")
        if stray := set(discs) - {BLACK, WHITE, EMPTY}:
            raise NotationError(f"expected squares of {BLACK}, {WHITE} and {EMPTY}, got {min(stray)!r} in {shown!r}")
        if side not in (BLACK, WHITE):
            raise NotationError(f"expected {BLACK} or {WHITE} as the side to move, got {side[:SHOWN]!r} in {shown!r}")
        black, white = _mask_of(found, discs, BLACK), _mask_of(found, discs, WHITE)
        return cls(found, black, white) if side == BLACK else cls(found, white, black, False)

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
            expected = "no move, the game is over" if self.is_over else f"one of {', '.join(self.legal_moves())}"
            named = action_name(self.game, action) if 0 <= action < self.game.actions else move
            raise IllegalMoveError(f"expected {expected}; got {named!r} in {str(self)!r}")
        own, opp = rules.play(self.game.id, np.uint64(self.own), np.uint64(self.opp), action)
        return Position(self.game, int(own), int(opp), not self.black_to_move)

    def drawing(self) -> str:
        """Return the board as text: `*` marks legal moves, the last line states the side to move or the result."""
        size, symbols = self.game.size, list(self._symbols())
        for action in self.legal_actions():
            if action != self.game.pass_action:
                symbols[action] = "*"
        lines = ["  " + " ".join("abcdefgh"[:size])]
        lines += [f"{row + 1} " + " ".join(symbols[row * size : (row + 1) * size]) for row in range(size)]
        return "\n".join([*lines, self._summary()])

    def _summary(self) -> str:
        discs = f" ({BLACK} {self.black.bit_count()}, {WHITE} {self.white.bit_count()})"
        count = discs if self.game.counts_discs else ""
        if self.is_over:
            margin = self.black_margin
            winner = "a draw" if margin == 0 else f"{BLACK if margin > 0 else WHITE} wins"
            return f"game over, {winner}{count}"
        must_pass = self.legal_moves() == [PASS]
        return f"{BLACK if self.black_to_move else WHITE} to move{' must pass' if must_pass else ''}{count}"

    def _symbols(self) -> Iterator[str]:
        for square in _squares(self.game):
            yield BLACK if self.black >> square & 1 else WHITE if self.white >> square & 1 else EMPTY

    def _outcome(self) -> int:
        return int(rules.outcome(self.game.id, np.uint64(self.own), np.uint64(self.opp)))


def _squares(game: Game) -> Iterator[int]:
    """Yield the bit number of each square, in the order of the actions."""
    return (8 * row + col for row in range(game.size) for col in range(game.size))


def _mask_of(game: Game, discs: str, symbol: str) -> int:
    return sum(1 << square for square, disc in zip(_squares(game), discs, strict=True) if disc == symbol)
