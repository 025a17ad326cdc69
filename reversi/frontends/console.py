"""A game in the terminal: a person against any player, with undo, hints and announced passes."""

from __future__ import annotations

from collections.abc import Callable

from reversi.errors import EngineError, IllegalMoveError, NotationError
from reversi.games.notation import PASS, action_name, parse_action
from reversi.games.position import BLACK, EMPTY, WHITE, Position
from reversi.games.rules import Game
from reversi.players import Forfeit, HistoryPlayer, Player

HELP = """\
  d3       play there (column letter, row number); * marks where you may
  undo     take your last move back
  hint     what your opponent would play in your place
  moves    the game so far, to paste elsewhere
  resign   give the game up
  quit     leave (so do Ctrl-D and Ctrl-C)
  help     this list"""

UNICODE_DISCS = str.maketrans({BLACK: "●", WHITE: "○", EMPTY: "·"})


class Leave(Exception):
    """Somebody resigned, or the person quit; the message says which."""


class Console:
    """One game between a person and `opponent`; `ask` reads the person's lines, `say` prints positions and messages."""

    def __init__(
        self,
        game: Game,
        opponent: Player,
        *,
        person_is_black: bool,
        ask: Callable[[str], str],
        say: Callable[[str], None],
        unicode: bool,
        first_move: str | None = None,
    ) -> None:
        """`ask(prompt)` returns a line or raises EOFError; `unicode` draws discs instead of letters.

        first_move  the game's first move, already chosen; it cannot be taken back
        """
        self.opponent, self.person_is_black = opponent, person_is_black
        self.position = Position.start(game)
        self.history: list[tuple[Position, str]] = []
        """The positions so far, each with the move played in it."""
        self._ask, self._say, self._unicode = ask, say, unicode
        self._first_move = first_move

    def play(self) -> None:
        """Play until the game is over or somebody leaves; the moves are said in any case.

        Raises EngineError if the opponent fails, and KeyboardInterrupt after Ctrl-C.
        """
        side = "Black" if self.person_is_black else "White"
        self._say(
            f"You are {side} ({self._draw(BLACK if self.person_is_black else WHITE)}) against {self.opponent.name}."
        )
        self._say("Type a move such as d3, or help.")
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
            self._say(f"\n{self._draw(self.position.drawing())}\n{self._result()}")
        finally:
            if self.history:
                self._say(f"The game: {self.moves}")

    @property
    def moves(self) -> str:
        """The transcript so far without passes, as other programs read it."""
        return "".join(move for _, move in self.history if move != PASS)

    def _ply(self) -> None:
        """Play one ply of either side; the person may instead undo, which plays none."""
        mine = self.position.black_to_move == self.person_is_black
        if self.position.legal_moves() == [PASS]:
            self._say("You have no move and pass." if mine else f"{self.opponent.name} has no move and passes.")
            self._move(PASS)
        elif mine:
            self._person()
        else:
            answer = self._choice()
            if isinstance(answer, Forfeit):
                if answer.resigned:
                    raise Leave(f"{self.opponent.name} resigns; you win.")
                raise EngineError(f"{self.opponent.name}: {answer.reason}")
            self._say(f"{self.opponent.name} plays {answer}.")
            self._move(answer)

    def _person(self) -> None:
        """Ask the person until an answer changes the position."""
        self._say(f"\n{self._draw(self.position.drawing())}")
        before = self.position
        while self.position is before:
            self._obey(self._ask("your move: ").strip().lower())

    def _obey(self, line: str) -> None:
        if line in ("help", "?"):
            self._say(HELP)
        elif line == "hint":
            answer = self._choice()
            says = f"has no hint: {answer.reason}" if isinstance(answer, Forfeit) else f"would play {answer}"
            self._say(f"{self.opponent.name} {says}.")
        elif line == "undo":
            self._undo()
        elif line == "moves":
            self._say(self.moves or "no moves yet")
        elif line == "resign":
            raise Leave(f"You resign; {self.opponent.name} wins.")
        elif line in ("quit", "exit", "q"):
            raise Leave("Goodbye.")
        elif line:
            try:
                self._move(line)
            except IllegalMoveError:
                self._say(f"{line} is not legal here; you may play {', '.join(self.position.legal_moves())}")
            except NotationError as error:
                self._say(f"{error}; `help` lists what you can type")

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
        after = self.position.play(move)
        self.history.append((self.position, move))
        self.position = after

    def _choice(self) -> str | Forfeit:
        """Return the move that the opponent would play for the side to move, or why it would not."""
        game = self.position.game
        if not isinstance(self.opponent, HistoryPlayer):
            return action_name(game, int(self.opponent.choose(*self.position.as_batch())[0]))
        (answer,) = self.opponent.choose_after([[parse_action(game, move) for _, move in self.history]])
        return answer if isinstance(answer, Forfeit) else action_name(game, answer)

    def _result(self) -> str:
        margin = self.position.black_margin if self.person_is_black else -self.position.black_margin
        if margin == 0:
            return "A draw."
        return f"You win by {margin}." if margin > 0 else f"{self.opponent.name} wins by {-margin}."

    def _draw(self, text: str) -> str:
        return text.translate(UNICODE_DISCS) if self._unicode else text
