"""A game in the terminal: a person against any player, with undo, hints, announced passes and saved games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill, wrap

from reversi.analysis.analyzer import Analysis, Analyzer, Limit
from reversi.errors import EngineError, IllegalMoveError, NotationError
from reversi.files import write_output
from reversi.formats.ggf import GgfGame, GgfMove, GgfResult
from reversi.frontends.board import Style, draw, side
from reversi.games.notation import PASS, action_name, parse_action
from reversi.games.position import Position
from reversi.games.rules import TICTACTOE
from reversi.players import AnyPlayer, Forfeit, HistoryPlayer

HINTS = 3
"""Moves that `hint` shows without a number."""

HELP = f"""\
  {{move}}         play there: column letter, row number
             (* marks where you may, [ ] the last move)
  undo       take your last move back
  hint [N]   the {HINTS} best moves, or N, with values, or your opponent's choice
  moves      the game so far, to paste elsewhere
  save FILE  write the game so far to FILE in GGF; --start FILE goes on with it
  resign     give the game up
  quit       leave (so do Ctrl-D and Ctrl-C)
  help       this list"""
"""What can be typed; `move` is legal in the position."""


class Leave(Exception):
    """Somebody resigned, or the person quit; the message says which."""


class Console:
    """One game between a person and `opponent`; `ask` reads the person's lines, `say` prints positions and messages."""

    def __init__(
        self,
        start: Position,
        opponent: AnyPlayer,
        *,
        person_is_black: bool,
        ask: Callable[[str], str],
        say: Callable[[str], None],
        style: Style,
        moves: Sequence[str] = (),
        first_move: str | None = None,
        analyzer: Callable[[], Analyzer | None] = lambda: None,
    ) -> None:
        """`ask(prompt)` returns a line or raises EOFError; `style` is how boards are drawn.

        moves       the moves of the game so far, from `start`, passes included; they may be taken back
        first_move  the next move, already chosen; it cannot be taken back
        analyzer    returns what evaluates moves for hints, once one is asked for; None asks the opponent for its move
        """
        self.opponent, self.person_is_black = opponent, person_is_black
        self.start = self.position = start
        self.history: list[tuple[Position, str]] = []
        """The positions so far, each with the move played in it."""
        for move in moves:
            self._move(move)
        self._ask, self._say, self._style = ask, say, style
        self._first_move = first_move
        self._analyzer_of = analyzer
        self._analyzer: Analyzer | None = None
        self._advised = False
        self._given_up: GgfResult | None = None

    def play(self) -> bool:
        """Play until the game is over or somebody leaves; the moves are said in any case.

        Returns whether the game has a result: by its end, or as somebody resigned.  Raises EngineError if the opponent
        fails, and KeyboardInterrupt after Ctrl-C.
        """
        self._say(f"You are {side(black=self.person_is_black, style=self._style)} against {self.opponent.name}.")
        if self.history:
            self._say(f"The game so far: {self.moves}")
        if self._first_move is not None:
            self._say(f"The first move is {self._first_move}, at random.")
            self._move(self._first_move)
        try:
            while not self.position.is_over:
                self._ply()
        except EOFError:
            self._say("\nGoodbye.")
        except KeyboardInterrupt:
            self._say("\nGoodbye.")
            raise
        except Leave as leave:
            self._say(str(leave))
        else:
            self._show()
        finally:
            if self.history:
                begun = "" if self.start == Position.start(self.start.game) else f" from {str(self.start)!r}"
                self._say(f"The game{begun}: {self.moves}")
        return self.position.is_over or self._given_up is not None

    @property
    def moves(self) -> str:
        """The transcript so far without passes, as other programs read it."""
        return "".join(move for _, move in self.history if move != PASS)

    def record(self) -> GgfGame:
        """Return the game so far."""
        names = ["you", self.opponent.name]
        black, white = names if self.person_is_black else names[::-1]
        moves = tuple(GgfMove(parse_action(self.start.game, move)) for _, move in self.history)
        return GgfGame(self.start, moves, {"PB": black, "PW": white}, self._given_up)

    def _ply(self) -> None:
        """Play one ply of either side; the person may instead undo, which plays none."""
        mine = self.position.black_to_move == self.person_is_black
        if self.position.legal_moves() == [PASS]:
            if mine:
                self._show()
            self._say("You have no move and pass." if mine else f"{self.opponent.name} has no move and passes.")
            self._move(PASS)
        elif mine:
            self._person()
        else:
            answer = self._choice()
            if isinstance(answer, Forfeit):
                if answer.resigned:
                    self._give_up(by_person=False)
                    raise Leave(f"{self.opponent.name} resigns; you win.")
                raise EngineError(f"{self.opponent.name}: {answer.reason}")
            self._say(f"{self.opponent.name} plays {answer}.")
            self._move(answer)

    def _person(self) -> None:
        """Ask the person until an answer changes the position, and show what they played."""
        self._show()
        if not self._advised:
            self._say(f"Type a move such as {self.position.legal_moves()[0]}, or help.")
            self._advised = True
        before, plies = self.position, len(self.history)
        while self.position is before:
            self._obey(self._ask("your move: ").strip())
        if len(self.history) > plies and not self.position.is_over:
            self._show(marks=False)

    def _show(self, *, marks: bool = True) -> None:
        """Show the board, the last move in brackets, and at the end of the game who won."""
        last = self.history[-1][1] if self.history else None
        margin = self.position.black_margin if self.person_is_black else -self.position.black_margin
        won = " You win." if margin > 0 else " You lose." if margin < 0 else ""
        self._say(f"\n{draw(self.position, self._style, last, marks=marks)}{won if self.position.is_over else ''}")

    def _obey(self, typed: str) -> None:
        line = typed.lower()
        word = line.partition(" ")[0]
        if line in ("help", "?"):
            self._say(HELP.format(move=self.position.legal_moves()[0]))
        elif word == "hint":
            self._hint(typed[len(word) :].strip())
        elif word == "save":
            self._save(typed[len(word) :].strip())
        elif line == "undo":
            self._undo()
        elif line == "moves":
            self._say(self.moves or "no moves yet")
        elif line == "resign":
            self._give_up(by_person=True)
            raise Leave(f"You resign; {self.opponent.name} wins.")
        elif line in ("quit", "exit", "q"):
            raise Leave("Goodbye.")
        elif line:
            try:
                self._move(typed)
            except IllegalMoveError:
                legal = ", ".join(self.position.legal_moves())
                self._say(fill(f"{typed} is not legal here; you may play {legal}", get_terminal_size().columns))
            except NotationError:
                self._say(f"expected a move such as {self.position.legal_moves()[0]}, or `help`; got {typed!r}")

    def _hint(self, number: str) -> None:
        """Say the best moves with their values, or what the opponent would play where nothing evaluates moves."""
        if number and not (number.isascii() and number.isdecimal() and 0 < int(number[:4]) < 1000):
            self._say(f"expected a number of moves from 1, as in `hint 5`; got {number!r}")
            return
        if self._analyzer is None:
            self._analyzer = self._analyzer_of()
        if self._analyzer is None:
            answer = self._choice()
            says = f"has no hint: {answer.reason}" if isinstance(answer, Forfeit) else f"would play {answer}"
            self._say(f"{self.opponent.name} {says}.")
            return
        analysis = self._analyzer.analyse(self.position, Limit(), lambda: False)
        if not _evaluates(analysis):
            self._say(f"{self.opponent.name} would play {action_name(self.start.game, analysis.best.action)}.")
            return
        if analysis.best.score is None:
            self._say(f"Values by {self._analyzer.name}:")
        for move in analysis.moves[: int(number or HINTS)]:
            line = f"  {move.summary(self.start.game)}"
            self._say(wrap(line, get_terminal_size().columns, max_lines=1, placeholder=" ...")[0])

    def _save(self, name: str) -> None:
        """Write the game so far to a file."""
        if not name:
            self._say("expected a file, as in `save game.ggf`")
        elif self.start.game.id == TICTACTOE:
            self._say(f"expected a game of Reversi to save in GGF, this is {self.start.game.name}")
        else:
            try:
                write_output(Path(name), f"{self.record()}\n".encode())
            except OSError as error:
                self._say(f"{name}: {error.strerror or error}")
            else:
                self._say(f"Saved to {name}.")

    def _give_up(self, *, by_person: bool) -> None:
        """Note the result of a game that one side resigns: the whole board."""
        squares = self.start.game.squares
        self._given_up = GgfResult(-squares if self.person_is_black == by_person else squares, "r")

    def _undo(self) -> None:
        """Go back to the person's last decision, over the opponent's reply and forced passes."""
        given = 0 if self._first_move is None else 1
        for back in range(len(self.history) - 1, given - 1, -1):
            position, move = self.history[back]
            if position.black_to_move == self.person_is_black and move != PASS:
                self.position = position
                del self.history[back:]
                return
        self._say("There is nothing to undo.")

    def _move(self, move: str) -> None:
        action = parse_action(self.start.game, move)
        after = self.position.play(move)
        self.history.append((self.position, action_name(self.start.game, action)))
        self.position = after

    def _choice(self) -> str | Forfeit:
        """Return the move that the opponent would play for the side to move, or why it would not."""
        game = self.position.game
        if not isinstance(self.opponent, HistoryPlayer):
            return action_name(game, int(self.opponent.choose(*self.position.as_batch())[0]))
        (answer,) = self.opponent.choose_after([[parse_action(game, move) for _, move in self.history]])
        return answer if isinstance(answer, Forfeit) else action_name(game, answer)


def _evaluates(analysis: Analysis) -> bool:
    """Return whether an analysis says more than which move to play."""
    return analysis.best.value is not None or analysis.best.score is not None
