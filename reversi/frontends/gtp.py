"""GTP (Go Text Protocol) version 2 for Othello: this program as an engine for Quarry, GoGui and other controllers.

The dialect is that of Edax and Egaroucid: columns are letters from the left, rows count from the top (in Go from the
bottom), black begins.  Passes may be sent, or implied by the side that plays next; see docs/protocols.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from reversi import __version__
from reversi.analysis.analyzer import Analysis
from reversi.errors import IllegalMoveError, NotationError, ReversiError
from reversi.formats.sgf import parse_sgf
from reversi.frontends.clocks import Clocks
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.gtp_analysis import AnalyzeRequest, evaluation, variation
from reversi.frontends.gtp_words import GtpError, colour_of, parse_line, real, whole
from reversi.frontends.input_lines import InputLines
from reversi.games.notation import action_name, parse_action
from reversi.games.position import EMPTY, Position
from reversi.games.rules import Game, reversi_of_size

NAME = "reversi-zero"

LARGEST_FILE = 1 << 20
"""Maximum size of a file for `loadsgf`, in bytes: 1 MiB."""

ANALYZE = ("lz-analyze", "kata-analyze")
"""Commands whose response goes on until the next line of input."""

ANALYZE_COMMANDS = """\
gfx/Evaluation/reversi-evaluation %m
string/Principal variation/reversi-variation %m
plist/Legal moves/gogui-rules_legal_moves
string/Board/showboard"""
"""GoGui's menu: type, label and command; %m is the colour to play."""

_INTERRUPT = re.compile(r"\s*#\s*interrupt\s*$")


