"""The NBoard protocol, version 2: this program as an engine for the NBoard GUI and compatible programs.

Each line is a command; unknown commands are ignored.  `ping` stops an analysis, so input is read while one runs, and so
does a `quit` that arrives while it runs; one that was waiting before, as in a piped transcript, does not.  The engine
never plays by itself: it answers `go`, and the GUI sends `move` if the move is played.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from reversi.analysis.analyzer import Analysis, Limit, MoveAnalysis
from reversi.errors import ReversiError
from reversi.formats.ggf import GgfGame, GgfMove, name_of, parse_ggf
from reversi.frontends.clocks import Clocks
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.input_lines import InputLines
from reversi.games.position import Position

NAME = "reversi-zero"

DEEPEST = 16
"""All depths from here on mean the same number of simulations, 65,536."""


class NBoard:
    """An NBoard engine: reads commands, writes lines, and plays the game of an `EngineSession`."""

    def __init__(self, session: EngineSession, lines: InputLines, say: Callable[[str], None]) -> None:
        """`say` writes a line, newline included, and flushes it."""
        self._session, self._lines, self._write = session, lines, say
        self._limit = session.limit
        self._clocks = Clocks()
        self._thought: tuple[Position, float] | None = None
        """The position of the last `go` and the time that it took."""
        self._begun = 0
        """Reads of the input before the current command began."""
        self._refused: ReversiError | None = None
        """The error of a refused `set game`; until a game is accepted, commands about the game answer with it."""
        self._commands: dict[str, Callable[[str], None]] = {
            "nboard": lambda rest: self._say_name(),
            "set": self._set,
            "move": self._move,
            "hint": self._hint,
            "go": self._go,
            "ping": lambda rest: self._say(f"pong {rest}"),
            "learn": lambda rest: self._say("learned"),
            "analyze": self._analyze,
        }

    def serve(self) -> None:
        """Execute every line until `quit` or the end of the input."""
        with closing(self._lines):
            while (line := self._lines.next()) is not None:
                self._begun = self._lines.reads
                command, _, rest = line.strip().partition(" ")
                if command == "quit":
                    return
                if command in self._commands:
                    try:
                        if self._refused is not None and command in ABOUT_THE_GAME:
                            raise self._refused
                        self._commands[command](rest.strip())
                    except ReversiError as error:
                        self._say(f"status error: {error}")

    def _set(self, rest: str) -> None:
        """Execute `set depth` and `set game`; `set contempt` is accepted without effect: a draw is worth a draw."""
        key, _, value = rest.partition(" ")
        if key == "depth" and value.strip().isdecimal():
            self._set_depth(int(value.strip()[:6]))
        elif key == "game":
            try:
                game = parse_ggf(value)
                self._session.begin(game.start, game.actions)
                self._refused = None
                self._begin_clocks(game)
            except ReversiError as error:
                self._refused = error
                raise

    def _begin_clocks(self, game: GgfGame) -> None:
        """Set both clocks to the times of a game and count those of its moves."""
        for black in (True, False):
            self._clocks.begin(black, game.time(black))
        for position, move in zip(game.positions, game.moves, strict=False):
            self._clocks.count(position.black_to_move, max(0.0, move.seconds or 0.0))

    def _set_depth(self, depth: int) -> None:
        """Translate a depth to a number of simulations, unless the command line sets a limit, which has precedence.

        A player ignores it; clients wait for the answer all the same.
        """
        if self._session.limit == Limit():
            self._limit = Limit(simulations=simulations_of(depth))
        self._say_name(f"depth-{depth}")

    def _say_name(self, *more: str) -> None:
        """Print our name as one word, since NBoard keeps only the first."""
        self._say(f"set myname {'-'.join([NAME, *self._session.analyzer.name.split(), *more])}")

    def _move(self, rest: str) -> None:
        """Play a move and count its time: the one that is given, or the one that we took if we chose it."""
        positions = self._session.positions
        move, plies = GgfMove.parse(positions[-1].game, rest), len(positions)
        self._session.play(move.action, written=rest.partition("/")[0].strip())
        if len(positions) > plies:
            mover, seconds = positions[-2], move.seconds
            if seconds is None and self._thought is not None and self._thought[0] == mover:
                seconds = self._thought[1]
            self._clocks.count(mover.black_to_move, max(0.0, seconds or 0.0))

    def _hint(self, rest: str) -> None:
        """Analyse the position and print the requested number of moves, best first."""
        count = int(rest[:3]) if rest[:3].isdecimal() else 1
        self._say("status thinking")
        if not self._session.position.is_over:
            analysis = self._session.analyse(self._interrupted, self._limit)
            for move in (analysis.judged_best, *analysis.moves[1 : max(1, count)]):
                self._say_line(move)
            self._nodestats(analysis)
        self._say("status")

    def _go(self, rest: str) -> None:
        """Print the move to play, with its value and time; a forced move has neither.

        It takes no more time than the side's clock allows.
        """
        self._say("status thinking")
        position = self._session.position
        limit = self._clocks.limit(self._limit, position.black_to_move, position.empties)
        analysis = self._session.choose(self._interrupted, limit)
        self._thought = position, analysis.seconds
        game, best = position.game, analysis.judged_best
        text = name_of(game, best.action)
        if analysis.nodes:
            self._say_line(best)
            self._nodestats(analysis)
            discs = best.margin(game)
            if discs is not None:
                text = f"{text}/{discs:.2f}/{analysis.seconds:.2f}"
        self._say(f"=== {text}")
        self._say("status")

    def _analyze(self, rest: str) -> None:
        """Analyse every position of the game, last first: `analysis PLIES VALUE`, for the side to move there.

        A position whose value is unknown gets no line.
        """
        self._say("status analyzing")
        for plies in reversed(range(len(self._session.positions))):
            position = self._session.positions[plies]
            if self._interrupted():
                break
            if (value := self._value(position)) is not None:
                self._say(f"analysis {plies} {value:.2f}")
        self._say("status")

    def _value(self, position: Position) -> float | None:
        """Return a position's value in discs for the side to move, None if unknown; of a finished game, its result."""
        if position.is_over:
            margin, empties = position.margin, position.empties
            return margin + (empties if margin > 0 else -empties if margin < 0 else 0)
        analysis = self._session.analyzer.analyse(position, self._limit, self._interrupted)
        return analysis.judged_best.margin(position.game)

    def _say_line(self, move: MoveAnalysis) -> None:
        """Print a move with its value, if known: `100%` marks an exact margin, `100%W` a proven result."""
        game = self._session.position.game
        line, discs = "".join(name_of(game, action) for action in move.line), move.margin(game)
        if discs is None:
            return
        if move.score is not None:
            how = "100% solved"
        else:
            how = f"{'100%W' if move.certain else len(move.line)} {move.visits} simulations"
        self._say(f"search {line} {discs:.2f} 0 {how}")

    def _nodestats(self, analysis: Analysis) -> None:
        self._say(f"nodestats {analysis.nodes} {analysis.seconds:.2f}")

    def _interrupted(self) -> bool:
        return self._lines.holds(_is_ping) or self._lines.holds(_is_quit, after=self._begun)

    def _say(self, line: str) -> None:
        self._write(" ".join(line.split()) + "\n")


def simulations_of(depth: int) -> int:
    """Return the number of simulations for a depth: 2**depth, up to 2**DEEPEST."""
    return 1 << min(depth, DEEPEST)


ABOUT_THE_GAME = {"move", "hint", "go", "analyze"}
"""Commands about the current game."""


def _is_ping(line: str) -> bool:
    return line.split(maxsplit=1)[:1] == ["ping"]


def _is_quit(line: str) -> bool:
    return line.split(maxsplit=1)[:1] == ["quit"]
