"""The NBoard protocol, version 2: this program as an engine for the NBoard GUI and whoever speaks as it does.

A line is a command; one that is not known is ignored.  `ping` stops the thinking, so input is read while we think.
The engine never plays: it answers `go`, and a `move` comes if the game is to go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing

from reversi.errors import ReversiError
from reversi.frontends.lines import Lines
from reversi.frontends.mind import Budget, Judgement, Thought
from reversi.frontends.session import Session
from reversi.games.position import Position
from reversi.games.rules import Game
from reversi.ggf import GgfMove, name_of, parse_ggf

NAME = "reversi-zero"

SUREST = 0.99
"""Values beyond it count as much in discs: that a game is won says nothing of the margin."""

DEEPEST = 16
"""Depths from here on are searched alike: 65,536 simulations."""


class NBoard:
    """The conversation: lines in, lines out, one game of a `Session` between them."""

    def __init__(self, session: Session, lines: Lines, say: Callable[[str], None]) -> None:
        """`say` writes a line with its end, and flushes it."""
        self._session, self._lines, self._write = session, lines, say
        self._budget = session.budget
        self._refused: ReversiError | None = None
        """Why the game that was set last is not the one that stands; until there is another nothing is said of it."""
        self._commands: dict[str, Callable[[str], None]] = {
            "nboard": lambda rest: self._say(f"set myname {NAME} {session.mind.name}"),
            "set": self._set,
            "move": self._move,
            "hint": self._hint,
            "go": self._go,
            "ping": lambda rest: self._say(f"pong {rest}"),
            "learn": lambda rest: self._say("learned"),
            "analyze": self._analyze,
        }

    def serve(self) -> None:
        """Obey every line until `quit` or the end of the input."""
        with closing(self._lines):
            while (line := self._lines.next()) is not None:
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
        """Obey `set depth`, `set game`; `set contempt` is taken and changes nothing, since a draw is worth a draw."""
        key, _, value = rest.partition(" ")
        if key == "depth" and value.strip().isdecimal():
            self._set_depth(int(value.strip()[:6]))
        elif key == "game":
            try:
                game = parse_ggf(value)
                self._session.begin(game.start, (move.action for move in game.moves))
                self._refused = None
            except ReversiError as error:
                self._refused = error
                raise

    def _set_depth(self, depth: int) -> None:
        """Take a depth for a number of simulations, unless the command line has set a budget, which stands."""
        if not self._session.mind.heeds_budget:
            return
        if self._session.budget == Budget():
            self._budget = Budget(simulations=simulations_of(depth))
        self._say(f"set myname {NAME} {self._session.mind.name} depth {depth}")

    def _move(self, rest: str) -> None:
        self._session.play(GgfMove.parse(self._session.position.game, rest).action)

    def _hint(self, rest: str) -> None:
        """Judge the position and print the best moves, as many as were asked for, best first."""
        count = int(rest[:3]) if rest[:3].isdecimal() else 1
        self._say("status thinking")
        if not self._session.position.is_over:
            thought = self._session.think(self._interrupted, self._budget)
            for move in thought.moves[: max(1, count)]:
                self._say_line(move)
            self._nodestats(thought)
        self._say("status")

    def _go(self, rest: str) -> None:
        """Say the move to play, with its value and the time it took, or without where it is forced."""
        self._say("status thinking")
        thought = self._session.choose(self._interrupted, self._budget)
        game, best = self._session.position.game, thought.best
        text = name_of(game, best.action)
        if thought.nodes:
            self._say_line(best)
            self._nodestats(thought)
            discs = _discs(game, best)
            if discs is not None:
                text = f"{text}/{discs:.2f}/{thought.seconds:.2f}"
        self._say(f"=== {text}")
        self._say("status")

    def _analyze(self, rest: str) -> None:
        """Judge every position of the game, the last one first: `analysis PLIES VALUE`, for the side to move there."""
        self._say("status analyzing")
        for plies in reversed(range(len(self._session.positions))):
            position = self._session.positions[plies]
            if self._interrupted():
                break
            self._say(f"analysis {plies} {self._value(position):.2f}")
        self._say("status")

    def _value(self, position: Position) -> float:
        """Return a position's value in discs for the side to move; once the game is over its result."""
        if position.is_over:
            margin, empties = position.margin, position.game.squares - (position.own | position.opp).bit_count()
            return margin + (empties if margin > 0 else -empties if margin < 0 else 0)
        thought = self._session.mind.think(position, self._budget, self._interrupted)
        return _discs(position.game, thought.best) or 0.0

    def _say_line(self, move: Judgement) -> None:
        """Say a move with its value, if there is one: `100%` is an exact margin, `100%W` a certain result."""
        game = self._session.position.game
        line, discs = "".join(name_of(game, action) for action in move.line), _discs(game, move)
        if discs is None:
            return
        if move.score is not None:
            how = "100% solved"
        else:
            how = f"{'100%W' if move.certain else len(move.line)} {move.visits} simulations"
        self._say(f"search {line} {discs:.2f} 0 {how}")

    def _nodestats(self, thought: Thought) -> None:
        self._say(f"nodestats {thought.nodes} {thought.seconds:.2f}")

    def _interrupted(self) -> bool:
        return self._lines.holds(_ends_thinking)

    def _say(self, line: str) -> None:
        self._write(" ".join(line.split()) + "\n")


def simulations_of(depth: int) -> int:
    """Return the simulations that stand for a depth: 2 to its power, up to DEEPEST."""
    return 1 << min(depth, DEEPEST)


def discs_of(game: Game, value: float) -> float:
    """Return a value of -1 to 1 in discs: the margin at which a logistic law would win so often.

    A player who is ahead by d discs is taken to win with probability 1 / (1 + exp(-d / s)), s = N*N / 16 discs, which
    is 4 on 8x8; `value` is twice that probability less 1.  Rises with the value up to `SUREST`, where it is 21 on 8x8;
    0 for 0.
    """
    return game.squares / 8 * math.atanh(max(-SUREST, min(SUREST, value)))


def _discs(game: Game, move: Judgement) -> float | None:
    """Return a move's value in discs, exact if it is solved; None if nobody knows it."""
    if move.score is not None:
        return float(move.score)
    return None if move.value is None else discs_of(game, move.value)


ABOUT_THE_GAME = {"move", "hint", "go", "analyze"}
"""Commands that mean the game that stands."""


def _ends_thinking(line: str) -> bool:
    return line.split(maxsplit=1)[:1] in (["ping"], ["quit"])