class Gtp:
    """A GTP engine: reads commands, writes responses, and plays the game of an `EngineSession`."""

    def __init__(self, session: EngineSession, lines: InputLines, say: Callable[[str], None]) -> None:
        """`say` writes a response, which ends with an empty line, and flushes it."""
        self._session, self._lines, self._say = session, lines, say
        self._clocks = Clocks()
        self._commands: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda words: "2",
            "name": lambda words: NAME,
            "version": lambda words: f"{__version__} {session.analyzer.name}",
            "known_command": lambda words: "true" if words[:1] and words[0] in (*self._commands, *ANALYZE) else "false",
            "list_commands": lambda words: "\n".join((*self._commands, *ANALYZE)),
            "quit": lambda words: "",
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": self._undo,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "showboard": lambda words: f"\n{session.position.drawing()}",
            "final_score": self._final_score,
            "loadsgf": self._loadsgf,
            "set_game": self._set_game,
            "list_games": lambda words: "Othello",
            "gogui-interrupt": lambda words: "",
            "gogui-analyze_commands": lambda words: ANALYZE_COMMANDS,
            "reversi-evaluation": lambda words: self._analysed(words, evaluation),
            "reversi-variation": lambda words: self._analysed(words, variation),
            "gogui-rules_game_id": lambda words: "othello",
            "gogui-rules_board": lambda words: rows_from_below(session.position),
            "gogui-rules_board_size": lambda words: str(session.position.game.size),
            "gogui-rules_legal_moves": lambda words: " ".join(session.position.legal_moves()),
            "gogui-rules_side_to_move": lambda words: "black" if session.position.black_to_move else "white",
            "gogui-rules_final_result": self._final_result,
        }

    def serve(self) -> None:
        """Answer every command until `quit` or the end of the input."""
        with closing(self._lines):
            while (line := self._lines.next()) is not None:
                number, words = parse_line(line)
                if not number and not words:
                    continue
                if words[:1] and words[0] in ANALYZE:
                    self._analyze(number, words)
                else:
                    self._say(self._answer(number, words))
                if words[:1] == ["quit"]:
                    return

    def _answer(self, number: str, words: list[str]) -> str:
        try:
            command = self._commands.get(words[0]) if words else None
            if command is None:
                raise GtpError("unknown command")
            sign, text = "=", command(words[1:])
        except (GtpError, ReversiError) as error:
            sign, text = "?", str(error)
        return f"{sign}{number} {text}\n\n"

    def _boardsize(self, words: list[str]) -> str:
        size, game = whole(words, 0), self._session.position.game
        try:
            self._begin(Position.start(game if game.size == size else reversi_of_size(size)))
        except ReversiError as error:
            raise GtpError("unacceptable size") from error
        return ""

    def _clear_board(self, words: list[str]) -> str:
        self._begin(Position.start(self._session.position.game))
        return ""

    def _begin(self, start: Position, actions: Sequence[int] = ()) -> None:
        """Begin a new game, with moves that were made in it, and the clocks reset to their settings."""
        self._session.begin(start, actions)
        self._clocks.restart()

    def _komi(self, words: list[str]) -> str:
        real(words, 0)
        return ""

    def _play(self, words: list[str]) -> str:
        black = colour_of(words)
        if len(words) < 2:
            raise GtpError("syntax error: expected a colour and a move")
        try:
            self._session.play(parse_action(self._session.position.game, words[1]), black, words[1])
        except NotationError as error:
            raise GtpError(f"invalid vertex: {error}") from error
        except IllegalMoveError as error:
            raise GtpError(f"illegal move: {error}") from error
        return ""

    def _genmove(self, words: list[str]) -> str:
        black = colour_of(words)
        analysis = self._choose(black)
        self._clocks.spend(black, analysis.seconds)
        self._session.play(analysis.best.action, black)
        return action_name(self._session.position.game, analysis.best.action)

    def _reg_genmove(self, words: list[str]) -> str:
        """Return the move that `genmove` would play, without changing the game or its clocks."""
        return action_name(self._session.position.game, self._choose(colour_of(words)).best.action)

    def _choose(self, black: bool) -> Analysis:
        """Return the side's analysis, within its time and until an interrupt; the game does not change."""
        with self._turn_of(black):
            limit = self._clocks.limit(self._session.limit, black, self._session.position.empties)
            return self._session.choose(self._interrupted, limit)

    @contextmanager
    def _turn_of(self, black: bool) -> Iterator[None]:
        """Make it the turn of a side meanwhile, by the pass that this implies; raise GtpError if it is not."""
        position = self._session.position
        passed = position.legal_moves() == ["pass"] and position.black_to_move != black
        if passed:
            self._session.play(position.game.pass_action)
        elif not position.is_over and position.black_to_move != black:
            raise GtpError(f"illegal move: it is {'black' if position.black_to_move else 'white'}'s turn")
        try:
            yield
        finally:
            if passed:
                self._session.undo()

    def _interrupted(self) -> bool:
        return self._lines.holds(_is_interrupt)

    def _analyze(self, number: str, words: list[str]) -> None:
        """Respond with a line for every deeper analysis, until a line of input arrives."""
        begun = self._lines.reads
        try:
            request = AnalyzeRequest.parse(words)
            with self._analysis_of(request.black):
                self._say(f"={number}\n")
                for line in request.lines(self._session, self._lines, begun):
                    self._say(f"{line}\n")
        except (GtpError, ReversiError) as error:
            self._say(f"?{number} {error}\n\n")
            return
        self._lines.wait()
        self._say("\n")

    @contextmanager
    def _analysis_of(self, black: bool | None) -> Iterator[None]:
        """Make it the turn of a side, None for the one whose turn it is; raise GtpError if nothing can be analysed."""
        position = self._session.position
        if position.is_over:
            raise GtpError("cannot analyze: the game is over")
        if not self._session.analyzer.uses_limit:
            raise GtpError(f"cannot analyze: {self._session.analyzer.name} only chooses moves")
        with self._turn_of(position.black_to_move if black is None else black):
            yield

    def _analysed(self, words: list[str], describe: Callable[[Game, Analysis], str]) -> str:
        """Return an analysis within the command line's limit, as GoGui shows it."""
        with self._analysis_of(colour_of(words) if words else None):
            analysis = self._session.analyse(self._interrupted)
            return describe(self._session.position.game, analysis)

    def _undo(self, words: list[str]) -> str:
        if not self._session.undo():
            raise GtpError("cannot undo")
        return ""

    def _time_settings(self, words: list[str]) -> str:
        main_s, period_s, stones = (real(words, index) for index in range(3))
        if min(main_s, period_s, stones) < 0:
            raise GtpError("syntax error: expected three numbers from 0")
        self._clocks.set(main_s, period_s, int(stones))
        return ""

    def _time_left(self, words: list[str]) -> str:
        black = colour_of(words)
        left_s, stones = real(words, 1), real(words, 2) if len(words) > 2 else 0.0
        self._clocks.tell(black, max(0.0, left_s), max(0, int(stones)))
        return ""

    def _final_score(self, words: list[str]) -> str:
        position = self._session.position
        if not position.is_over:
            raise GtpError("cannot score: the game is not over")
        margin = position.black_margin
        return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{abs(margin)}"

    def _final_result(self, words: list[str]) -> str:
        position = self._session.position
        if not position.is_over:
            return "unknown: the game is not over"
        margin, discs = position.black_margin, position.game.counts_discs
        count = f", {position.black.bit_count()}-{position.white.bit_count()}" if discs else ""
        if margin == 0:
            return f"draw{count}"
        return f"{'black' if margin > 0 else 'white'} wins{f' by {abs(margin)}' if discs else ''}{count}"

    def _loadsgf(self, words: list[str]) -> str:
        """Load a file, up to before move N if N follows its name; respond with the side to move, as GNU Go does."""
        before_move = int(words[-1]) if len(words) > 1 and words[-1].isdecimal() and len(words[-1]) < 6 else None
        name = " ".join(words if before_move is None else words[:-1]).strip('"')
        try:
            if not Path(name).is_file():  # opening a pipe would block
                raise FileNotFoundError(name)
            with Path(name).open("rb") as file:
                text = file.read(LARGEST_FILE).decode(errors="replace")
        except (OSError, ValueError) as error:
            raise GtpError("cannot load file") from error
        game = parse_sgf(text, before_move)
        self._begin(game.start, game.actions)
        return "black" if self._session.position.black_to_move else "white"

    def _set_game(self, words: list[str]) -> str:
        if " ".join(words).lower() not in ("othello", "reversi"):
            raise GtpError("unsupported game")
        return ""


def rows_from_below(position: Position) -> str:
    """Return the board in GoGui's format, X, O and dots, the row with the highest number first.

    GoGui draws the first line at the top and calls that row N, as in Go; with row 1 first, its row names would not
    match ours (see its GenericBoard.java).
    """
    size, cells = position.game.size, str(position).replace(EMPTY, ".")
    return "\n" + "\n".join(" ".join(cells[row * size : (row + 1) * size]) for row in reversed(range(size)))


def _is_interrupt(line: str) -> bool:
    """Return whether a line interrupts the analysis: GoGui's special comment."""
    return _INTERRUPT.match(line) is not None
