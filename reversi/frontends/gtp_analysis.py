"""Analyses over GTP: the lines of `lz-analyze` and `kata-analyze`, and the responses of GoGui's analyze commands.

The first two are extensions of Leela Zero and KataGo that Sabaki, Lizzie and others read
(https://github.com/lightvector/KataGo/blob/master/docs/GTP_Extensions.md), the others are GoGui's
(https://github.com/Remi-Coulom/gogui/blob/master/doc/manual/xml/analyze.xml).  Values are for the side to move.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from reversi.analysis.analyzer import Analysis, MoveAnalysis, deepening
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.gtp_words import GtpError
from reversi.frontends.input_lines import InputLines
from reversi.games.notation import action_name, parse_side
from reversi.games.rules import Game

STEPS = tuple(64 << step for step in range(12))
"""Simulations of ever deeper analyses, up to 131,072; each searches anew, twice the work of the last in all."""

INTERVAL_S = 1.0
"""Time between two lines if the command gives none."""

_NUMBERS = ("interval", "minmoves", "maxmoves")
_SWITCHES = (
    "ownership",
    "ownershipstdev",
    "movesownership",
    "movesownershipstdev",
    "pvvisits",
    "pvedgevisits",
    "rootinfo",
)


@dataclass(frozen=True)
class AnalyzeRequest:
    """An `lz-analyze` or `kata-analyze` command."""

    kata: bool
    """Whether numbers are written as KataGo does."""
    black: bool | None = None
    """The side to move; None is the one whose turn it is."""
    interval_s: float = INTERVAL_S
    """Shortest time between two lines."""
    most: int | None = None
    """Most moves of a line."""

    @classmethod
    def parse(cls, words: list[str]) -> AnalyzeRequest:
        """Read `COMMAND [COLOUR] [CENTISECONDS] [KEY VALUE]...`; what we have nothing for, as ownership, is accepted.

        Raises GtpError, also for `allow` and `avoid`, which would restrict the search.
        """
        command, *rest = words
        black = parse_side(rest[0]) if rest else None
        rest = rest if black is None else rest[1:]
        if rest and not rest[0][0].isalpha():
            rest.insert(0, "interval")
        given: dict[str, int] = {}
        for key, value in zip(rest[::2], [*rest[1::2], ""], strict=False):
            if key.lower() in _NUMBERS:
                given[key.lower()] = _whole(key, value)
            elif key.lower() not in _SWITCHES or value.lower() not in ("true", "false"):
                known = ", ".join((*_NUMBERS, "ownership"))
                raise GtpError(f"syntax error: expected a colour, centiseconds, {known}; got {key!r} {value!r}")
        interval_s = given["interval"] / 100 if "interval" in given else INTERVAL_S
        return cls(command.startswith("kata"), black, interval_s, given.get("maxmoves") or None)

    def lines(self, session: EngineSession, lines: InputLines, begun: int) -> Iterator[str]:
        """Yield a line for every deeper analysis of the position, one per interval, the last one in any case.

        begun  reads of the input before the command; what had arrived by then, as in a piped transcript, ends the
               response after the first analysis, and what arrives later at once
        """

        def stop(done: int) -> bool:
            return lines.ready() if done else lines.holds(lambda line: True, after=begun)

        said_s, unsaid = time.monotonic(), None
        for analysis in deepening(session.analyzer, session.position, STEPS, stop):
            unsaid = self.line(session.position.game, analysis)
            if time.monotonic() - said_s >= self.interval_s:
                yield unsaid
                said_s, unsaid = time.monotonic(), None
        if unsaid is not None:
            yield unsaid

    def line(self, game: Game, analysis: Analysis) -> str:
        """Return the moves of an analysis, best first; those without a value only if they are the best.

        A move's winning rate, 0 to 1, is half of its value, -1 to 1, plus a half: a draw is half a win.
        """
        shown = [analysis.judged_best, *(move for move in analysis.moves[1:] if move.value is not None)]
        return " ".join(_info(game, move, order, self.kata) for order, move in enumerate(shown[: self.most]))


def evaluation(game: Game, analysis: Analysis) -> str:
    """Return GoGui graphics: every square with its expected margin, or `=` and the exact one; the best is green."""
    squares = [move for move in analysis.moves if move.action != game.pass_action]
    labels = [f"{action_name(game, move.action)} {_label(game, move)}" for move in squares if _label(game, move)]
    best = [f"COLOR green {action_name(game, move.action)}" for move in squares[:1]]
    return "\n".join([*([f"LABEL {' '.join(labels)}"] if labels else []), *best, f"TEXT {variation(game, analysis)}"])


def variation(game: Game, analysis: Analysis) -> str:
    """Return the best move's value and line: `+2.6 discs, 120 visits: d3 c4 e6`, `+4 discs, exact: d3 c4`."""
    best = analysis.judged_best
    return f"{best.judgement(game)}: {' '.join(best.line_names(game))}"


def _info(game: Game, move: MoveAnalysis, order: int, kata: bool) -> str:
    rate = (1 + (move.value or 0.0)) / 2
    visits = max(1, move.visits)  # of a solved move too, for programs that compare them
    fields = [f"move {action_name(game, move.action)}", f"visits {visits}"]
    fields.append(f"winrate {rate:.6f}" if kata else f"winrate {round(10_000 * rate)}")
    if kata and move.score is not None:
        fields += [f"scoreMean {move.score}", f"scoreLead {move.score}"]
    if move.prior is not None:
        fields.append(f"prior {move.prior:.6f}" if kata else f"prior {round(10_000 * move.prior)}")
    return " ".join(["info", *fields, f"order {order}", "pv", *move.line_names(game)])


def _label(game: Game, move: MoveAnalysis) -> str:
    """Return what a square can hold, four characters; "" for a move without a value."""
    if move.score is not None:
        return f"={move.score:+d}"
    expected = move.margin(game) if game.counts_discs else move.value
    return "" if expected is None else f"{expected:+z.{int(abs(expected) < 9.95)}f}"


def _whole(key: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) < 8):
        raise GtpError(f"syntax error: expected a whole number after {key}, got {value!r}")
    return int(value)
